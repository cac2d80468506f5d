"""What ``explain`` says of a view on Spark beside what its program says: what waits, and what is read."""

from __future__ import annotations

from typing import Protocol

from nestling.database.spark.on_read import OnReadView
from nestling.engine.spark.columns import deferred_name
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.lazy import LazyProgram
from nestling.program.steps import maps_of


class Kept(Protocol):
    """How views are kept."""

    @property
    def running(self) -> SparkEngine: ...
    @property
    def lazy_programs(self) -> dict[str, LazyProgram]: ...
    def computed(self, name: str) -> OnReadView | None: ...
    def is_hybrid(self, name: str) -> bool: ...


def notes(state: Kept, name: str) -> list[str]:
    """How a view is kept now."""
    stored, later = state.running.now.stored, state.lazy_programs.get(name)
    if (on_read := state.computed(name)) is not None:
        sizes = ", ".join(f"{table}: {stored[table].rows} rows" for table in on_read.tables)
        return [f"a batch costs it nothing; read from {sizes or 'no table'}"]
    if later is not None:
        kind = "hybrid: updates wait" if state.is_hybrid(name) else "lazy"
        if not later.is_started:
            return [f"{kind}: computed when it is first read"]
        return [f"{kind}: {later.waiting} rows wait, and are run as one batch when it is read"]
    program = state.running.program
    late = [map_ for map_ in maps_of(program, name) if map_ in program.deferred]
    rows = sum(stored[deferred_name(map_)].rows for map_ in late)
    what = f"hybrid: what changes in {', '.join(late)} is passed on when it is read; {rows} rows wait"
    return [what] if late else []
