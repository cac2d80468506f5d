"""References on Spark: the children of parents that go are looked up by what they refer to."""

from __future__ import annotations

from collections.abc import Sequence

from nestling.database.references import References, referred
from nestling.database.rows import Event
from nestling.database.spark.state import SparkState


class SparkReferences(References):
    """Nothing is counted and kept: the rows that refer to a few keys are found by one query per table.

    Law: as embedded, by the state at the end of a change. Here that is what the transaction sees, before it is run.
    """

    @property
    def state(self) -> SparkState:
        state = super().state
        assert isinstance(state, SparkState)
        return state

    def check(self, events: Sequence[Event]) -> None:
        buffer = self.state.buffer
        for parent, keys in self._gone(events).items():
            for child, columns in self._sites(parent):
                buffer.fetch(child, columns, keys)
                for key in keys:
                    if buffer.having(child, columns, key):
                        raise referred(parent, key, child)
