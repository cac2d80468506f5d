"""What is stored for a view on Spark: how much, and whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nestling.calculus.traverse import relations
from nestling.database.inspect import verify as verify_by_reference
from nestling.database.inspect import wrong_answer
from nestling.database.spark import arriving
from nestling.database.state import computing
from nestling.engine.spark.verify import wrong_maps
from nestling.program.steps import maps_of, trigger_statements

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


def stats(state: SparkState, name: str) -> dict[str, Any]:
    """Rows of a view, counted by Spark, stored rows of the maps that serve it, and how many statements keep these."""
    with computing(name), state.reading(name) as found:
        rows = found.total(name)
    program = state.running.program
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
        "waiting": 0,
        "evaluated_on_read": state.reasons.get(name, ""),
    }


def verify(state: SparkState, names: Sequence[str], maps: bool) -> None:
    """Few rows are looked at by the reference; of many, Spark computes the maps anew, and compares all at once.

    A view that has no maps, over many rows, is computed by each who reads it: nothing is there to compare.
    """
    program, suspects = state.running.program, set[str]()
    for name in names:
        small = _rows_behind(state, name) <= arriving.FEW
        if small:
            verify_by_reference(state, name, maps=False)
        if maps or not small:
            suspects |= {*maps_of(program, name)}
    wrong = wrong_maps(state.running, suspects)
    for name in names:
        if mine := [source for source in maps_of(program, name) if source in wrong]:
            raise wrong_answer(f"{', '.join(mine)} of {name}")


def _rows_behind(state: SparkState, name: str) -> int:
    """How many rows the tables have that a view is computed from."""
    tables = [state.tables[table] for table in relations(state.views[name].query)]
    return sum(state.running.now.stored[flat].rows for table in tables for flat in table.declarations)
