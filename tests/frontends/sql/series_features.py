"""Features of SQL, continued: arrays and rows that a scalar makes; see ``features``."""

from tests.frontends.sql.more_features import Texts

#: Over ``r``.
SERIES: dict[str, Texts] = {
    "sequence": ("SELECT a, b, sequence(a, b) AS s FROM r", ""),
    "sequence_step": ("SELECT sequence(0, a, 2) AS s, sequence(b, 10, 5) AS t, sequence(3, -3, -2) AS u, sequence(2, 2, 0) AS v, sequence(1, NULL) AS w FROM r", ""),
    "sequence_exploded": ("SELECT a, b, x FROM r LATERAL VIEW explode(sequence(1, a)) t AS x", "", "SELECT a, b, x FROM r LATERAL VIEW explode(sequence(1, a)) t AS x"),
    "sequence_selected": ("SELECT c, explode(sequence(b, a)) AS x FROM r WHERE c IS NOT NULL", ""),
    "sequence_outer": ("SELECT a, x FROM r LATERAL VIEW OUTER explode(sequence(b, 1)) t AS x", ""),
    "sequence_from": ("SELECT r.a, e.x FROM r, LATERAL explode(sequence(0, r.a)) AS e(x) WHERE e.x <> 1", ""),
    "sequence_grouped": ("SELECT x, count(*) AS n, sum(b) AS s FROM r LATERAL VIEW explode(sequence(0, a)) t AS x GROUP BY x", "SELECT x, count(*), sum(b) FROM r, unnest(generate_series(0, a)) AS t(x) GROUP BY x"),
    "sequence_joined": ("SELECT q.x, y.c FROM (SELECT explode(sequence(1, a)) AS x, b FROM r) q JOIN r y ON y.a = q.x AND y.b <= q.b", ""),
    "sequence_gaps": ("SELECT q.x, count(r.b) AS n FROM (SELECT explode(sequence(0, 4)) AS x) q LEFT JOIN r ON r.a = q.x GROUP BY q.x", "SELECT q.x, count(r.b) FROM (SELECT unnest(generate_series(0, 4)) AS x) q LEFT JOIN r ON r.a = q.x GROUP BY q.x"),
    "sequence_transformed": ("SELECT a, transform(sequence(1, a), x -> x * b) AS s, transform(sequence(0, 2), (x, i) -> x + i) AS t, filter(sequence(-2, b), x -> x % 2 = 0) AS u FROM r", ""),
    "sequence_structs": ("SELECT id.x, id.y FROM (SELECT explode(transform(sequence(0, a), x -> struct(x, c AS y))) AS id FROM r) q", ""),
    "sequence_read": ("SELECT size(sequence(0, a)) AS n, sequence(a, 5)[1] AS e, element_at(sequence(a, 5), -1) AS l, array_max(sequence(0, b)) AS m, aggregate(sequence(1, a), 0, (s, x) -> s + x) AS t, array_contains(sequence(0, a), b) AS k, exists(sequence(0, a), x -> x = b) AS e2 FROM r", ""),
    "sequence_where": ("SELECT a, b FROM r WHERE array_contains(sequence(0, a), b) OR size(sequence(b, 0)) = 2", ""),
    "sequence_by_content": ("SELECT sequence(0, a) AS s, count(*) AS n FROM r GROUP BY sequence(0, a)", "SELECT CASE WHEN a IS NOT NULL THEN generate_series(0, a) END AS s, count(*) FROM r GROUP BY s"),
    "sequence_twice": ("SELECT x, y FROM r LATERAL VIEW explode(sequence(1, a)) t AS x LATERAL VIEW explode(sequence(x, a)) u AS y", ""),
    "sequence_bits": ("SELECT sequence(CAST(a AS TINYINT), 4L) AS s, sequence(CAST(a AS BIGINT), b) AS t FROM r", ""),
    "split": ("SELECT c, split(c, 'b') AS s, split(c, '') AS t, split(concat(c, ',', c, ','), ',') AS u, split(c, '[ab]', 2) AS v, split(NULL, 'a') AS w FROM r", "", "SELECT c, split(c, 'b') AS s, split(c, '') AS t, split(concat(c, ',', c, ','), ',') AS u, split(c, '[ab]', 2) AS v, split(CAST(NULL AS STRING), 'a') AS w FROM r"),
    "split_patterns": ("SELECT split(c, 'x+') AS s, split(c, '(?=b)') AS t, split(c, '^a|c$') AS u, split(concat('a.', c), '\\\\.') AS v, split(c, 'b', 0) AS w, split(a, '1') AS y FROM r", ""),
    "split_words": ("SELECT w, count(*) AS n FROM (SELECT explode(split(concat(c, ' ', c, 'x'), ' ')) AS w FROM r) q GROUP BY w", ""),
    "split_positions": ("SELECT a, posexplode(split(c, '')) AS (i, s) FROM r", ""),
    "split_element": ("SELECT split(c, 'b')[0] AS f, split(concat(c, ':', a), ':')[1] AS g, element_at(split(c, ''), -1) AS l, size(split(c, 'a')) AS n, get(split(c, 'b'), 3) AS z FROM r", "", "SELECT split(c, 'b')[0] AS f, get(split(concat(c, ':', a), ':'), 1) AS g, try_element_at(split(c, ''), -1) AS l, size(split(c, 'a')) AS n, get(split(c, 'b'), 3) AS z FROM r"),
    "split_element_group": ("SELECT split(c, 'b')[0] AS f, count(*) AS n, max(a) AS m FROM r GROUP BY split(c, 'b')[0]", ""),
    "split_join": ("SELECT x.a, y.b FROM r x JOIN r y ON split(x.c, 'b')[0] = split(y.c, 'c')[0]", ""),
    "split_functions": ("SELECT array_join(split(c, ''), '-') AS s, reverse(split(c, 'b')) AS r, slice(split(c, ''), 2, 2) AS t, array_contains(split(c, ''), 'b') AS k, transform(split(c, ''), x -> upper(x)) AS u, array_position(split(c, ''), 'b') AS p, concat(split(c, 'b'), array('z')) AS z FROM r", ""),
    "array_written_element": ("SELECT array(a, b, 7)[1] AS x, element_at(array(a, b), -1) AS y, array_max(array(a, b)) AS z, array_position(array(b, a), 2) AS p FROM r WHERE array_contains(array(a, 1), 1)", ""),
    "array_written_sorted": ("SELECT a, sort_array(split(c, '')) AS s, array_sort(sequence(a, 0)) AS t FROM r", ""),
}  # fmt: skip

