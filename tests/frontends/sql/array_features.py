"""Features of SQL, continued: arrays in order, over ``l``, with NULLs at every level; see ``features``.

Where an answer is an array in order, the judge compares it in order, too.
"""

from tests.frontends.sql.more_features import Texts

#: Positions, and arrays made of arrays.
LISTS: dict[str, Texts] = {
    "list_star": ("SELECT id, tags, items, nums, grid FROM l", ""),
    "list_posexplode": ("SELECT id, p, t FROM l LATERAL VIEW posexplode(tags) e AS p, t", "SELECT id, i - 1, tags[i] FROM l, generate_series(1, len(tags)) AS g(i)"),
    "list_posexplode_outer": ("SELECT id, p, t FROM l LATERAL VIEW posexplode_outer(tags) e AS p, t", ""),
    "list_posexplode_structs": ("SELECT id, p, i, i.q FROM l LATERAL VIEW posexplode(items) e AS p, i", ""),
    "list_posexplode_selected": ("SELECT id, posexplode(nums) FROM l", ""),
    "list_posexplode_named": ("SELECT posexplode_outer(tags) AS (p, t), id FROM l", ""),
    "list_ordinality": ("SELECT id, x, n FROM l, UNNEST(tags) WITH ORDINALITY AS e(x, n)", "", "SELECT id, x, n + 1 AS n FROM l LATERAL VIEW posexplode(tags) e AS n, x"),
    "list_unnest": ("SELECT id, x FROM l CROSS JOIN UNNEST(nums) AS e(x)", "SELECT id, x FROM l CROSS JOIN UNNEST(nums) AS e(x)", "SELECT id, x FROM l LATERAL VIEW explode(nums) e AS x"),
    "list_explode": ("SELECT id, t FROM l LATERAL VIEW explode(tags) e AS t", ""),
    "list_explode_outer": ("SELECT id, t, x FROM l LATERAL VIEW OUTER explode(tags) e AS t LATERAL VIEW explode_outer(nums) f AS x", ""),
    "list_inline": ("SELECT id, p, q FROM l LATERAL VIEW inline(items) e AS p, q", ""),
    "list_inline_selected": ("SELECT id, inline(items) FROM l", ""),
    "list_group_by_position": ("SELECT p, count(*) AS n, sum(x) AS s, max(x) AS m FROM l LATERAL VIEW posexplode(nums) e AS p, x GROUP BY p", ""),
    "list_join_by_position": ("SELECT a.id, b.id AS j, a.p FROM (SELECT id, p, x FROM l LATERAL VIEW posexplode(nums) e AS p, x) a JOIN (SELECT id, p, t FROM l LATERAL VIEW posexplode(tags) f AS p, t) b ON a.p = b.p AND a.x = b.id % 4", ""),
    "list_get": ("SELECT id, get(tags, 0) AS a, get(nums, 1) AS b, get(nums, 7) AS c, get(nums, -1) AS d FROM l", ""),
    "list_bracket": ("SELECT id, nums[0] AS a, tags[size(tags) - 1] AS b FROM l WHERE size(nums) > 0 AND size(tags) > 0", "SELECT id, nums[1], tags[-1] FROM l WHERE len(nums) > 0 AND len(tags) > 0"),
    "list_bracket_beyond": ("SELECT id, nums[1] AS a, tags[2] AS b FROM l", "SELECT id, nums[2], tags[3] FROM l", "SELECT id, get(nums, 1) AS a, get(tags, 2) AS b FROM l"),
    "list_element_at": ("SELECT id, try_element_at(tags, 1) AS a, try_element_at(nums, -1) AS b, try_element_at(tags, 9) AS c FROM l", ""),
    "list_element_struct": ("SELECT id, get(items, 0) AS a, get(items, 1).q AS b, get(items, 0) IS NULL AS c FROM l", ""),
    "list_element_computed": ("SELECT id, get(nums, id % 3) AS a, get(tags, nums[0]) AS b FROM l WHERE size(nums) > 0", ""),
    "list_element_array": ("SELECT id, get(grid, 0) AS a, get(get(grid, 1), 0) AS b, size(get(grid, 1)) AS c FROM l", ""),
    "list_element_where": ("SELECT id FROM l WHERE get(items, 0).p = 1 OR get(nums, 1) > 1", ""),
    "list_element_group": ("SELECT get(tags, 0) AS t, count(*) AS n, sum(id) AS s FROM l GROUP BY get(tags, 0)", ""),
    "list_element_join": ("SELECT a.id, b.id AS j FROM l a JOIN l b ON get(a.nums, 0) = get(b.nums, 1)", ""),
    "list_position": ("SELECT id, array_position(tags, 'b') AS a, array_position(nums, id % 3) AS b, array_position(nums, CAST(NULL AS INT)) AS c FROM l", ""),
    "list_slice": ("SELECT id, slice(tags, 1, 2) AS a, slice(nums, -2, 2) AS b, slice(items, 2, 1) AS c, slice(nums, 3, 0) AS d FROM l", ""),
    "list_transform": ("SELECT id, transform(tags, (x, i) -> concat(x, i)) AS a, transform(nums, x -> x * 2) AS b, transform(items, (x, i) -> x.p + i) AS c FROM l", ""),
    "list_transform_structs": ("SELECT id, transform(nums, (x, i) -> named_struct('at', i, 'x', x)) AS a FROM l", ""),
    "list_filter": ("SELECT id, filter(tags, x -> x <> 'b') AS a, filter(nums, (x, i) -> i % 2 = 0) AS b, filter(items, x -> x.p IS NOT NULL) AS c FROM l", ""),
    "list_zip_with": ("SELECT id, zip_with(tags, nums, (x, y) -> concat(x, y)) AS a, zip_with(nums, items, (x, y) -> coalesce(x, 0) + coalesce(y.q, 0)) AS b FROM l", ""),
    "list_arrays_zip": ("SELECT id, arrays_zip(tags, nums) AS a, arrays_zip(nums, items, tags) AS b FROM l", ""),
    "list_reverse": ("SELECT id, reverse(tags) AS a, reverse(items) AS b FROM l", ""),
    "list_concat": ("SELECT id, concat(tags, array('z', NULL), tags) AS a, concat(nums, nums) AS b FROM l", ""),
    "list_append": ("SELECT id, array_append(tags, 'x') AS a, array_prepend(nums, 9) AS b, array_append(nums, NULL) AS c FROM l", ""),
    "list_remove": ("SELECT id, array_remove(tags, 'b') AS a, array_compact(tags) AS b, array_compact(items) AS c, array_remove(nums, 1) AS d FROM l", ""),
    "list_sort": ("SELECT id, sort_array(tags) AS a, sort_array(tags, false) AS b, array_sort(tags) AS c, sort_array(nums) AS d FROM l", ""),
    "list_sort_structs": ("SELECT id, sort_array(items) AS a, sort_array(items, false) AS b FROM l", ""),
    "list_join_texts": ("SELECT id, array_join(tags, ',') AS a, array_join(tags, '-', '?') AS b, array_join(nums, '') AS c FROM l", ""),
    "list_repeat": ("SELECT id, array_repeat(id, 3) AS a, array_repeat('x', 2) AS b FROM l", ""),
    "list_literal": ("SELECT id, array(id, 2, NULL) AS a, get(array(id, 5), 1) AS b, array('b', 'a') AS c FROM l", ""),
    "list_higher_order": ("SELECT id, exists(tags, x -> x = 'b') AS a, forall(nums, x -> x > 0) AS b, aggregate(nums, 0, (s, x) -> s + x) AS c, size(tags) AS d FROM l", ""),
    "list_functions": ("SELECT id, array_contains(tags, 'ab') AS a, array_max(nums) AS b, array_min(tags) AS c FROM l", ""),
    "list_coalesce": ("SELECT id, coalesce(tags, array('none')) AS a, CASE WHEN id > 20 THEN nums ELSE array(0, 1) END AS b, if(id > 20, items, NULL) AS c FROM l", ""),
    "list_outer_join": ("SELECT a.id, b.tags, b.items, b.nums FROM l a LEFT JOIN l b ON a.id = b.id + 1", ""),
    "list_union": ("SELECT id, tags FROM l UNION ALL SELECT id, array('z', 'a') FROM l", ""),
    "list_flatten": ("SELECT id, flatten(grid) AS a FROM l", ""),
    "list_is_null": ("SELECT id, tags IS NULL AS a, items IS NOT NULL AS b, get(tags, 0) IS NULL AS c FROM l WHERE tags IS NULL OR size(tags) > 1", ""),
    "list_map_of_structs": ("SELECT id, map('a', named_struct('x', id, 'y', nums))['a'] AS a FROM l", ""),
}  # fmt: skip

