"""What changes in a map that is passed on: every key with its measures before and after.

Of an ordered map, every group with its aggregate before and after. Only what the change touches is read.
"""

from __future__ import annotations

from nestling.calculus.types import INT, nullable
from nestling.engine.spark.aggregates import in_order, ordered
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.relations import total, touched, zero
from nestling.engine.spark.terms import Sql
from nestling.engine.spark.types import sql_type


def event_layout(layout: Layout, aggregate: str) -> Layout:
    """The columns of what changes."""
    if not aggregate:
        return Layout(layout.keys, (*layout.measures, *layout.measures))
    type_ = INT if aggregate == "count_distinct" else nullable(in_order(layout))
    return Layout(layout.keys[:-1], (type_, type_))


def event_sql(layout: Layout, aggregate: str, rows: str, change: str, hint: str) -> str:
    """``change`` of what is stored as ``rows``, as an event sees it."""
    width = len(layout.keys) - bool(aggregate)
    keys = layout.key_names
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
    value, type_ = layout.key_names[-1], in_order(layout)
    old, new = (ordered(aggregate, value, f"{n}0 > 0", type_).text for n in "on")
    selected = ", ".join([*layout.key_names[:-1], f"{old} AS m0", f"{new} AS m1"])
    by = f" GROUP BY {', '.join(layout.key_names[:-1])}" if len(layout.keys) > 1 else ""
    return f"SELECT * FROM (SELECT {selected} FROM ({summed}){by}) WHERE NOT (m0 <=> m1)"
