-- Customers change, so they are read whole in each run.
CREATE MATERIALIZED VIEW customers AS
SELECT * FROM raw_customers;
