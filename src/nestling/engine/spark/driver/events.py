"""What changes in a map that is passed on, of rows that are here.

Law: these are the rows of ``event_sql``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.lookup import Found, merged
from nestling.engine.spark.driver.values import ordered_value
from nestling.program.batches import GROUPS

#: Looks into the map, by columns, for keys.
Look = Callable[[Sequence[int], set[Row]], Found]


def event_rows(layout: Layout, aggregate: str, change: Sequence[Row], look: Look) -> list[Row]:
    """Every key of ``change`` with its measures before and after, or every group with its aggregate."""
    width = len(layout.keys)
    if aggregate == GROUPS:
        return [(*group, 1) for group in dict.fromkeys(row[: width - 1] for row in change)]
    if aggregate:
        return _groups(layout, aggregate, change, look)
    before = look(range(width), {row[:width] for row in change})
    nothing = (0,) * len(layout.measures)
    after = {row[:width]: row[width:] for row in merged([*_all(before), *change], layout)}
    found = []
    for key in dict.fromkeys(row[:width] for row in change):
        old = before[key][0][width:] if key in before else nothing
        new = after.get(key, nothing)
        if old != new:
            found.append((*key, *old, *new))
    return found


def _groups(layout: Layout, aggregate: str, change: Sequence[Row], look: Look) -> list[Row]:
    width = len(layout.keys) - 1
    before = look(range(width), {row[:width] for row in change})
    after: Found = {}
    for row in merged([*_all(before), *change], layout):
        after.setdefault(row[:width], []).append(row)
    values = [
        (group, *(ordered_value(aggregate, found.get(group, ())) for found in (before, after)))
        for group in dict.fromkeys(row[:width] for row in change)
    ]
    return [(*group, old, new) for group, old, new in values if old != new]


def _all(found: Found) -> list[Row]:
    return [row for rows in found.values() for row in rows]
