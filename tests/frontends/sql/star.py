"""Queries in the shapes of TPC-DS: facts and their dimensions, all columns nullable, no keys."""

#: Sales in shops and on the web, what came back, and what they are about.
TABLES = {
    "store_sales": "ss_date INT, ss_item INT, ss_cust INT, ss_store INT, ss_ticket INT, ss_qty INT, ss_price INT, ss_profit INT",
    "web_sales": "ws_date INT, ws_item INT, ws_cust INT, ws_order INT, ws_qty INT, ws_price INT",
    "store_returns": "sr_date INT, sr_item INT, sr_cust INT, sr_ticket INT, sr_amt INT",
    "item": "i_id INT, i_brand VARCHAR, i_class VARCHAR, i_cat VARCHAR, i_price INT, i_manager INT",
    "date_dim": "d_id INT, d_year INT, d_moy INT, d_dow INT",
    "store": "st_id INT, st_name VARCHAR, st_state VARCHAR",
    "customer": "c_id INT, c_addr INT, c_first VARCHAR, c_last VARCHAR, c_birth INT",
    "address": "a_id INT, a_state VARCHAR, a_city VARCHAR, a_zip VARCHAR",
}

QUERIES = [
    # 1: customers who return more than the average of their shop
    "WITH r AS (SELECT sr_cust AS c, sr_ticket AS s, sum(sr_amt) AS t FROM store_returns GROUP BY sr_cust, sr_ticket)"
    " SELECT c_last FROM r JOIN customer ON c_id = r.c WHERE r.t > (SELECT avg(x.t) * 1.2 FROM r x WHERE x.s = r.s)",
    # 3: brands by year
    "SELECT d_year, i_brand, sum(ss_price) AS s FROM date_dim, store_sales, item WHERE d_id = ss_date AND ss_item = i_id"
    " AND i_manager = 1 GROUP BY d_year, i_brand",
    # 6: states with customers who buy dear items of a category
    "SELECT a_state, count(*) AS n FROM address JOIN customer ON a_id = c_addr JOIN store_sales ON c_id = ss_cust"
    " JOIN item i ON ss_item = i_id WHERE i_price > 1.2 * (SELECT avg(j.i_price) FROM item j WHERE j.i_cat = i.i_cat)"
    " GROUP BY a_state HAVING count(*) >= 1",
    # 7: averages
    "SELECT i_id, avg(ss_qty) AS a, avg(ss_price) AS b FROM store_sales JOIN item ON ss_item = i_id JOIN date_dim ON ss_date = d_id"
    " WHERE d_year IN (1, 2, 3) GROUP BY i_id",
    # 9: buckets by scalar queries
    "SELECT st_id, CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_qty BETWEEN 1 AND 2) > 3"
    " THEN (SELECT avg(ss_price) FROM store_sales WHERE ss_qty BETWEEN 1 AND 2)"
    " ELSE (SELECT avg(ss_profit) FROM store_sales WHERE ss_qty BETWEEN 1 AND 2) END AS b FROM store",
    # 10: customers of the one channel or the other
    "SELECT a_state, count(*) AS n FROM customer JOIN address ON c_addr = a_id WHERE EXISTS (SELECT 1 FROM store_sales WHERE ss_cust = c_id)"
    " AND (EXISTS (SELECT 1 FROM web_sales WHERE ws_cust = c_id) OR EXISTS (SELECT 1 FROM store_returns WHERE sr_cust = c_id))"
    " GROUP BY a_state",
    # 11: growth on the web beside growth in shops
    "WITH y AS (SELECT c_id AS c, d_year AS y, sum(ss_price) AS t, 's' AS k FROM customer, store_sales, date_dim WHERE c_id = ss_cust AND ss_date = d_id"
    " GROUP BY c_id, d_year UNION ALL SELECT c_id, d_year, sum(ws_price), 'w' FROM customer, web_sales, date_dim WHERE c_id = ws_cust AND ws_date = d_id"
    " GROUP BY c_id, d_year) SELECT a.c FROM y a JOIN y b ON a.c = b.c AND b.y = a.y + 1 WHERE a.k = 's' AND b.t <> a.t",
    # 13: disjunctions of conjunctions
    "SELECT avg(ss_qty) AS q, sum(ss_profit) AS p FROM store_sales JOIN customer ON ss_cust = c_id JOIN address ON c_addr = a_id"
    " WHERE (a_state = 'or' AND ss_price BETWEEN 1 AND 3) OR (a_state = 'ca' AND ss_price > 2)",
    # 15: by zip
    "SELECT a_zip, sum(ws_price) AS s FROM web_sales, customer, address, date_dim WHERE ws_cust = c_id AND c_addr = a_id AND ws_date = d_id"
    " AND (a_state IN ('ca', 'or') OR ws_price > 2) GROUP BY a_zip",
    # 16: orders from several places without a return
    "SELECT count(DISTINCT ss_ticket) AS n, sum(ss_price) AS s FROM store_sales a WHERE EXISTS (SELECT 1 FROM store_sales b WHERE a.ss_ticket = b.ss_ticket"
    " AND a.ss_store <> b.ss_store) AND NOT EXISTS (SELECT 1 FROM store_returns WHERE sr_ticket = a.ss_ticket)",
    # 19: brands bought in another state than the shop's
    "SELECT i_brand, sum(ss_price) AS s FROM store_sales, item, customer, address, store WHERE ss_item = i_id AND ss_cust = c_id AND c_addr = a_id"
    " AND ss_store = st_id AND substring(a_state, 1, 1) <> substring(st_state, 1, 1) GROUP BY i_brand",
    # 20: a share of a class
    "SELECT i_id, i_class, sum(ws_price) AS s, sum(ws_price) * 100.0 / sum(sum(ws_price)) OVER (PARTITION BY i_class) AS r"
    " FROM web_sales JOIN item ON ws_item = i_id WHERE ws_price > 0 GROUP BY i_id, i_class",
    # 22: a rollup
    "SELECT i_cat, i_brand, avg(ss_qty) AS q FROM store_sales JOIN item ON ss_item = i_id GROUP BY ROLLUP (i_cat, i_brand) HAVING count(*) > 0",
    # 25: sold, returned, sold again
    "SELECT i_id, sum(ss_profit) AS p, sum(sr_amt) AS r, sum(ws_price) AS w FROM store_sales, store_returns, web_sales, item WHERE i_id = ss_item"
    " AND ss_cust = sr_cust AND ss_item = sr_item AND sr_cust = ws_cust GROUP BY i_id",
    # 27: with grouping marks
    "SELECT i_id, st_state, grouping(st_state) AS g, avg(ss_qty) AS q FROM store_sales JOIN store ON ss_store = st_id JOIN item ON ss_item = i_id"
    " GROUP BY ROLLUP (i_id, st_state) HAVING count(*) > 0",
    # 33: channels put together
    "WITH s AS (SELECT i_manager AS m, sum(ss_price) AS t FROM store_sales JOIN item ON ss_item = i_id GROUP BY i_manager),"
    " w AS (SELECT i_manager AS m, sum(ws_price) AS t FROM web_sales JOIN item ON ws_item = i_id GROUP BY i_manager)"
    " SELECT m, sum(t) AS t FROM (SELECT * FROM s UNION ALL SELECT * FROM w) q GROUP BY m",
    # 34: customers with so many lines on a ticket
    "SELECT c_last, c_first, n FROM (SELECT ss_ticket, ss_cust, count(*) AS n FROM store_sales JOIN date_dim ON ss_date = d_id WHERE d_dow IN (1, 2, 3)"
    " GROUP BY ss_ticket, ss_cust) q JOIN customer ON ss_cust = c_id WHERE n BETWEEN 1 AND 3",
    # 36: ranks within parents
    "SELECT i_cat, i_class, sum(ss_profit) AS p, rank() OVER (PARTITION BY i_cat ORDER BY sum(ss_profit)) AS r"
    " FROM store_sales JOIN item ON ss_item = i_id GROUP BY i_cat, i_class",
    # 38: customers of both channels
    "SELECT count(*) AS n FROM (SELECT DISTINCT c_last, d_moy FROM store_sales, date_dim, customer WHERE ss_date = d_id AND ss_cust = c_id"
    " INTERSECT SELECT DISTINCT c_last, d_moy FROM web_sales, date_dim, customer WHERE ws_date = d_id AND ws_cust = c_id) q",
    # 42, 43: days of the week as columns
    "SELECT st_name, sum(CASE WHEN d_dow = 0 THEN ss_price END) AS a, sum(CASE WHEN d_dow = 1 THEN ss_price END) AS b, sum(CASE WHEN d_dow > 1 THEN ss_price END) AS c"
    " FROM date_dim, store_sales, store WHERE d_id = ss_date AND st_id = ss_store GROUP BY st_name",
    # 44: the best and the worst
    "SELECT a.i, b.i AS j FROM (SELECT ss_item AS i, rank() OVER (ORDER BY avg(ss_profit)) AS r FROM store_sales GROUP BY ss_item) a"
    " JOIN (SELECT ss_item AS i, rank() OVER (ORDER BY avg(ss_profit) DESC) AS r FROM store_sales GROUP BY ss_item) b ON a.r = b.r",
    # 46: bought in another city
    "SELECT c_last, a_city, q.p FROM (SELECT ss_ticket, ss_cust, sum(ss_profit) AS p FROM store_sales WHERE ss_store IS NOT NULL GROUP BY ss_ticket, ss_cust) q"
    " JOIN customer ON ss_cust = c_id JOIN address ON c_addr = a_id WHERE a_city <> 'a'",
    # 50: how long until it came back
    "SELECT st_name, sum(CASE WHEN sr_date - ss_date <= 1 THEN 1 ELSE 0 END) AS soon, sum(CASE WHEN sr_date - ss_date > 1 THEN 1 ELSE 0 END) AS late"
    " FROM store_sales, store_returns, store WHERE ss_ticket = sr_ticket AND ss_item = sr_item AND ss_store = st_id GROUP BY st_name",
    # 51: running sums of two channels
    "WITH w AS (SELECT ws_item AS i, ws_date AS d, sum(sum(ws_price)) OVER (PARTITION BY ws_item ORDER BY ws_date) AS c FROM web_sales WHERE ws_item IS NOT NULL GROUP BY ws_item, ws_date),"
    " s AS (SELECT ss_item AS i, ss_date AS d, sum(sum(ss_price)) OVER (PARTITION BY ss_item ORDER BY ss_date) AS c FROM store_sales WHERE ss_item IS NOT NULL GROUP BY ss_item, ss_date)"
    " SELECT coalesce(w.i, s.i) AS i, coalesce(w.d, s.d) AS d, w.c AS a, s.c AS b FROM w FULL JOIN s ON w.i = s.i AND w.d = s.d",
    # 65: items far below the average of their shop
    "SELECT st_name, i_id, sc.r FROM store, item, (SELECT ss_store AS st, avg(r) AS m FROM (SELECT ss_store, ss_item, sum(ss_price) AS r FROM store_sales"
    " GROUP BY ss_store, ss_item) sa GROUP BY ss_store) sb, (SELECT ss_store AS st, ss_item AS i, sum(ss_price) AS r FROM store_sales GROUP BY ss_store, ss_item) sc"
    " WHERE sb.st = sc.st AND sc.r <= 0.5 * sb.m AND st_id = sc.st AND i_id = sc.i",
    # 69, 87: of the one channel and not of the other
    "SELECT count(*) AS n FROM (SELECT DISTINCT ss_cust FROM store_sales EXCEPT SELECT DISTINCT ws_cust FROM web_sales) q",
    # 76: where a column is missing
    "SELECT k, i_cat, count(*) AS n, sum(p) AS s FROM (SELECT 's' AS k, i_cat, ss_price AS p FROM store_sales, item WHERE ss_cust IS NULL AND ss_item = i_id"
    " UNION ALL SELECT 'w', i_cat, ws_price FROM web_sales, item WHERE ws_cust IS NULL AND ws_item = i_id) q GROUP BY k, i_cat",
    # 88: counts side by side
    "SELECT a.n AS x, b.n AS y FROM (SELECT count(*) AS n FROM store_sales JOIN store ON ss_store = st_id WHERE ss_qty = 1) a,"
    " (SELECT count(*) AS n FROM store_sales JOIN store ON ss_store = st_id WHERE ss_qty = 2) b",
    # 89: months far from the average of the shop
    "SELECT i_cat, st_name, d_moy, s, a FROM (SELECT i_cat, st_name, d_moy, sum(ss_price) AS s, avg(sum(ss_price)) OVER (PARTITION BY i_cat, st_name) AS a"
    " FROM item, store_sales, date_dim, store WHERE ss_item = i_id AND ss_date = d_id AND ss_store = st_id GROUP BY i_cat, st_name, d_moy) q WHERE s <> a",
    # 97: overlap of two channels
    "SELECT sum(CASE WHEN a.c IS NOT NULL AND b.c IS NULL THEN 1 ELSE 0 END) AS s, sum(CASE WHEN a.c IS NULL AND b.c IS NOT NULL THEN 1 ELSE 0 END) AS w,"
    " sum(CASE WHEN a.c IS NOT NULL AND b.c IS NOT NULL THEN 1 ELSE 0 END) AS t FROM (SELECT ss_cust AS c, ss_item AS i FROM store_sales GROUP BY ss_cust, ss_item) a"
    " FULL JOIN (SELECT ws_cust AS c, ws_item AS i FROM web_sales GROUP BY ws_cust, ws_item) b ON a.c = b.c AND a.i = b.i",
]
