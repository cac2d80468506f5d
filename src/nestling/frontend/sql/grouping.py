"""GROUP BY: expressions, places and aliases of the select list, and grouping sets.

``ROLLUP (a, b)`` is the sets (a, b), (a) and (); ``CUBE`` all subsets; several of them in one clause multiply. A set
yields a row for each group that has rows, so that nothing is grouped of nothing, as in Spark.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from sqlglot import exp

from nestling.frontend.sql.aggregates import calls
from nestling.frontend.sql.context import SqlEnv, only

#: The keys of each grouping set, by their places.
Sets = list[tuple[int, ...]]


def grouping_sets(node: Any, env: SqlEnv) -> tuple[list[Any], Sets | None]:
    """The keys of GROUP BY and its grouping sets; ``None`` where the query makes one group of everything."""
    group = node.args.get("group")
    if group is None:
        return [], None
    only(group, env, "expressions", "rollup", "cube", "grouping_sets", what="GROUP BY")
    keys: list[Any] = []

    def place(part: Any) -> int:
        found = _resolved(part, node, env)
        for i, key in enumerate(keys):
            if key == found:
                return i
        keys.append(found)
        return len(keys) - 1

    parts = [*group.expressions]
    for name in ("rollup", "cube", "grouping_sets"):
        parts += group.args.get(name) or ()
    factors = [_sets(part, place, env) for part in parts]
    sets = [tuple(dict.fromkeys(i for part in chosen for i in part)) for chosen in product(*factors)]
    return keys, sets


def _sets(part: Any, place: Any, env: SqlEnv) -> Sets:
    match part:
        case exp.Rollup():
            units = [tuple(place(key) for key in _unit(unit)) for unit in part.expressions]
            return [sum(units[:n], ()) for n in range(len(units), -1, -1)]
        case exp.Cube():
            units = [tuple(place(key) for key in _unit(unit)) for unit in part.expressions]
            found = [c for n in range(len(units), -1, -1) for c in combinations(units, n)]
            return [sum(chosen, ()) for chosen in found]
        case exp.GroupingSets():
            return [inner for unit in part.expressions for inner in _of_grouping_set(unit, place, env)]
    if isinstance(part, exp.Tuple):
        raise env.error(part, "keys are not grouped in parentheses here", "name them: GROUP BY a, b")
    return [(place(part),)]


def _of_grouping_set(unit: Any, place: Any, env: SqlEnv) -> Sets:
    if isinstance(unit, exp.Rollup | exp.Cube | exp.GroupingSets):
        return _sets(unit, place, env)
    return [tuple(place(key) for key in _unit(unit))]


def _unit(node: Any) -> list[Any]:
    """The keys that stand together in parentheses, or the one that stands alone."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this] if isinstance(node, exp.Paren) else [node]


def _resolved(node: Any, select: Any, env: SqlEnv) -> Any:
    """The expression of a key: a number is a place of the select list."""
    if isinstance(node, exp.Literal) and not node.is_string:
        items, place = select.expressions, int(node.this) if str(node.this).isdigit() else 0
        if not 1 <= place <= len(items):
            raise env.error(node, f"the select list has no item {node.this}", f"it has {len(items)}")
        item = items[place - 1]
        node = item.this if isinstance(item, exp.Alias) else item
    if calls(node):
        raise env.error(node, "an aggregate is no key", "group by a column")
    return node
