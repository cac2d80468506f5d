"""Features of SQL, continued: arrays, structs and elements that are NULL, and maps, over ``d``; see ``features``."""

from tests.frontends.sql.more_features import Texts

#: NULL wherever something nested stands. DuckDB has other words for most of it.
NULLS: dict[str, Texts] = {
    "null_nested_star": ("SELECT * FROM d", ""),
    "null_array_explode": ("SELECT id, t FROM d LATERAL VIEW explode(tags) e AS t", ""),
    "null_array_explode_outer": ("SELECT id, t FROM d LATERAL VIEW OUTER explode(tags) e AS t", ""),
    "null_struct_explode": ("SELECT id, i, i.p, i IS NULL AS n FROM d LATERAL VIEW explode(items) e AS i", ""),
    "null_struct_explode_outer": ("SELECT id, i, i.q FROM d LATERAL VIEW explode_outer(items) e AS i", ""),
    "null_struct_inline": ("SELECT id, p, q FROM d LATERAL VIEW inline(items) e AS p, q", ""),
    "null_size": ("SELECT id, size(tags) AS s, cardinality(items) AS c, size(loc.names) AS n FROM d", ""),
    "null_is_null": ("SELECT id, tags IS NULL AS a, items IS NOT NULL AS b, loc IS NULL AS c, loc.names IS NULL AS e, loc.x AS x FROM d",
                     "SELECT id, tags IS NULL, items IS NOT NULL, loc IS NULL, loc.names IS NULL, loc.x FROM d"),
    "null_where": ("SELECT id FROM d WHERE tags IS NOT NULL AND (loc IS NULL OR loc.x > 1)",
                   "SELECT id FROM d WHERE tags IS NOT NULL AND (loc IS NULL OR loc.x > 1)"),
    "null_higher_order": ("SELECT id, filter(tags, x -> x IS NOT NULL) AS f, transform(items, i -> i.p) AS g, exists(tags, x -> x = 'b') AS h, forall(tags, x -> x <> 'b') AS k FROM d", ""),
    "null_array_functions": ("SELECT id, array_contains(tags, 'ab') AS c, array_max(tags) AS m, array_min(loc.names) AS n, array_distinct(tags) AS u, aggregate(transform(items, i -> i.q), 0, (a, x) -> a + x) AS s FROM d", ""),
    "null_left_join": ("SELECT a.id, b.tags, b.items, b.loc, b.m, b.loc.x AS x FROM d a LEFT JOIN d b ON a.id = b.id + 1", ""),
    "null_full_join": ("SELECT a.id, b.id AS j, b.tags, a.loc FROM d a FULL JOIN d b ON a.loc.x = b.loc.x", ""),
    "null_coalesce": ("SELECT id, coalesce(tags, array('none')) AS t, coalesce(loc, named_struct('x', id, 'names', array('n'))) AS s FROM d", ""),
    "null_case": ("SELECT id, CASE WHEN id > 20 THEN tags WHEN id > 10 THEN array('x') END AS t, if(id > 20, loc, NULL) AS s FROM d", ""),
    "null_union": ("SELECT id, tags FROM d UNION ALL SELECT id, array('z') FROM d", ""),
    "null_collect": ("SELECT loc.x AS x, collect_list(loc) AS l, count(loc) AS c, count(tags) AS t, collect_list(tags) AS g FROM d GROUP BY loc.x", ""),
    "null_group_of_elements": ("SELECT i.p AS p, count(*) AS n, count(i) AS c, sum(i.q) AS s FROM d LATERAL VIEW explode(items) e AS i GROUP BY i.p", ""),
    "null_struct_equality": ("SELECT id, i = named_struct('p', 1, 'q', 2) AS e, i <=> NULL AS f, i <> named_struct('p', i.p, 'q', i.q) AS g FROM d LATERAL VIEW explode(items) e AS i", ""),
    "null_struct_group": ("SELECT i, count(*) AS n FROM d LATERAL VIEW explode(items) e AS i GROUP BY i", ""),
    "null_struct_distinct": ("SELECT count(DISTINCT i) AS n, count(i) AS m FROM d LATERAL VIEW explode(items) e AS i", ""),
    "null_array_of_structs": ("SELECT id, array(named_struct('x', id), NULL) AS z, array(id, NULL) AS y FROM d", ""),
    "null_subquery": ("SELECT id FROM d WHERE EXISTS (SELECT 1 FROM explode(tags) AS e(t) WHERE t = 'b')", ""),
}  # fmt: skip

MAPS: dict[str, Texts] = {
    "map_star": ("SELECT id, m, n FROM d", ""),
    "map_lookup": ("SELECT id, m['ab'] AS a, element_at(m, 'b') AS b, try_element_at(m, '') AS c, m['b'] IS NULL AS z FROM d", ""),
    "map_lookup_computed": ("SELECT id, m[concat('a', 'b')] AS a, n[id % 4] AS x FROM d", ""),
    "map_lookup_array": ("SELECT id, n[1] AS a, size(n[2]) AS s FROM d", ""),
    "map_parts": ("SELECT id, map_keys(m) AS k, map_values(m) AS v, map_entries(m) AS e, size(m) AS s, cardinality(n) AS c FROM d", ""),
    "map_contains": ("SELECT id, map_contains_key(m, 'ab') AS a, array_contains(map_keys(m), 'b') AS b FROM d", ""),
    "map_explode": ("SELECT id, k, v FROM d LATERAL VIEW explode(m) e AS k, v", ""),
    "map_explode_outer": ("SELECT id, k, v FROM d LATERAL VIEW explode_outer(m) e AS k, v", ""),
    "map_explode_values": ("SELECT id, k, w FROM d LATERAL VIEW explode(n) e AS k, v LATERAL VIEW explode(v) f AS w", ""),
    "map_group": ("SELECT k, sum(v) AS s, count(*) AS n, max(v) AS x FROM d LATERAL VIEW explode(m) e AS k, v GROUP BY k", ""),
    "map_filter": ("SELECT id, map_filter(m, (k, v) -> v > 0 AND k <> 'b') AS f, transform_values(m, (k, v) -> v + id) AS t FROM d", ""),
    "map_made": ("SELECT id, map('x', id, 'y', loc.x) AS m, map('a', 1, 'b', 2)['b'] AS b FROM d", ""),
    "map_where": ("SELECT id, m FROM d WHERE m['ab'] > 0 OR map_contains_key(n, 3)", ""),
    "map_join": ("SELECT a.id, b.id AS j FROM d a JOIN d b ON a.m['ab'] = b.loc.x", ""),
    "map_aggregate": ("SELECT m['b'] AS b, count(*) AS c, sum(m['ab']) AS s FROM d GROUP BY m['b']", ""),
}  # fmt: skip
