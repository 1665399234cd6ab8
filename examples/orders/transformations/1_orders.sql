-- Every order once. The flow below fills the table: new files in data/orders are read when they appear.
CREATE STREAMING TABLE orders COMMENT 'Every order, one row each';

CREATE FLOW web_orders AS
INSERT INTO orders BY NAME
SELECT * FROM STREAM raw_orders;

-- A streaming table can also have its query with it.
CREATE STREAMING TABLE shipments AS
SELECT * FROM STREAM raw_shipments;
