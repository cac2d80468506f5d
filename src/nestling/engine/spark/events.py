"""The change of a map that is propagated: every changed key with its old and new measures.

For an ordered map, every changed group with its old and new aggregate. Only entries that the change touches are
read.
"""

from __future__ import annotations

from nestling.engine.spark.aggregates import ordered, ordered_type, taken
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import total, touched, zero
from nestling.engine.spark.terms import Sql
from nestling.engine.spark.types import sql_type
from nestling.program.batches import GROUPS


def event_layout(layout: Layout, aggregate: str) -> Layout:
    """The columns of such a change."""
    if not aggregate:
        return Layout(layout.keys, (*layout.measures, *layout.measures), positive=False)
    if aggregate == GROUPS:
        return Layout(layout.keys[:-1])
    type_ = ordered_type(aggregate, layout)
    return Layout(layout.keys[:-1], (type_, type_))


def event_sql(layout: Layout, aggregate: str, rows: str, change: str, hint: str) -> str:
    """``change`` of what is stored as ``rows``, as an event sees it."""
    width = len(layout.keys) - bool(aggregate)
    keys = layout.key_names
    if aggregate == GROUPS:
        return f"SELECT DISTINCT {', '.join([*keys[:-1], '1L AS m0'])} FROM {change}"
    # A key may be in it several times: that is no harm to a semi-join, and to find it out would be a shuffle.
    groups = f"(SELECT {', '.join(f'k{i} AS g{i}' for i in range(width))} FROM {change})"
    if width:
        pairs = [(Sql(f"a.k{i}", layout.keys[i]), Sql(f"d.g{i}", layout.keys[i])) for i in range(width)]
        rows = touched(rows, groups, pairs, hint)
    measures = list(enumerate(layout.measures))
    before = [*keys, *(f"m{i} AS o{i}" for i, _ in measures), *(f"{zero(t)} AS d{i}" for i, t in measures)]
    after = [*keys, *(f"{zero(t)} AS o{i}" for i, t in measures), *(f"m{i} AS d{i}" for i, _ in measures)]
    both = f"SELECT {', '.join(before)} FROM ({rows}) UNION ALL SELECT {', '.join(after)} FROM {change}"
    sums = [f"{total(f'o{i}', t)} AS o{i}" for i, t in measures]
    sums += [f"CAST({total(f'o{i}', t)} + {total(f'd{i}', t)} AS {sql_type(t)}) AS n{i}" for i, t in measures]
    summed = f"SELECT {', '.join([*keys, *sums])} FROM ({both})"
    summed += f" GROUP BY {', '.join(keys)}" if keys else " HAVING count(*) > 0"
    return _groups(layout, aggregate, summed) if aggregate else _cells(layout, summed)


def _cells(layout: Layout, summed: str) -> str:
    def cleaned(name: str) -> list[str]:
        if not layout.positive:
            return [f"{name}{i}" for i in range(len(layout.measures))]
        rest = [
            f"CASE WHEN {name}0 = 0 THEN {zero(t)} ELSE {name}{i} END"
            for i, t in enumerate(layout.measures)
            if i
        ]
        return [f"{name}0", *rest]

    measures = [f"{text} AS m{i}" for i, text in enumerate((*cleaned("o"), *cleaned("n")))]
    changed = " OR ".join(f"o{i} <> n{i}" for i in range(len(layout.measures)))
    return f"SELECT {', '.join([*layout.key_names, *measures])} FROM ({summed}) WHERE {changed}"


def _groups(layout: Layout, aggregate: str, summed: str) -> str:
    *group, value = layout.key_names
    old, new = (ordered(aggregate, value, count) for count in ("o0", "n0"))
    selected = ", ".join([*group, f"{old} AS m0", f"{new} AS m1"])
    by = f" GROUP BY {', '.join(group)}" if group else ""
    rows = taken(aggregate, summed, layout, ("o0", "n0"))
    return f"SELECT * FROM (SELECT {selected} FROM ({rows}){by}) WHERE NOT (m0 <=> m1)"
