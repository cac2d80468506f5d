"""Triggers or recomputation: which views a large change recomputes.

Triggers go through the rows of the change, once for each statement: on the driver, which looks up what they meet, or by
Spark, which scans it, since files have no index. Recomputation is a query for each map, which goes through the rows of
the tables that the map is filled from, and writes it. What a row costs either way is measured (``limits``), how many
there are is known. Where the second is less, the maps of the view are computed from the tables as they are then, and
take the place of those that are stored.

Law (9): a view answers the same, whichever way was taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from nestling.engine.spark import limits
from nestling.engine.spark.state import LakeState
from nestling.program.batches import change_of, is_change
from nestling.program.statements import Program
from nestling.program.steps import maps_of, needed, reads, trigger_statements


def recomputed_maps(program: Program, moment: LakeState, changes: Mapping[str, int]) -> frozenset[str]:
    """The maps that are cheaper to recompute after so many rows of tables changed; ``moment`` is before it."""
    found: set[str] = set()
    for view in program.views:
        maps = maps_of(program, view)
        if maps:
            both = costs(program, moment, changes, maps)
            found |= {*maps} if both.recomputation < both.triggers else set()
    return _closed(program, found)


def transaction_rows(program: Program, moment: LakeState) -> int:
    """Rows of a change up to which the driver checks and shreds it: more where Spark would go through more."""
    stored = sum(moment.stored[name].rows for name in program.tables)
    least, most = limits.MAX_TRANSACTION_ROWS, limits.TRANSACTION_FACTOR * limits.MAX_TRANSACTION_ROWS
    return min(max(least, stored // limits.STORED_PER_TRANSACTION_ROW), most)


def recomputed_views(program: Program, maps: Set[str]) -> tuple[str, ...]:
    """The views that are read from recomputed maps alone."""
    by_view = {view: maps_of(program, view) for view in program.views}
    return tuple(view for view, own in by_view.items() if own and set(own) <= maps)


@dataclass(frozen=True)
class Costs:
    """CPU seconds of both ways, about."""

    triggers: float
    recomputation: float


def costs(program: Program, moment: LakeState, changes: Mapping[str, int], maps: Iterable[str]) -> Costs:
    """What it costs to bring ``maps`` up to date after so many rows of tables changed."""
    mine, triggers, again = set(needed(program, sorted(maps))), 0.0, 0.0
    for table, rows in changes.items():
        for statement in trigger_statements(program.triggers[table]):
            if statement.target not in mine:
                continue
            if rows <= limits.MAX_DRIVER_ROWS:
                triggers += rows * limits.DRIVEN_ROW_COST
            else:
                met = sum(moment.stored[s].rows for s in reads(statement) if not is_change(s))
                triggers += rows * limits.CHANGED_ROW_COST + met * limits.MET_ROW_COST
    for name in maps:
        read = sum(moment.stored[table].rows for table in tables_of(program, [name]))
        written = moment.stored[name].rows * limits.WRITTEN_ROW_COST
        again += limits.QUERY_COST + read * limits.RECOMPUTED_ROW_COST + written
    return Costs(triggers / 1e6, again / 1e6)


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
