"""Changes and snapshots of which all rows come here: Arrow compares them with what is stored, and no query is compiled.

Law: what flat tables get is what ``Large`` finds by queries, and nothing where these would refuse something.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from nestling.database.definitions import TableDef
from nestling.database.spark.frame_changes import check_batch
from nestling.database.spark.keyed import is_flat_by_key
from nestling.database.spark.keyed_here import is_right, unlike
from nestling.database.spark.rows_here import Here, rows_here, shredded, width_of
from nestling.engine.spark import limits
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.state import LakeState, TempView, arrow_frame, unregistered


class Keeping(Protocol):
    """A large change: the state before it, and what is added to flat tables."""

    engine: SparkEngine
    session: Any
    then: LakeState
    here: dict[str, Any]

    def keep(self, name: str, rows: TempView) -> None:
        """Add rows to a flat table."""


def apply_here(large: Keeping, table: TableDef, frame: Any, sign: int, width: float | None) -> bool:
    """Apply the rows of a DataFrame, if they may all come here and nothing is wrong with them."""
    if table.append_only or not is_flat_by_key(table):
        return False
    check_batch(frame)
    rows = rows_here(frame, width)
    here = None if rows is None else shredded(table, rows, sign)
    if here is None or not is_right(large.engine, large.then, table, here):
        return False
    _add(large, here)
    return True


def sync_here(large: Keeping, table: TableDef, frame: Any) -> bool:
    """Apply what differs between ``table`` and the rows of a DataFrame, if all rows of both may come here."""
    if table.append_only or not is_flat_by_key(table):
        return False
    stored = [large.then.stored[name].rows for name in table.declarations]
    if sum(stored) > limits.MAX_COLLECTED_ROWS or stored[0] > limits.MAX_FETCHED_ROWS:
        return False
    rows = rows_here(frame, width_of(frame))
    here = None if rows is None else shredded(table, rows, 1)
    found = None if here is None else unlike(large.engine, large.then, table, here)
    if found is None:
        return False
    _add(large, found)
    return True


def _add(large: Keeping, here: Here) -> None:
    for name, part in here.items():
        if part.num_rows:
            large.keep(name, unregistered(partial(arrow_frame, large.session, part), part.num_rows, ()))
            large.here[name] = part
