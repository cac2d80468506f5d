"""Features of SQL, continued: times of the day, over ``c``; see ``features``."""

from tests.frontends.sql.more_features import Texts

TIMES: dict[str, Texts] = {
    "time_columns": "SELECT id, since, till FROM c",
    "time_compared": "SELECT id, since < till AS a, since = till AS b, since BETWEEN TIME '09:00:00' AND TIME '12:30:00' AS d FROM c WHERE till > TIME '00:00:00'",
    "time_texts_compared": ("SELECT id FROM c WHERE since >= '9:00' AND till <> '23:30:00'", "SELECT id FROM c WHERE since >= TIME '09:00:00' AND till <> TIME '23:30:00'"),
    "time_parts": ("SELECT id, hour(since) AS h, minute(since) AS m, second(till) AS s, extract(HOUR FROM till) AS e, extract(SECOND FROM till) AS f, date_part('minute', since) AS g FROM c", ""),
    "time_group": "SELECT since, count(*) AS n, min(till) AS lo, max(till) AS hi, count(DISTINCT till) AS d FROM c GROUP BY since",
    "time_group_by_hour": ("SELECT hour(since) AS h, count(*) AS n FROM c GROUP BY hour(since)", "SELECT extract(hour FROM since) AS h, count(*) FROM c GROUP BY h"),
    "time_join": "SELECT x.id, y.id AS j FROM c x JOIN c y ON x.since = y.till",
    "time_left_join": "SELECT x.id, y.till FROM c x LEFT JOIN c y ON x.since = y.till AND y.id > 0",
    "time_to_text": ("SELECT id, CAST(since AS STRING) AS a, concat('at ', till) AS b FROM c", ""),
    "time_from_text": ("SELECT id, CAST(concat(id + 8, ':05') AS TIME) AS a, TRY_CAST(concat(id + 22, ':5:7.5') AS TIME) AS b, to_time('10:11:12') AS d FROM c", ""),
    "time_literals": ("SELECT TIME '10:11:12' AS a, CAST('9:05 PM' AS TIME) AS b, id FROM c", ""),
    "time_shifted": ("SELECT id, till - INTERVAL '0' HOUR AS a FROM c WHERE till + INTERVAL '0' SECOND > TIME '08:00:00'", ""),
    "time_span": ("SELECT id, till - since AS a, since - TIME '00:00:00' AS b FROM c", ""),
    "time_made": ("SELECT make_time(id, 30, 12.5) AS a, make_time(1, id, id) AS b, make_timestamp(2024, 2, id + 1, id, 30, 12) AS d, make_timestamp_ntz(DATE '2024-02-29', till) AS e FROM c", "",
                  "SELECT make_time(id, 30, 12.5) AS a, make_time(1, id, id) AS b, make_timestamp_ntz(2024, 2, id + 1, id, 30, 12) AS d, make_timestamp_ntz(DATE '2024-02-29', till) AS e FROM c"),
    "time_trunc": ("SELECT time_trunc('HOUR', till) AS a, time_trunc('second', since) AS b, time_diff('MINUTE', since, till) AS d, time_to_micros(since) AS e FROM c", ""),
    "time_order": ("SELECT id, since FROM c ORDER BY since DESC NULLS LAST, id, till LIMIT 3", "SELECT id, since FROM c ORDER BY since DESC NULLS LAST, id, till LIMIT 3"),
    "time_window": ("SELECT id, rank() OVER (PARTITION BY id ORDER BY till) AS r, max(till) OVER (PARTITION BY id) AS m FROM c",
                    "SELECT id, rank() OVER (PARTITION BY id ORDER BY till), max(till) OVER (PARTITION BY id) FROM c"),
    "time_case": "SELECT id, CASE WHEN since IS NULL THEN till ELSE since END AS a, coalesce(since, TIME '00:00:00') AS b, greatest(since, till) AS g FROM c",
    "time_of_timestamp": ("SELECT id, CAST(TIMESTAMP '2024-01-01 10:11:12' AS TIME) AS a, CAST(till AS BIGINT) AS s FROM c", ""),
}  # fmt: skip

