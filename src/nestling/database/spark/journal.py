"""One change on Spark: the state after it is made beside the one that is stored, and looked at before it is stored.

Law (13): until it is stored, no other thread sees the state after it; and what is refused leaves nothing. Whatever else
is raised leaves folder and memory in doubt, and whoever enters next reads the folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nestling.database.journal import rows_by_table
from nestling.database.rows import RowEvent
from nestling.database.spark.opened import computable
from nestling.database.spark.patient import are_updates
from nestling.database.spark.state import SparkState
from nestling.engine.protocol import batch_of
from nestling.engine.spark.batch import size
from nestling.engine.spark.jobs import work_done
from nestling.engine.spark.state import LakeState, TempView


class LakeJournal:
    """The change of one transaction, or the rows of a large one: in ``files``, or as Arrow tables if they are few."""

    def __init__(
        self,
        state: SparkState,
        events: list[RowEvent] | None = None,
        files: Mapping[str, Any] | None = None,
    ) -> None:
        self.state, self.events, self.files = state, [] if events is None else events, files
        self.applied = 0
        self.torn = self.is_committing = self.is_running = False
        self.recomputed: tuple[str, ...] = ()
        self.derived: Sequence[RowEvent] = ()  # there are no recursions on Spark
        #: The state after it, and whether what was added is in files.
        self._after: tuple[LakeState, bool] | None = None

    @property
    def spent(self) -> tuple[int, int]:
        """Queries and bytes of this thread since the change began."""
        (queries, size), (before, written) = work_done(), self.state.work_before
        return max(0, queries - before), max(0, size - written)  # another thread may end what was cut off

    @property
    def tables(self) -> Mapping[str, int]:
        """How many rows of each flat table it changes."""
        if self.files is None:
            return rows_by_table(self.events)
        return {name: size(part) for name, part in self.files.items()}

    def replace(self, events: Sequence[RowEvent]) -> None:
        """Have other events."""
        self.events[:] = events

    def run(self) -> None:
        """Make the state after it, which this thread sees from now on."""
        state, engine = self.state, self.state.running
        state.logged, state.differing = {}, {}
        if not self.tables:
            return
        self.is_running = True
        with state.lake.doubting(), computable():
            state.coming = (state.stored_version + 1, now())
            before, changes = engine.now, self.files or engine.tables_of(batch_of(self.events))
            is_large = any(isinstance(part, TempView) for part in changes.values())
            self._after = engine.after(changes, large=is_large)
            self.recomputed = engine.recomputed
            engine.snapshots.try_on(self._after[0])
            state.take(self._after[0], before)
            state.has_moved = self.files is not None or not are_updates(self.events, engine.program.tables)
        self.is_running = False

    def store(self, note: Mapping[str, Any]) -> None:
        """Store it: it survives whatever happens next once this returns."""
        assert self._after is not None
        with self.state.lake.doubting():
            self.applied = 1
            self.state.running.store(self._after[0], note, self._after[1])

    def undo(self) -> None:
        """See what is stored; where that may have it, the folder is read again."""
        engine = self.state.running
        engine.snapshots.take_off()
        if self.applied:
            self.state.lake.is_ahead = True
        elif self._after is not None:
            self._after[0].drop_views(engine.now)
        self._after, self.torn, self.is_running = None, False, False

    def restore(self) -> None:
        """Nothing was changed in place."""


def now() -> datetime:
    """The time that is stored with a change."""
    return datetime.now(UTC).replace(tzinfo=None)
