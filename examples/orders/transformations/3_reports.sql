-- A temporary view exists only inside the pipeline; the reports below share it.
CREATE TEMPORARY VIEW order_values AS
SELECT order_id, customer_id, quantity * unit_price AS amount, ordered_on
FROM orders;

CREATE MATERIALIZED VIEW revenue_by_country AS
SELECT country, count(*) AS n_orders, sum(amount) AS revenue
FROM order_values
JOIN customers USING (customer_id)
GROUP BY country;

CREATE MATERIALIZED VIEW open_orders AS
SELECT order_id, name, amount
FROM order_values
JOIN customers USING (customer_id)
LEFT ANTI JOIN shipments USING (order_id);
