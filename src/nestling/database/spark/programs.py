"""Opening the engines of a database on Spark over its lake.

Eager and hybrid views share one program. A lazy view has its own, which a reading runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from dataclasses import replace
from typing import Any

from nestling.database.definitions import ViewDef
from nestling.database.maps import map_name
from nestling.database.spark.watching import feed_layout, feed_name
from nestling.database.state import Defined, guard_of
from nestling.engine.spark.arriving import Arriving, nothing_arrives
from nestling.engine.spark.columns import DEFERRED, deferred_name, layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.lazy import LazyProgram, lazy_layouts, pending_names
from nestling.engine.spark.support import check_program
from nestling.errors import QueryError
from nestling.program.statements import Program
from nestling.storage.lake import Lake
from nestling.transform.viewlet import compile_batches, fill
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.defer import deferred
from nestling.transform.viewlet.storing import Store


def open_programs(
    state: Defined,
    spark: Any,
    lake: Lake,
    arriving: Arriving = nothing_arrives,
    anew: Collection[str] = (),
) -> tuple[SparkEngine, dict[str, LazyProgram]]:
    """Open the engine that maintains all eager and hybrid views, and one deferred program per lazy view.

    Of lazy views that begin ``anew`` nothing is stored.
    """
    program = program_of(state, state.views.shared)
    later: dict[str, Program] = {}
    for name in state.views.lazy:
        taken = [map_ for other in (program, *later.values()) for map_ in other.maps]
        later[name] = program_of(state, [name], taken)
    kept = {
        feed_name(level): feed_layout(level)
        for name in state.views.feeds
        for level in state.views.watched[name]
    }
    keys = {name: f"table {name}" for name in program.tables} | map_keys(program)
    keys |= {name: name.replace("·", "", 1) for name in kept}
    there = lake.manifest.relations
    for name, own in later.items():
        kept |= lazy_layouts(name, own)
        keys |= {n: key for n, key in lazy_keys(name, own).items() if key in there and name not in anew}
    engine = SparkEngine(program, spark, lake, keys, kept, filling, arriving)
    return engine, {name: LazyProgram(name, own, engine, lazy_keys(name, own)) for name, own in later.items()}


def program_of(state: Defined, views: Iterable[str], taken: Iterable[str] = ()) -> Program:
    """The program of some views."""
    flat = {name: state.views.maintained[name] for name in views}
    store = {name: knob(state.definitions[name]) for name in flat}
    logs = {level.name: level.query for name in flat for level in state.views.watched.get(name, ())}
    # A guard is kept, so that to look at it is no work; it seldom has a row.
    guards = {guard_of(name): guard for name, guard in state.views.guards.items() if name in flat}
    full: dict[str, Store] = dict.fromkeys(guards, "full")
    program = compile_batches(state.declarations(), flat | guards, logs, store | full, taken)
    return replace(program, deferred=deferred(program, state.views.hybrid & flat.keys()))


def filling(program: Program, maps: Set[str]) -> Program | None:
    """The program that fills ``maps`` from the tables, if there is one that Spark can run."""
    own = replace(program, maps={name: decl for name, decl in program.maps.items() if name in maps})
    try:
        found = fill(own, sorted(maps), program.maps)
        check_program(found, layouts(found))
    except (CannotCompile, QueryError):
        return None
    return found


def knob(view: ViewDef) -> Store:
    """The materialisation knob of a view.

    ``"auto"`` stores what the view is read from, and reads its tables to find what a change meets. A map of partners
    would be written anew with every change and when the view is made, and Spark, which has no index, would scan it as
    it scans a table.
    """
    store: Store = view.store  # type: ignore[assignment]  # "none" is refused before
    return "counts" if store == "auto" else store


def map_keys(program: Program) -> dict[str, str]:
    """The lake relation of every map and of its deferred changes. Change logs are not stored."""
    maps = {name: map_name(decl) for name, decl in program.maps.items() if decl.role != "watch"}
    return maps | {deferred_name(name): f"{DEFERRED}{maps[name]}" for name in program.deferred}


def lazy_keys(view: str, program: Program) -> dict[str, str]:
    """``map_keys`` for a lazy view, including the relations of its pending rows."""
    maps = {name: f"{key} of {view}" for name, key in map_keys(program).items()}
    return maps | {name: f"table {name}" for name in pending_names(view, program).values()}