#: Arrays as values: compared, grouped, put in order.
CONTENT: dict[str, Texts] = {
    "list_equal": ("SELECT id, tags = array('b') AS a, tags <> array('b', NULL) AS b, tags <=> NULL AS c, nums = array(1, 2) AS d, items = items AS e FROM l", ""),
    "list_equal_structs": ("SELECT id, items = array(named_struct('p', 1, 'q', 2)) AS a, grid = array(array(1)) AS b FROM l", ""),
    "list_less": ("SELECT id, nums < array(1, 1) AS a, tags >= array('b') AS b, items <= array(named_struct('p', 1, 'q', 2)) AS c FROM l", ""),
    "list_join": ("SELECT a.id, b.id AS j FROM l a JOIN l b ON a.nums = b.nums", ""),
    "list_join_nullable": ("SELECT a.id, b.id AS j FROM l a LEFT JOIN l b ON a.tags = b.tags", ""),
    "list_in": ("SELECT id FROM l WHERE nums IN (SELECT x.nums FROM l x WHERE x.id > 15) OR nums IN (array(1), array(2))", ""),
    "list_group": ("SELECT nums, count(*) AS n, sum(id) AS s FROM l GROUP BY nums", "SELECT nums, count(*), sum(id) FROM l GROUP BY nums"),
    "list_group_nullable": ("SELECT tags, count(*) AS n, max(id) AS m FROM l GROUP BY tags", ""),
    "list_group_structs": ("SELECT items, count(*) AS n FROM l GROUP BY items HAVING count(*) > 0", ""),
    "list_group_computed": ("SELECT slice(nums, 1, 1) AS a, count(*) AS n FROM l GROUP BY slice(nums, 1, 1)", ""),
    "list_group_two": ("SELECT nums, id % 2 AS p, count(*) AS n FROM l GROUP BY nums, id % 2", ""),
    "list_distinct": ("SELECT DISTINCT nums, tags FROM l", ""),
    "list_distinct_set": ("SELECT tags FROM l UNION SELECT array('b') FROM l", ""),
    "list_count_distinct": ("SELECT count(DISTINCT nums) AS n, count(nums) AS m FROM l", "SELECT count(DISTINCT nums), count(nums) FROM l"),
    "list_sets": ("SELECT id, array_union(nums, array(1, 1, 9)) AS a, array_except(nums, array(1)) AS b, array_intersect(nums, array(1, 2)) AS c, arrays_overlap(tags, array('b', 'ab')) AS d, array_distinct(nums) AS e, array_union(tags, array(NULL, 'b')) AS f FROM l", ""),
    "list_extremes": ("SELECT max(nums) AS a, min(tags) AS b, max(items) AS c FROM l", ""),
    "list_extremes_group": ("SELECT id % 3 AS p, max(nums) AS a, min(tags) AS b, min(items) FILTER (WHERE id > 9) AS c FROM l GROUP BY id % 3", ""),
    "list_group_size": ("SELECT size(nums) AS s, nums[0] AS f, count(*) AS n FROM l GROUP BY nums HAVING size(nums) > 0", ""),
    "list_not_in": ("SELECT id FROM l WHERE nums NOT IN (SELECT x.nums FROM l x WHERE x.id > 25)", ""),
    "struct_of_lists": ("SELECT struct(nums, id % 2) = struct(array(1), 1) AS a, struct(id % 2, nums) < struct(1, array(1)) AS b FROM l", ""),
}  # fmt: skip

