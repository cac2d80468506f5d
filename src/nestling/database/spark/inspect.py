"""``stats`` and ``verify`` on Spark: how much is stored for a view, and whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.traverse import relations
from nestling.database.inspect import verify as verify_by_reference
from nestling.database.inspect import wrong_answer
from nestling.database.spark.state import SparkState
from nestling.database.state import computing
from nestling.engine.spark import limits
from nestling.engine.spark.verify import wrong_maps
from nestling.errors import NestlingError
from nestling.program.steps import maps_of, trigger_statements


def stats(state: SparkState, name: str) -> dict[str, Any]:
    """Rows of a view, counted by Spark, stored rows of the maps that serve it, and how many statements keep these.

    ``waiting`` counts the rows that a lazy view had not seen, ``postponed`` has the maps of a hybrid view whose changes
    are passed on when it is read; a lazy view without a value has no ``rows``.
    """
    view = state.views[name]
    waiting = view.engine.waiting if view.engine is not None else 0
    rows = _total(state, name)
    program = state.program_of(name)
    maps = maps_of(program, name)
    statements = {
        table: count
        for table, trigger in program.triggers.items()
        if (count := sum(s.target in maps for s in trigger_statements(trigger)))
    }
    return {
        "rows": rows,
        "maps": {source: state.running.now.stored[source].rows for source in maps},
        "statements": statements,
        "waiting": waiting,
        "postponed": [source for source in maps if source in program.deferred],
        "evaluated_on_read": view.on_read.reason if view.on_read else "",
    }


def _total(state: SparkState, name: str) -> int | None:
    try:
        with computing(name), state.reading(name) as found:
            return found.total(name)
    except NestlingError as error:
        if state.is_without_value(name, error):
            return None
        raise


def verify(state: SparkState, names: Sequence[str], maps: bool) -> None:
    """Few rows are looked at by the reference; of many, Spark computes the maps anew, and compares all at once.

    A view that has no maps, over many rows, is computed by each who reads it: nothing is there to compare.
    """
    suspects: dict[str, set[str]] = {}  # by the view whose program they are of; of most, the same
    for name in names:
        small = _rows_behind(state, name) <= limits.MAX_TRANSACTION_ROWS
        if small:
            verify_by_reference(state, name, maps=False)
        if maps or not small:
            with state.reading(name):  # nothing waits then
                program = name if name in state.views.lazy else ""
            suspects.setdefault(program, set()).update(maps_of(state.program_of(name), name))
    wrong = {
        found
        for view, some in suspects.items()
        for found in wrong_maps(state.running.beside(state.program_of(view)), some)
    }
    for name in names:
        if mine := [source for source in maps_of(state.program_of(name), name) if source in wrong]:
            raise wrong_answer(f"{', '.join(mine)} of {name}")


def _rows_behind(state: SparkState, name: str) -> int:
    """How many rows the tables have that a view is computed from."""
    tables = [state.tables[table] for table in relations(state.definitions[name].query)]
    return sum(state.running.now.stored[flat].rows for table in tables for flat in table.declarations)
