-- Computed anew on every run.
CREATE MATERIALIZED VIEW revenue_by_country
COMMENT 'Number of orders and revenue of each country'
AS SELECT country, count(*) AS n_orders, sum(amount) AS revenue
FROM orders
GROUP BY country;