#: Features whose answers have arrays that are bags.
BAGS = ("list_sets",)

_TEXT = """concat('{"a": ', coalesce(CAST(a AS STRING), 'null'), ', "b": "', coalesce(c, ''), '", "s": {"x": ', coalesce(b, 0), '.50, "y": [1, true]}}')"""

#: JSON as values, over ``r``.
JSON: dict[str, Texts] = {
    "json_from": (f"SELECT from_json({_TEXT}, 'a INT, b STRING, s STRUCT<x: DOUBLE, y: STRING>') AS j FROM r", ""),
    "json_from_fields": (f"SELECT from_json({_TEXT}, 'STRUCT<a: BIGINT, b: STRING>').a AS x, from_json({_TEXT}, 's STRING, b DOUBLE, a TINYINT') AS y FROM r", ""),
    "json_from_other": ("SELECT from_json(c, 'a INT') AS x, from_json(c, 'a INT') IS NULL AS y, from_json('{\"a\": true, \"d\": 1.5}', 'a BOOLEAN, d DOUBLE, e STRING') AS z FROM r", ""),
    "json_from_group": (f"SELECT from_json({_TEXT}, 'a INT').a AS g, count(*) AS n, sum(b) AS s FROM r GROUP BY from_json({_TEXT}, 'a INT').a", ""),
    "json_tuple": (f"SELECT b, x, y, z FROM r LATERAL VIEW json_tuple({_TEXT}, 'a', 's', 'no') t AS x, y, z", ""),
    "json_tuple_selected": (f"SELECT b, json_tuple({_TEXT}, 'a', 'b') FROM r", ""),
    "json_to": ("SELECT to_json(struct(a, b AS x, c)) AS j, to_json(named_struct('q', c, 'n', struct(a))) AS k FROM r", ""),
    "json_to_written": ("SELECT to_json(struct('a\"b' AS q, 1.50 AS d, 2.5D AS f, true AS t, DATE '2024-02-29' AS e, a)) AS j FROM r", ""),
}  # fmt: skip

