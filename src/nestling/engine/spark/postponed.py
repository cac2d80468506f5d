"""The second half of a batch, later: the changes of nested maps that wait until somebody reads.

Until they are passed on, such a map is as it was, and all that reads it equals its definition with it as it was. What
changed in it is added to a relation of its own, which is stored with the batch; before a reading it is summed, and
passed on once for each key.

Law (9): when a view is read, it answers the same whether changes were passed on at once or have waited.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.engine.spark.batch import propagate
from nestling.engine.spark.columns import postponed
from nestling.engine.spark.stage import Sink
from nestling.engine.spark.state import Moment
from nestling.program.statements import Program
from nestling.program.steps import waiting


def pass_on(moment: Moment, program: Program, late: Mapping[str, Any], sink: Sink | None) -> None:
    """Pass on the changes of maps that were ``late``, inner maps before those that read them."""
    collected = {name: [rows] for name, rows in late.items()}
    for action in waiting(program):
        propagate(moment, action, collected, sink)
        moment.empty(postponed(action.map))
