"""Features of SQL, continued: tables, and under each the queries over them by name; see ``features``."""

Texts = str | tuple[str, str] | tuple[str, str, str]

#: Nulls in the keys of orders and groups, and peers told apart by a key.
WINDOWS: dict[str, Texts] = {
    "rank_by_nullable": ("SELECT k, rank() OVER (ORDER BY x) AS n FROM t", "SELECT k, rank() OVER (ORDER BY x NULLS FIRST) FROM t"),
    "rank_by_two_nullable": ("SELECT k, rank() OVER (PARTITION BY g ORDER BY x DESC, nullif(k % 3, 0) NULLS LAST) AS n FROM t",
                             "SELECT k, rank() OVER (PARTITION BY g ORDER BY x DESC NULLS LAST, nullif(k % 3, 0) NULLS LAST) FROM t"),
    "row_number_ties": ("SELECT k, row_number() OVER (PARTITION BY g ORDER BY x) AS n FROM t",
                        "SELECT k, row_number() OVER (PARTITION BY g ORDER BY x NULLS FIRST, k) FROM t",
                        "SELECT k, row_number() OVER (PARTITION BY g ORDER BY x, k) AS n FROM t"),
    "row_number_nullable": ("SELECT k, row_number() OVER (PARTITION BY g ORDER BY x DESC, k) AS n FROM t",
                            "SELECT k, row_number() OVER (PARTITION BY g ORDER BY x DESC NULLS LAST, k) FROM t"),
    "row_number_of_groups": ("SELECT g, row_number() OVER (ORDER BY count(*)) AS n FROM t GROUP BY g",
                             "SELECT g, row_number() OVER (ORDER BY count(*), g) FROM t GROUP BY g",
                             "SELECT g, row_number() OVER (ORDER BY count(*), g) AS n FROM t GROUP BY g"),
    "first_of_each_group": ("SELECT k, x FROM (SELECT k, x, row_number() OVER (PARTITION BY g ORDER BY x DESC, k) AS n FROM t) q WHERE n = 1",
                            "SELECT k, x FROM (SELECT k, x, row_number() OVER (PARTITION BY g ORDER BY x DESC NULLS LAST, k) AS n FROM t) q WHERE n = 1"),
    "lag_ties": ("SELECT k, lag(k) OVER (PARTITION BY g ORDER BY x) AS a, lead(x, 2, 7) OVER (ORDER BY x DESC) AS b FROM t",
                 "SELECT k, lag(k) OVER (PARTITION BY g ORDER BY x NULLS FIRST, k), lead(x, 2, 7) OVER (ORDER BY x DESC NULLS LAST, k) FROM t",
                 "SELECT k, lag(k) OVER (PARTITION BY g ORDER BY x, k) AS a, lead(x, 2, 7) OVER (ORDER BY x DESC, k) AS b FROM t"),
    "lag_nowhere": "SELECT k, lag(x, 0) OVER (ORDER BY k) AS a, lag(x, -1) OVER (ORDER BY k) AS b FROM t",
    "running_by_nullable": ("SELECT k, sum(k) OVER (PARTITION BY g ORDER BY x) AS s, count(x) OVER (ORDER BY x DESC, g) AS n FROM t",
                            "SELECT k, sum(k) OVER (PARTITION BY g ORDER BY x NULLS FIRST), count(x) OVER (ORDER BY x DESC NULLS LAST, g) FROM t"),
    "rows_ties": ("SELECT k, sum(k) OVER (ORDER BY x ROWS 2 PRECEDING) AS s FROM t",
                  "SELECT k, sum(k) OVER (ORDER BY x NULLS FIRST, k ROWS 2 PRECEDING) FROM t",
                  "SELECT k, sum(k) OVER (ORDER BY x, k ROWS 2 PRECEDING) AS s FROM t"),
    "last_of_peers": ("SELECT k, last_value(k) OVER (ORDER BY g) AS a, first_value(k) OVER (ORDER BY g RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM t",
                      "SELECT k, max(k) OVER (PARTITION BY g), min(k) OVER (PARTITION BY g) FROM t",
                      "SELECT k, max(k) OVER (PARTITION BY g) AS a, min(k) OVER (PARTITION BY g) AS b FROM t"),
    "cume_dist_by_two": ("SELECT k, cume_dist() OVER (ORDER BY g, x) AS c, percent_rank() OVER (ORDER BY g DESC, x) AS p FROM t",
                         "SELECT k, cume_dist() OVER (ORDER BY g, x NULLS FIRST), percent_rank() OVER (ORDER BY g DESC, x NULLS FIRST) FROM t"),
    "group_by_nullable_sum": "SELECT s, count(*) AS n, sum(g) AS t FROM (SELECT g, sum(x) AS s FROM t GROUP BY g) q GROUP BY s",
    "group_by_maximum": "SELECT m, sum(g) AS t FROM (SELECT g, max(x) AS m FROM t GROUP BY g) q GROUP BY m",
    "group_by_average": "SELECT m, sum(g) AS t FROM (SELECT g, avg(x) AS m FROM t WHERE x IS NOT NULL GROUP BY g) q GROUP BY m",
    "join_by_sum": "SELECT q.g, t.k FROM (SELECT g, sum(x) AS s FROM t GROUP BY g) q JOIN t ON t.k = q.s",
}  # fmt: skip