_ARRAY = """CASE WHEN a = 3 THEN c WHEN b = 2 THEN '[1, "x"]' ELSE concat('[', coalesce(CAST(a AS STRING), 'null'), ', ', coalesce(b, 0), '] ') END"""
_OBJECTS = """CASE WHEN a = 3 THEN '{"p": 7}' WHEN b = 2 THEN concat('[{"p": 1}, ', coalesce(CAST(a AS STRING), '"x"'), ']') ELSE concat('[{"p": ', coalesce(CAST(a AS STRING), '"x"'), ', "q": ["', c, '", "z"]}, null, {"q": [1], "r": {"s": "', c, '"}}]') END"""

#: Arrays in JSON, over ``r``.
JSON_ARRAYS: dict[str, Texts] = {
    "json_array": (f"SELECT a, b, from_json({_ARRAY}, 'ARRAY<INT>') AS x, from_json({_ARRAY}, 'array<string>') AS y, from_json(c, 'ARRAY<BOOLEAN>') AS z FROM r", ""),
    "json_array_exploded": (f"SELECT a, b, x FROM r LATERAL VIEW explode(from_json({_ARRAY}, 'ARRAY<BIGINT>')) t AS x", ""),
    "json_array_outer": (f"SELECT a, i, x FROM r LATERAL VIEW OUTER posexplode(from_json({_ARRAY}, 'ARRAY<DOUBLE>')) t AS i, x", ""),
    "json_array_structs": (f"SELECT a, b, from_json({_OBJECTS}, 'ARRAY<STRUCT<p: INT, q: ARRAY<STRING>, r: STRUCT<s: STRING>>>') AS x FROM r", ""),
    "json_array_inline": (f"SELECT a, p, q FROM r LATERAL VIEW inline(from_json({_OBJECTS}, 'ARRAY<STRUCT<p: INT, q: ARRAY<STRING>>>')) t AS p, q", ""),
    "json_array_grouped": (f"SELECT e.p AS p, count(*) AS n, sum(b) AS s FROM r LATERAL VIEW explode(from_json({_OBJECTS}, 'ARRAY<STRUCT<p: INT>>')) t AS e GROUP BY e.p", ""),
    "json_array_field": (f"SELECT from_json(concat('{{\"v\": ', {_OBJECTS}, ', \"w\": [[1], [2, ', coalesce(CAST(b AS STRING), '\"x\"'), ']]}}'), 'v ARRAY<STRUCT<p: INT>>, w ARRAY<ARRAY<INT>>') AS x FROM r", ""),
    "json_array_read": (f"SELECT size(from_json({_ARRAY}, 'ARRAY<INT>')) AS n, from_json({_OBJECTS}, 'ARRAY<STRUCT<p: INT>>')[0].p AS p, array_contains(from_json({_ARRAY}, 'ARRAY<INT>'), a) AS k FROM r", "", f"SELECT size(from_json({_ARRAY}, 'ARRAY<INT>')) AS n, get(from_json({_OBJECTS}, 'ARRAY<STRUCT<p: INT>>'), 0).p AS p, array_contains(from_json({_ARRAY}, 'ARRAY<INT>'), a) AS k FROM r"),
    "json_null_where": ("SELECT b, get_json_object(c, '$.a') IS NULL AS g, regexp_substr(c, 'x') IS NULL AS h, sha2(c, 7) IS NULL AS i FROM r WHERE regexp_substr(c, 'a') IS NULL OR json_array_length(c) IS NOT NULL", ""),
    "json_struct_of_text": ("SELECT from_json(concat('{\"s\": \"{}\", \"t\": \"[1]\", \"a\": ', coalesce(a, 0), '}'), 's STRUCT<x: INT>, t ARRAY<INT>, a INT') AS x FROM r", ""),
}  # fmt: skip

