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
