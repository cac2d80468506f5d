"""Hybrid views: the deferred second half of a batch, in which changes of nested maps are propagated by a reading.

Until then such a map keeps its old contents, and maps that depend on it equal their definitions over these. Its
changes are appended to a relation of their own, stored with the batch; before a reading they are summed, and
propagated once per key.

Law (9): a reading gives the same answer whether changes were propagated at once or deferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nestling.engine.spark.batch import propagate
from nestling.engine.spark.columns import postponed
from nestling.engine.spark.stage import Sink
from nestling.engine.spark.state import Moment
from nestling.program.statements import Program
from nestling.program.steps import waiting

if TYPE_CHECKING:
    from nestling.engine.spark.engine import SparkEngine


def rows_waiting(engine: SparkEngine) -> int:
    """How many deferred rows there are, including those that cancel."""
    return sum(engine.now.stored[postponed(name)].rows for name in engine.program.deferred)


def settle(engine: SparkEngine) -> None:
    """Propagate deferred changes and store the consequences."""
    names = {name: postponed(name) for name in sorted(engine.program.deferred)}
    late = {name: engine.gathered(own) for name, own in names.items() if engine.now.stored[own].rows}
    if late:
        moment, large = engine.after({}, late=late)
        engine.store(moment, {} if engine.durable is None else engine.durable.note, large)


def pass_on(moment: Moment, program: Program, late: Mapping[str, Any], sink: Sink | None) -> None:
    """Propagate the ``late`` changes of maps, inner maps before those that depend on them."""
    collected = {name: [rows] for name, rows in late.items()}
    for action in waiting(program):
        propagate(moment, action, collected, sink)
        moment.empty(postponed(action.map))
