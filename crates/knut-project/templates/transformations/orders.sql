-- Grows with every run: each order is read once.
CREATE STREAMING TABLE orders
COMMENT 'Orders that were paid for'
AS SELECT * FROM STREAM raw_orders WHERE amount > 0;
