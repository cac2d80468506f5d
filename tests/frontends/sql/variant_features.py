"""Features of SQL, continued: parts of JSON by their types, and several patterns; see ``features``."""

from tests.frontends.sql.array_features import _TEXT
from tests.frontends.sql.more_features import Texts

#: A text that is JSON for some rows only.
_SOME = """CASE WHEN a = 1 THEN c WHEN b = 2 THEN '{"v": "no"}' ELSE concat('{"v": ', coalesce(CAST(a AS STRING), 'null'), ', "w": [', coalesce(b, 0), '.50, 1e2, "', coalesce(c, ''), '"]}') END"""

#: Over ``r``.
VARIANTS: dict[str, Texts] = {
    "variant_path": (f"SELECT parse_json({_TEXT}):a::INT AS x, parse_json({_TEXT}):s.y[0]::BIGINT AS y, parse_json({_TEXT}):['b']::STRING AS z, parse_json({_TEXT}):s::STRING AS v, parse_json({_TEXT}):no.more::STRING AS w FROM r", ""),
    "variant_get": (f"SELECT variant_get(parse_json({_TEXT}), '$.s.x', 'DOUBLE') AS x, variant_get(parse_json({_TEXT}), '$.s.x', 'string') AS y, variant_get(parse_json({_TEXT}), '$[\"s\"].y[1]', 'boolean') AS z, CAST(variant_get(parse_json({_TEXT}), '$.a') AS TINYINT) AS w FROM r", ""),
    "variant_tried": (f"SELECT try_variant_get(parse_json({_TEXT}), '$.b', 'INT') AS x, TRY_CAST(parse_json({_TEXT}):s AS BOOLEAN) AS y, try_variant_get(try_parse_json({_SOME}), '$.v', 'smallint') AS z, TRY_CAST(try_parse_json({_SOME}):w[0] AS DOUBLE) AS w FROM r", ""),
    "variant_if_json": (f"SELECT try_parse_json({_SOME}):v::STRING AS x, try_parse_json({_SOME}):w::STRING AS y, CAST(try_parse_json(c) AS STRING) AS z, try_parse_json({_SOME}):w[1]::STRING AS w FROM r", ""),
    "variant_group": (f"SELECT parse_json({_TEXT}):a::INT AS g, count(*) AS n, sum(parse_json({_TEXT}):s.x::DOUBLE) AS s FROM r GROUP BY parse_json({_TEXT}):a::INT", ""),
    "variant_join": (f"SELECT x.c, y.b FROM r x JOIN r y ON y.a = try_parse_json({_SOME.replace('THEN c', 'THEN x.c').replace('WHEN a', 'WHEN x.a').replace('WHEN b', 'WHEN x.b').replace('CAST(a', 'CAST(x.a').replace('(b,', '(x.b,').replace('(c,', '(x.c,')}):w[1]::INT - 98", ""),
    "variant_where": (f"SELECT a, b FROM r WHERE TRY_CAST(try_parse_json({_SOME}):v AS INT) > 0 OR parse_json({_TEXT}):s.y[1]::BOOLEAN AND c IS NULL", ""),
    "variant_empty": ("SELECT parse_json(NULL):a::INT AS x, try_variant_get(try_parse_json(c), '$', 'STRING') IS NULL AS y FROM r", ""),
}  # fmt: skip
#: Running extremes in the order of what they are of, over ``t``.
EXTREMES: dict[str, Texts] = {
    "running_max_own": ("SELECT k, max(x) OVER (PARTITION BY g ORDER BY x) AS a, min(x) OVER (PARTITION BY g ORDER BY x DESC) AS b, max(k) OVER (ORDER BY k) AS c FROM t",
                        "SELECT k, max(x) OVER (PARTITION BY g ORDER BY x NULLS FIRST), min(x) OVER (PARTITION BY g ORDER BY x DESC NULLS LAST), max(k) OVER (ORDER BY k) FROM t"),
    "running_min_own": ("SELECT k, min(x) OVER (PARTITION BY g ORDER BY x) AS a, max(x) OVER (ORDER BY x DESC) AS b, min(k) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS c FROM t",
                        "SELECT k, min(x) OVER (PARTITION BY g ORDER BY x NULLS FIRST), max(x) OVER (ORDER BY x DESC NULLS LAST), min(k) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t"),
    "running_own_nulls": "SELECT k, max(x) OVER (PARTITION BY g ORDER BY x NULLS LAST) AS a, min(x) OVER (ORDER BY x NULLS LAST) AS b, min(x) OVER (ORDER BY x DESC NULLS FIRST) AS c, max(x) OVER (PARTITION BY g ORDER BY x DESC NULLS FIRST) AS d FROM t",
    "running_own_summed": ("SELECT g, sum(m) AS s FROM (SELECT g, max(x) OVER (PARTITION BY g ORDER BY x) AS m FROM t) q GROUP BY g",
                           "SELECT g, sum(m) FROM (SELECT g, max(x) OVER (PARTITION BY g ORDER BY x NULLS FIRST) AS m FROM t) q GROUP BY g"),
}  # fmt: skip
#: Outer joins with what a query has for a row, over ``r`` and ``s``.
LATERAL: dict[str, Texts] = {
    "lateral_left": "SELECT r.a, r.c, q.d FROM r LEFT JOIN LATERAL (SELECT d FROM s WHERE s.a = r.a AND s.d > 0) q ON true",
    "lateral_left_on": "SELECT r.a, r.b, q.d, q.e FROM r LEFT JOIN LATERAL (SELECT d, e FROM s WHERE s.a = r.a) q ON q.d > r.b",
    "lateral_left_grouped": "SELECT r.a, q.m, q.n FROM r LEFT JOIN LATERAL (SELECT max(d) AS m, count(*) AS n FROM s WHERE s.a = r.a GROUP BY s.a) q ON true",
    "lateral_left_twice": "SELECT r.a, q.d, p.n FROM r LEFT JOIN LATERAL (SELECT d FROM s WHERE s.a = r.a) q ON true LEFT JOIN s p2 ON p2.d = q.d JOIN LATERAL (SELECT count(*) AS n FROM s WHERE s.d = r.b) p ON true",
    "lateral_left_nulls": "SELECT r.c, count(q.e) AS n, count(*) AS m FROM r LEFT JOIN LATERAL (SELECT e FROM s WHERE s.a = r.a) q ON q.e IS NULL GROUP BY r.c",
}  # fmt: skip
#: Over ``r``.
PATTERNS: dict[str, Texts] = {
    "like_any": ("SELECT a, c LIKE ANY ('a%', '%b', NULL) AS x, c LIKE SOME ('a') AS y, c NOT LIKE ANY ('a%', 'b%') AS z FROM r",
                 "SELECT a, c LIKE 'a%' OR c LIKE '%b' OR CAST(NULL AS BOOLEAN), c LIKE 'a', c NOT LIKE 'a%' OR c NOT LIKE 'b%' FROM r"),
    "like_all": ("SELECT a FROM r WHERE c LIKE ALL ('%b%', 'a%') OR c NOT LIKE ALL ('a%', '%a') AND NOT c ILIKE ANY ('B')",
                 "SELECT a FROM r WHERE c LIKE '%b%' AND c LIKE 'a%' OR c NOT LIKE 'a%' AND c NOT LIKE '%a' AND NOT c ILIKE 'B'"),
    "like_columns": ("SELECT x.c, y.a FROM r x JOIN r y ON x.c LIKE ANY (concat(y.c, '%'), 'zz') AND y.b = 1", "SELECT x.c, y.a FROM r x JOIN r y ON (x.c LIKE concat(y.c, '%') OR x.c LIKE 'zz') AND y.b = 1"),
    "like_null": ("SELECT a, c LIKE NULL AS x FROM r WHERE (c LIKE NULL) IS NULL", ""),
    "like_any_of_groups": ("SELECT b, max(c) LIKE ANY ('a%', 'b%') AS x FROM r GROUP BY b", "SELECT b, max(c) LIKE 'a%' OR max(c) LIKE 'b%' FROM r GROUP BY b"),
}  # fmt: skip