#: Structs in order, over ``r``.
STRUCTS: dict[str, Texts] = {
    "struct_less": ("SELECT a, b, struct(a, b) < struct(b, 1) AS l, struct(a, c) >= struct(b, 'b') AS g, named_struct('x', a, 'y', b) <= named_struct('x', 1, 'y', CAST(NULL AS INT)) AS e FROM r", ""),
    "struct_less_where": ("SELECT a, b FROM r WHERE struct(a, b) > struct(1, 0)", ""),
    "struct_less_nested": ("SELECT a, b, struct(a, struct(b, c)) < struct(1, struct(b, 'b')) AS l FROM r", ""),
    "struct_max": ("SELECT c, max(struct(a, b)) AS m, min(struct(b, a)) AS n FROM r GROUP BY c", ""),
    "struct_max_all": ("SELECT max(struct(c, a)) AS m, min(struct(a, b)) AS n FROM r", ""),
    "struct_max_field": ("SELECT a, max(struct(b, c)).c AS m FROM r GROUP BY a", ""),
    "struct_max_where": ("SELECT a, max(struct(b, c)) FILTER (WHERE b > 0) AS m, min(if(b > 1, struct(b, c), NULL)) AS n FROM r GROUP BY a", ""),
    "struct_group": ("SELECT struct(a, b) AS s, count(*) AS n FROM r GROUP BY struct(a, b)", ""),
    "struct_distinct": ("SELECT DISTINCT struct(a, c) AS s FROM r", ""),
    "struct_join": ("SELECT x.c, y.b FROM r x JOIN r y ON struct(x.a, x.c) = struct(y.a, y.c)", ""),
}  # fmt: skip

#: IGNORE NULLS, over ``t``, whose key is ``k``.
IGNORED: dict[str, Texts] = {
    "ignore_nulls_lag": ("SELECT k, lag(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS a, lead(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS b FROM t",
                         "SELECT k, lag(x IGNORE NULLS) OVER (PARTITION BY g ORDER BY k), lead(x IGNORE NULLS) OVER (PARTITION BY g ORDER BY k) FROM t"),
    "ignore_nulls_lag_two": ("SELECT k, lag(x, 2, -9) IGNORE NULLS OVER (ORDER BY k) AS a, lead(x, 2) IGNORE NULLS OVER (ORDER BY k DESC) AS b, lag(x) RESPECT NULLS OVER (ORDER BY k) AS d FROM t", ""),
    "ignore_nulls_first": ("SELECT k, first_value(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS a, last_value(x) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS b FROM t",
                           "SELECT k, first_value(x IGNORE NULLS) OVER (PARTITION BY g ORDER BY k), last_value(x IGNORE NULLS) OVER (PARTITION BY g ORDER BY k) FROM t"),
    "ignore_nulls_frames": ("SELECT k, last(x, true) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS a, first(x, true) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b,"
                            " first_value(x, false) OVER (ORDER BY k) AS d FROM t", ""),
    "ignore_nulls_nth": ("SELECT k, nth_value(x, 2) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS a FROM t", "SELECT k, nth_value(x, 2 IGNORE NULLS) OVER (PARTITION BY g ORDER BY k) FROM t"),
    "ignore_nulls_peers": ("SELECT k, last_value(k) IGNORE NULLS OVER (ORDER BY g, k) AS a, min(x) OVER (PARTITION BY g) AS m FROM t", ""),
}  # fmt: skip

#: Windows of time that overlap, and sessions, over ``m``.
WINDOWS_OF_TIME: dict[str, Texts] = {
    "tumbling_with_nulls": ("SELECT window.start AS a, count(*) AS n FROM m GROUP BY window(seen, '6 hours')", ""),
    "hopping": ("SELECT window.start AS a, window.end AS b, count(*) AS n, sum(id) AS s FROM m GROUP BY window(seen, '6 hours', '3 hours')", ""),
    "hopping_uneven": ("SELECT window.start AS a, id, count(*) AS n FROM m WHERE ok IS NOT NULL GROUP BY id, window(seen, '5 hours', '2 hours')", ""),
    "sessions": ("SELECT session_window.start AS a, session_window.end AS b, count(*) AS n, sum(id) AS s FROM m GROUP BY session_window(seen, '2 hours')", ""),
    "sessions_by_key": ("SELECT id, session_window.start AS a, count(*) AS n, max(price) AS p FROM m GROUP BY id, session_window(seen, '90 minutes')", ""),
    "sessions_having": ("SELECT session_window AS w, ok, count(*) AS n FROM m WHERE id > 0 GROUP BY ok, session_window(seen, '1 hour') HAVING count(*) > 1", ""),
}  # fmt: skip

