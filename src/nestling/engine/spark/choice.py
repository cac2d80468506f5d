"""Triggers or recomputation: which views a large change recomputes.

Triggers go through the rows of the change, some times over; recomputation goes through the rows of the tables that a
view reads. Where the change has so many rows that the second is less, the maps of the view are computed from the tables
as they are then, and take the place of those that are stored.

Law (9): a view answers the same, whichever way was taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from nestling.engine.spark import limits
from nestling.engine.spark.state import LakeState
from nestling.program.batches import change_of
from nestling.program.statements import Program
from nestling.program.steps import maps_of, needed


def recomputed_maps(program: Program, moment: LakeState, changes: Mapping[str, int]) -> frozenset[str]:
    """The maps that are cheaper to recompute after so many rows of tables changed; ``moment`` is before it."""
    found: set[str] = set()
    for view in program.views:
        maps = maps_of(program, view)
        if maps and is_recomputed(program, moment, changes, maps):
            found |= {*maps}
    return _closed(program, found)


def recomputed_views(program: Program, maps: Set[str]) -> tuple[str, ...]:
    """The views that are read from recomputed maps alone."""
    by_view = {view: maps_of(program, view) for view in program.views}
    return tuple(view for view, own in by_view.items() if own and set(own) <= maps)


def is_recomputed(program: Program, moment: LakeState, changes: Mapping[str, int], maps: list[str]) -> bool:
    """Whether recomputing ``maps`` costs less than their triggers."""
    tables = tables_of(program, maps)
    changed = sum(rows for table, rows in changes.items() if table in tables)
    stored = sum(moment.stored[table].rows for table in tables)
    return changed * limits.CHANGED_ROW_COST > stored + changed


def tables_of(program: Program, maps: list[str]) -> set[str]:
    """The tables whose rows, or changed rows, ``maps`` are kept from."""
    used = set(needed(program, maps))
    return {table for table in program.tables if table in used or change_of(table) in used}


def _closed(program: Program, maps: set[str]) -> frozenset[str]:
    """Those of ``maps`` that no other map is kept from, and that pass nothing on later or log nothing."""
    kept = program.maps.keys() - maps
    while True:
        used = set(needed(program, sorted(kept | program.deferred)))
        logs = {name for name in maps if program.maps[name].role == "watch"}
        back = maps & (used | logs)
        if not back:
            return frozenset(maps)
        maps, kept = maps - back, kept | back
