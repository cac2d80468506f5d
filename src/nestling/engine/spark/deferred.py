"""Hybrid views: the deferred second half of a batch, in which changes of nested maps are propagated by a reading.

Until then such a map keeps its old contents, and maps that depend on it equal their definitions over these. Its
changes are appended to a relation of their own, stored with the batch; before a reading they are summed, and
propagated once per key.

Law (9): a reading gives the same answer whether changes were propagated at once or deferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.engine.spark.batch import propagate
from nestling.engine.spark.columns import deferred_name
from nestling.engine.spark.stage import Sink
from nestling.engine.spark.state import LakeState
from nestling.program.statements import Program
from nestling.program.steps import waiting


def propagate_deferred(
    moment: LakeState, program: Program, late: Mapping[str, Any], sink: Sink | None
) -> None:
    """Propagate the ``late`` changes of maps, inner maps before those that depend on them."""
    collected = {name: [rows] for name, rows in late.items()}
    for action in waiting(program):
        propagate(moment, action, collected, sink)
        moment.empty(deferred_name(action.map))
