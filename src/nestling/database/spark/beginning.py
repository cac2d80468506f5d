"""What a change of a database on Spark begins with: whether it may, and from where its work is counted."""

from __future__ import annotations

from nestling.database.spark.state import SparkState
from nestling.engine.spark.jobs import work_done
from nestling.errors import ChangeError


def begin(state: SparkState, is_nested: bool) -> None:
    """A transaction begins; ``is_nested``: within a change that has begun."""
    check_writable(state)
    if not is_nested:
        state.work_before = work_done()


def check_writable(state: SparkState) -> None:
    """Refuse to change a lake that is open for reading only."""
    if state.lake.is_readonly:
        raise ChangeError(
            f"{state.lake.place} is open for reading only",
            hint="change it in the process that writes it; one opened without readonly=True is that",
        )
