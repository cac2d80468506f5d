"""Views in the shapes of other systems' suites: joins of every kind, aggregates of aggregates, windows, auctions.

All columns may be NULL and no table has a key, as SQL has it where nobody says otherwise. The words mean the same to Spark
and to DuckDB, whose NULLs are told to come first where an order ascends.
"""

from itertools import product

from tests.frontends.sql import star
from tests.frontends.sql.more_views import MORE

#: Tables with their columns; VARCHAR is STRING.
TABLES = {
    "t1": "id INT, k INT, v INT, s VARCHAR",
    "t2": "id INT, k INT, w INT, s VARCHAR",
    "t3": "k INT, u INT",
    "person": "id INT, name VARCHAR, city VARCHAR, state VARCHAR",
    "auction": "id INT, item VARCHAR, seller INT, category INT, reserve INT, expires INT",
    "bid": "auction INT, bidder INT, price INT, made INT",
    **star.TABLES,
}

VIEWS: dict[str, str] = {}


def add(group: str, *queries: str) -> None:
    for number, query in enumerate(queries, 1):
        VIEWS[f"{group}_{number}"] = query


# -- joins: every kind with every kind of condition

_ON = {
    "key": "t1.k = t2.k",
    "two": "t1.k = t2.k AND t1.id = t2.id",
    "less": "t1.v < t2.w",
    "filtered": "t1.k = t2.k AND t2.w > 1 AND t1.v IS NOT NULL",
    "computed": "t1.k + 1 = t2.k",
    "either": "t1.k = t2.k OR t1.id = t2.id",
    "null_safe": "t1.k IS NOT DISTINCT FROM t2.k",
    "text": "t1.s = t2.s",
    "function": "lower(t1.s) = lower(t2.s)",
    "sums": "t1.k + t1.id = t2.k + t2.id",
    "either_sum": "t1.k + 1 = t2.k OR t1.id = t2.id - 1",
}
for (_name, _on), _kind in product(_ON.items(), ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")):
    _word = _kind.split()[0].lower()
    VIEWS[f"join_{_word}_{_name}"] = f"SELECT t1.id, t1.v, t2.id AS id2, t2.w FROM t1 {_kind} t2 ON {_on}"
    VIEWS[f"join_{_word}_{_name}_sum"] = (
        f"SELECT t1.k, count(*) AS n, count(t2.w) AS c, sum(t2.w) AS s, max(t2.w) AS m FROM t1 {_kind} t2 ON {_on} GROUP BY t1.k"
    )
for (_name, _on), (_word, _not) in product(_ON.items(), (("semi", ""), ("anti", "NOT "))):
    VIEWS[f"join_{_word}_{_name}"] = (
        f"SELECT t1.id, t1.v FROM t1 WHERE {_not}EXISTS (SELECT 1 FROM t2 WHERE {_on})"
    )
    VIEWS[f"join_{_word}_{_name}_sum"] = (
        f"SELECT t1.k, count(*) AS n, sum(t1.v) AS s FROM t1 WHERE {_not}EXISTS (SELECT 1 FROM t2 WHERE {_on}) GROUP BY t1.k"
    )
for _first, _second in product(("JOIN", "LEFT JOIN", "FULL JOIN"), repeat=2):
    VIEWS[f"join_{_first.split()[0].lower()}_{_second.split()[0].lower()}_of_three"] = (
        f"SELECT t1.id, t2.w, t3.u FROM t1 {_first} t2 ON t1.k = t2.k {_second} t3 ON t2.id = t3.k"
    )
add(
    "join",
    "SELECT a.id, b.id AS other FROM t1 a JOIN t1 b ON a.k = b.k AND a.id < b.id",
    "SELECT t1.id, t2.w, t3.u FROM t1, t2, t3 WHERE t1.k = t2.k AND t2.k = t3.k",
    "SELECT count(*) AS n FROM t1 CROSS JOIN t3",
    "SELECT k, v, w FROM t1 JOIN t2 USING (k)",
    "SELECT k, v, w FROM t1 FULL JOIN t2 USING (k)",
    "SELECT t1.id FROM t1 JOIN (SELECT DISTINCT k FROM t2) q ON t1.k = q.k",
    "SELECT q.k, q.n, t3.u FROM (SELECT k, count(*) AS n FROM t1 GROUP BY k) q LEFT JOIN t3 ON t3.k = q.n",
    "SELECT p.k, p.s, q.s AS t FROM (SELECT k, sum(v) AS s FROM t1 GROUP BY k) p"
    " FULL JOIN (SELECT k, sum(w) AS s FROM t2 GROUP BY k) q ON p.k = q.k",
    "SELECT t1.id FROM t1 LEFT JOIN t2 ON t1.k = t2.k WHERE t2.id IS NULL",
    "SELECT a.id, c.w FROM t1 a LEFT JOIN t1 b ON a.k = b.id LEFT JOIN t2 c ON coalesce(b.k, a.k) = c.k",
)

# -- aggregates, also of aggregates

for _aggregate in (
    "count(*)", "count(v)", "count(DISTINCT v)", "sum(v)", "sum(DISTINCT v)", "avg(v)", "min(v)", "max(v)", "min(s)", "max(s)",
    "stddev_pop(v)", "var_samp(v)", "bool_and(v > 1)", "bool_or(v > 2)", "bit_or(v)", "bit_xor(v)", "median(v)",
):  # fmt: skip
    _called = "".join(c if c.isalnum() else "_" for c in _aggregate)
    VIEWS[f"all_{_called}"] = f"SELECT {_aggregate} AS a FROM t1"
    VIEWS[f"group_{_called}"] = f"SELECT k, {_aggregate} AS a FROM t1 GROUP BY k"
    VIEWS[f"having_{_called}"] = f"SELECT k, {_aggregate} AS a FROM t1 GROUP BY k HAVING count(*) > 1"
    VIEWS[f"filter_{_called}"] = f"SELECT k, {_aggregate} FILTER (WHERE id > 2) AS a FROM t1 GROUP BY k"
for _inner, _outer in product(
    ("sum(v)", "count(*)", "max(v)", "min(v)", "avg(v)"), ("sum(a)", "count(*)", "max(a)", "avg(a)")
):
    _called = "".join(c if c.isalnum() else "_" for c in f"{_outer}_{_inner}")
    VIEWS[f"nested_{_called}"] = f"SELECT {_outer} AS b FROM (SELECT k, {_inner} AS a FROM t1 GROUP BY k) q"
    if _inner != "avg(v)":
        VIEWS[f"by_{_called}"] = (
            f"SELECT a, {_outer} AS b FROM (SELECT k, {_inner} AS a FROM t1 GROUP BY k) q GROUP BY a"
        )
add(
    "aggregate",
    "SELECT k, id, sum(v) AS a FROM t1 GROUP BY k, id",
    "SELECT k % 2 AS p, sum(v) AS a FROM t1 GROUP BY k % 2",
    "SELECT s, k, count(*) AS n FROM t1 GROUP BY s, k HAVING sum(v) > 2 OR count(*) = 1",
    "SELECT k, sum(v) AS a FROM t1 GROUP BY k HAVING sum(v) > (SELECT avg(w) FROM t2)",
    "SELECT k, max(v) - min(v) AS d, sum(v) * 1.0 / count(*) AS m FROM t1 GROUP BY k",
    "SELECT k, sum(CASE WHEN s = 'a' THEN v ELSE 0 END) AS a, sum(CASE WHEN s = 'b' THEN v END) AS b FROM t1 GROUP BY k",
    "SELECT DISTINCT k, s FROM t1",
    "SELECT count(*) AS n FROM (SELECT DISTINCT k, s FROM t1) q",
    "SELECT k, count(DISTINCT s) AS a, count(DISTINCT v) AS b, sum(v) AS c FROM t1 GROUP BY k",
    "SELECT max(m) AS x FROM (SELECT k, min(a) AS m FROM (SELECT k, id, sum(v) AS a FROM t1 GROUP BY k, id) p GROUP BY k) q",
    "SELECT t1.id, t1.v FROM t1 WHERE v = (SELECT max(v) FROM t1 x WHERE x.k = t1.k)",
    "SELECT t1.id, t1.v FROM t1 WHERE v > (SELECT avg(v) FROM t1)",
    "SELECT k FROM t1 GROUP BY k HAVING count(*) = (SELECT max(n) FROM (SELECT count(*) AS n FROM t1 GROUP BY k) q)",
)

# -- windows

for _over in (
    "",
    "PARTITION BY k",
    "PARTITION BY k ORDER BY v",
    "ORDER BY v",
    "PARTITION BY s ORDER BY v DESC, id",
):
    for _function in ("sum(v)", "count(*)", "avg(v)", "rank()", "dense_rank()"):
        if "ORDER" not in _over and "rank" in _function:
            continue
        _called = "".join(c if c.isalnum() else "_" for c in f"{_function}_{_over}")
        VIEWS[f"window_{_called}"] = f"SELECT id, v, {_function} OVER ({_over}) AS x FROM t1"
for _function in ("max(v)", "min(v)"):
    VIEWS[f"window_{_function[:3]}_whole"] = f"SELECT id, {_function} OVER (PARTITION BY k) AS x FROM t1"
    VIEWS[f"window_{_function[:3]}_running"] = (
        f"SELECT id, {_function} OVER (PARTITION BY k ORDER BY v) AS x FROM t1"
    )
add(
    "window",
    "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY sum(id) DESC) AS p FROM t1 GROUP BY k, v",
    "SELECT id, v - avg(v) OVER (PARTITION BY k) AS d FROM t1",
    "SELECT k, a, rank() OVER (ORDER BY a DESC) AS p FROM (SELECT k, sum(v) AS a FROM t1 GROUP BY k) q",
    "SELECT id, v FROM (SELECT id, v, rank() OVER (PARTITION BY k ORDER BY v DESC) AS p FROM t1) q WHERE p = 1",
    "SELECT k, n, lag(n) OVER (ORDER BY k) AS b FROM (SELECT k, count(*) AS n FROM t1 GROUP BY k) q",
    "SELECT k, row_number() OVER (ORDER BY n, k) AS p FROM (SELECT k, count(*) AS n FROM t1 GROUP BY k) q",
    "SELECT t1.id, sum(t2.w) OVER (PARTITION BY t1.k) AS x FROM t1 JOIN t2 ON t1.k = t2.k",
)

# -- queries inside queries, and sets

for _operator in ("=", "<", ">=", "<>"):
    VIEWS[f"any_{len(VIEWS)}"] = (
        f"SELECT id FROM t1 WHERE v {_operator} ANY (SELECT w FROM t2 WHERE t2.k = t1.k)"
    )
    VIEWS[f"all_{len(VIEWS)}"] = (
        f"SELECT id FROM t1 WHERE v {_operator} ALL (SELECT w FROM t2 WHERE t2.k = t1.k)"
    )
for _operator in ("UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"):
    VIEWS[f"set_{_operator.replace(' ', '_').lower()}"] = (
        f"SELECT k, v FROM t1 {_operator} SELECT k, w FROM t2"
    )
    VIEWS[f"set_{_operator.replace(' ', '_').lower()}_sum"] = (
        f"SELECT k, count(*) AS n FROM (SELECT k, s FROM t1 {_operator} SELECT k, s FROM t2) q GROUP BY k"
    )
add(
    "query",
    "SELECT id FROM t1 WHERE k IN (SELECT k FROM t2)",
    "SELECT id FROM t1 WHERE k NOT IN (SELECT k FROM t2)",
    "SELECT id FROM t1 WHERE k NOT IN (SELECT k FROM t2 WHERE k IS NOT NULL)",
    "SELECT id FROM t1 WHERE (k, id) IN (SELECT k, id FROM t2)",
    "SELECT id, (SELECT count(*) FROM t2 WHERE t2.k = t1.k) AS n FROM t1",
    "SELECT id, (SELECT sum(w) FROM t2 WHERE t2.k = t1.k AND t2.w > t1.v) AS n FROM t1",
    "SELECT id FROM t1 WHERE v > (SELECT max(w) FROM t2 WHERE t2.k = t1.k)",
    "SELECT id FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k AND NOT EXISTS (SELECT 1 FROM t3 WHERE t3.k = t2.id))",
    "SELECT id FROM t1 WHERE k = 1 OR EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k)",
    "WITH q AS (SELECT k, sum(v) AS a FROM t1 GROUP BY k), p AS (SELECT max(a) AS m FROM q) SELECT q.k FROM q, p WHERE q.a = p.m",
    "WITH q AS (SELECT k, v FROM t1 WHERE v > 0) SELECT x.k, y.v FROM q x JOIN q y ON x.v = y.k",
    "SELECT k, a FROM (SELECT k, sum(v) AS a FROM t1 GROUP BY k) q WHERE a > 1 UNION ALL SELECT k, w FROM t2 WHERE w > 1",
    "SELECT t1.id, q.n FROM t1, LATERAL (SELECT count(*) AS n FROM t2 WHERE t2.k = t1.k) q",
    "SELECT id FROM t1 WHERE v BETWEEN 1 AND (SELECT max(u) FROM t3)",
    "SELECT id, CASE WHEN EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k) THEN 'yes' ELSE 'no' END AS e FROM t1",
    "SELECT k, v FROM t1 ORDER BY v DESC, k, id, s LIMIT 3",
    "SELECT k, sum(v) AS a FROM t1 GROUP BY k ORDER BY a DESC, k LIMIT 2",
    "SELECT coalesce(s, 'none') AS s, upper(s) AS u, length(s) AS n, s || '!' AS j FROM t1",
    "SELECT id FROM t1 WHERE s LIKE 'a%' AND s NOT IN ('b', 'c')",
    "SELECT nullif(v, 1) AS a, greatest(v, k) AS b, abs(v - k) AS c, v % 2 AS d FROM t1 WHERE k IS NOT NULL",
)

# -- auctions

add(
    "auction",
    "SELECT auction, bidder, price * 908 / 1000 AS euro, made FROM bid",
    "SELECT auction, price FROM bid WHERE auction IN (1, 3)",
    "SELECT p.name, p.city, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 1 AND p.state IN ('or', 'ca')",
    "SELECT category, avg(final) AS a FROM (SELECT a.id, a.category, max(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction"
    " WHERE b.made < a.expires GROUP BY a.id, a.category) q GROUP BY category",
    "SELECT auction, num FROM (SELECT auction, count(*) AS num FROM bid GROUP BY auction) q WHERE num >= ALL"
    " (SELECT count(*) FROM bid GROUP BY auction)",
    "SELECT seller, avg(final) AS a FROM (SELECT a.seller, max(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction"
    " GROUP BY a.id, a.seller) q GROUP BY seller",
    "SELECT b.auction, b.bidder, b.price FROM bid b WHERE b.price = (SELECT max(price) FROM bid)",
    "SELECT p.id, p.name, count(a.id) AS n FROM person p LEFT JOIN auction a ON a.seller = p.id GROUP BY p.id, p.name",
    "SELECT a.id, a.item, b.bidder, b.price FROM auction a JOIN bid b ON a.id = b.auction"
    " WHERE b.price = (SELECT max(x.price) FROM bid x WHERE x.auction = a.id)",
    "SELECT bidder, count(*) AS n, max(price) AS m FROM bid GROUP BY bidder HAVING count(*) > 1",
    "SELECT w, count(*) AS n FROM (SELECT made - made % 10 AS w FROM bid) q GROUP BY w",
    "SELECT auction, count(*) AS total, count(*) FILTER (WHERE price < 2) AS low, count(DISTINCT bidder) AS bidders FROM bid GROUP BY auction",
    "SELECT auction, made % 3 AS day, count(*) AS n, min(price) AS a, max(price) AS b, avg(price) AS c, sum(price) AS d FROM bid GROUP BY auction, made % 3",
    "SELECT auction, bidder, price FROM (SELECT auction, bidder, price, rank() OVER (PARTITION BY auction ORDER BY price DESC) AS p FROM bid) q WHERE p <= 2",
    "SELECT b.auction, a.item, p.name FROM bid b JOIN auction a ON b.auction = a.id JOIN person p ON b.bidder = p.id",
    "SELECT a.id, count(b.price) AS bids FROM auction a LEFT JOIN bid b ON a.id = b.auction AND b.price >= a.reserve GROUP BY a.id",
    "SELECT a.id FROM auction a WHERE NOT EXISTS (SELECT 1 FROM bid b WHERE b.auction = a.id)",
    "SELECT a.category, b.bidder, sum(b.price) AS s FROM auction a JOIN bid b ON a.id = b.auction GROUP BY a.category, b.bidder",
    "SELECT p.state, count(DISTINCT a.id) AS n FROM person p JOIN auction a ON a.seller = p.id GROUP BY p.state",
    "SELECT auction, price, price - lag_price AS d FROM (SELECT auction, price, min(price) OVER (PARTITION BY auction) AS lag_price FROM bid) q",
)

# -- conditions that join or look for rows in more than one way

add(
    "either",
    "SELECT id FROM t1 WHERE k IN (SELECT k FROM t2) OR id IN (SELECT u FROM t3)",
    "SELECT id FROM t1 WHERE v = 1 OR k NOT IN (SELECT k FROM t2 WHERE k IS NOT NULL)",
    "SELECT id FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k AND (t2.w = t1.v OR t2.id = t1.id))",
    "SELECT id FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k) OR EXISTS (SELECT 1 FROM t3 WHERE t3.u = t1.v)",
    "SELECT id FROM t1 WHERE NOT (EXISTS (SELECT 1 FROM t2 WHERE t2.k = t1.k) OR t1.v > 2)",
    "SELECT id, (SELECT count(*) FROM t2 WHERE t2.k = t1.k OR t2.id = t1.id) AS n FROM t1",
    "SELECT id, (SELECT sum(w) FROM t2 WHERE t2.k = t1.k OR t2.id = t1.id) AS n FROM t1",
    "SELECT id, (SELECT max(w) FROM t2 WHERE t2.k = t1.k + 1) AS n FROM t1",
    "SELECT t1.id, count(*) AS n FROM t1 JOIN t2 ON t1.k = t2.k OR t1.v = t2.w OR t1.id = t2.id GROUP BY t1.id",
    "SELECT a.id, b.id AS o FROM t1 a JOIN t1 b ON a.k = b.k + 1 AND a.s = b.s",
    "SELECT a.id, b.w, c.u FROM t1 a JOIN t2 b ON a.k + 1 = b.k JOIN t3 c ON b.k * 2 = c.k",
    "SELECT a.k + b.k AS s, count(*) AS n FROM t1 a JOIN t2 b ON a.v + b.w = 4 GROUP BY a.k + b.k",
    "SELECT a.id, max(b.w) AS m, min(b.w) AS n FROM t1 a LEFT JOIN t2 b ON coalesce(a.k, 0) = coalesce(b.k, 0) GROUP BY a.id",
    "SELECT a.id, b.id AS o FROM t1 a JOIN t2 b ON abs(a.v - 2) = b.w",
    "SELECT a.id FROM t1 a WHERE EXISTS (SELECT 1 FROM t2 b WHERE b.k > a.k AND b.w = a.v)",
    "SELECT a.id FROM t1 a WHERE NOT EXISTS (SELECT 1 FROM t2 b WHERE b.k > a.k)",
    "SELECT a.id FROM t1 a WHERE EXISTS (SELECT 1 FROM t2 b WHERE b.w BETWEEN a.v AND a.k)",
    "SELECT k, count(DISTINCT id) AS n FROM t1 WHERE k IN (SELECT k + 1 FROM t2) GROUP BY k",
    "SELECT q.n, count(*) AS c FROM (SELECT t1.id, count(t2.id) AS n FROM t1 LEFT JOIN t2 ON t2.k = t1.k + 1 GROUP BY t1.id) q GROUP BY q.n",
    "SELECT t3.u, q.s FROM t3 LEFT JOIN (SELECT k % 3 AS g, sum(v) AS s FROM t1 GROUP BY k % 3) q ON q.g = t3.k % 3",
)
for _number, _query in enumerate(star.QUERIES, 1):
    VIEWS[f"star_{_number}"] = _query

VIEWS |= {f"more_{name}": query for name, query in MORE.items()}