#: The same of arrays in order, over ``l``.
JSON_OF_LISTS: dict[str, Texts] = {
    "list_to_json": ("SELECT id, to_json(tags) AS a, to_json(items) AS b, to_json(struct(id, nums, grid)) AS c FROM l", ""),
}  # fmt: skip

#: Joins in parentheses, and rows of an array beside a row that has none.
JOINS: dict[str, Texts] = {
    "join_parenthesised": ("SELECT x.a, y.b, z.c FROM r x LEFT JOIN (r y JOIN r z ON y.a = z.b) ON x.b = y.a", "SELECT x.a, y.b, z.c FROM r x LEFT JOIN (r y JOIN r z ON y.a = z.b) ON x.b = y.a"),
    "join_parenthesised_first": ("SELECT * FROM (r x JOIN r y ON x.a = y.b) JOIN r z ON z.a = x.b", "SELECT * FROM (r x JOIN r y ON x.a = y.b) JOIN r z ON z.a = x.b"),
}  # fmt: skip
LATERAL: dict[str, Texts] = {
    "join_lateral_array": ("SELECT l.id, e.x FROM l LEFT JOIN LATERAL explode(l.tags) AS e(x) ON true", "", "SELECT id, x FROM l LATERAL VIEW OUTER explode(tags) e AS x"),
}  # fmt: skip