#: Intervals in every form, over ``m``.
INTERVALS: dict[str, Texts] = {
    "interval_spans": ("SELECT id, seen + INTERVAL '1 02:03:04.5' DAY TO SECOND AS a, seen - INTERVAL '-2:30' HOUR TO MINUTE AS b, day + INTERVAL '1-2' YEAR TO MONTH AS d FROM m", ""),
    "interval_words": ("SELECT id, seen + INTERVAL '1 day 2 hours' AS a, seen - INTERVAL 1 YEAR 2 MONTHS AS b, seen + INTERVAL '1.25' SECOND AS d, day - INTERVAL '2 weeks' AS e, day + INTERVAL '3' QUARTER AS f FROM m", "",
                       "SELECT id, seen + INTERVAL '1 day 2 hours' AS a, seen - INTERVAL 1 YEAR 2 MONTHS AS b, seen + INTERVAL '1.25' SECOND AS d, CAST(day - INTERVAL '14' DAY AS DATE) AS e, CAST(day + INTERVAL '9' MONTH AS DATE) AS f FROM m"),
    "interval_where": ("SELECT id FROM m WHERE seen > TIMESTAMP '2024-02-28 12:00:00' + INTERVAL '0 06:00:00' DAY TO SECOND", ""),
}  # fmt: skip

#: Bytes, over ``r``.
BYTES: dict[str, Texts] = {
    "binary_cast": ("SELECT a, CAST(c AS BINARY) AS x, CAST(CAST(c AS BINARY) AS STRING) AS y FROM r", ""),
    "binary_group": ("SELECT CAST(c AS BINARY) AS x, count(*) AS n, max(CAST(c AS BINARY)) AS m FROM r GROUP BY CAST(c AS BINARY)", ""),
}  # fmt: skip

#: Higher-order functions, over ``o``.
HIGHER: dict[str, Texts] = {
    "aggregate_finish": ("SELECT id, aggregate(items, 0, (acc, i) -> acc + coalesce(i.qty, 0), acc -> acc * 2 + id) AS x FROM o", "SELECT id, 2 * coalesce(list_sum(list_transform(items, lambda i: coalesce(i.qty, 0))), 0) + id FROM o"),
}  # fmt: skip

#: The same of arrays that are NULL, over ``d``.
HIGHER_OF_NULLS: dict[str, Texts] = {
    "aggregate_finish_null": ("SELECT id, aggregate(transform(items, i -> coalesce(i.q, 0)), 0, (acc, x) -> acc + x, acc -> acc * 2) AS x FROM d", ""),
}  # fmt: skip

#: What is found in several ways, over ``r``, ``s``, ``t`` and ``m``.
SEVERAL_WAYS: dict[str, Texts] = {
    "not_in_three": "SELECT a, b, c FROM r WHERE (a, b, c) NOT IN (SELECT a, d, e FROM s)",
    "not_in_pairs_grouped": "SELECT a, count(*) AS n FROM r WHERE (a, b) NOT IN (SELECT a, max(d) AS d FROM s GROUP BY a) GROUP BY a",
    "struct_min_group": ("SELECT a, min(struct(b, c)) AS m, max(struct(c, b)).b AS n, count(*) AS k FROM r GROUP BY a", ""),
    "range_nulls_sums": ("SELECT k, sum(k) OVER (PARTITION BY g ORDER BY x DESC RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s, count(x) OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS n FROM t", "SELECT k, sum(k) OVER (PARTITION BY g ORDER BY x DESC RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s, count(x) OVER (ORDER BY x NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS n FROM t"),
    "range_nulls_last": "SELECT k, count(*) OVER (ORDER BY x NULLS LAST RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS n, sum(k) OVER (ORDER BY x DESC NULLS FIRST RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING) AS s FROM t",
    "right_negative": ("SELECT a, right(c, -1) AS x, right(c, b) AS y, right(c, 0) AS z FROM r", ""),
    "moments_of_doubles": "SELECT id, sum(f) AS s, avg(f) AS a, var_pop(f) AS v, stddev_samp(f) AS d FROM m GROUP BY id",
    "moments_that_cancel": "SELECT var_pop(f + 1e9) AS v, stddev_pop(f * 1e100) AS d, sum(f * 1e300) AS s FROM m WHERE f > 0",
}  # fmt: skip