#: Over ``m``.
MOMENTS: dict[str, Texts] = {
    "sequence_days": ("SELECT id, sequence(day, DATE '2024-03-01', INTERVAL 1 MONTH) AS s, sequence(day, DATE '2024-02-01', INTERVAL '-7' DAY) AS t FROM m WHERE day > DATE '2024-02-01' AND day <= DATE '2024-03-01'", ""),
    "sequence_days_open": ("SELECT id, size(sequence(day, DATE '2024-02-05')) AS n, sequence(DATE '2024-01-30', DATE '2024-02-02') AS s FROM m", ""),
    "sequence_moments": ("SELECT id, sequence(seen, TIMESTAMP '2024-03-01 12:00:00', INTERVAL 7 HOUR) AS s, sequence(TIMESTAMP '2024-03-31 10:00:00', seen, INTERVAL '-1' MONTH) AS t FROM m", "", "SELECT id, sequence(seen, TIMESTAMP_NTZ '2024-03-01 12:00:00', INTERVAL 7 HOUR) AS s, sequence(TIMESTAMP_NTZ '2024-03-31 10:00:00', seen, INTERVAL '-1' MONTH) AS t FROM m"),
    "sequence_calendar": ("SELECT q.d, count(m.id) AS n FROM (SELECT explode(sequence(DATE '2024-01-01', DATE '2024-12-01', INTERVAL 1 MONTH)) AS d) q LEFT JOIN m ON m.day = q.d GROUP BY q.d", ""),
}  # fmt: skip
