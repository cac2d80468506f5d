"""The events that a commit is applying to the engine, so that they can be undone wherever it is interrupted.

Law (13): after ``undo`` every table and map is in the state before the first event, whatever was raised at whatever
point: an interrupt, a lack of memory, a stack overflow. The opposite event undoes a trigger that ran to its end. After
an interrupted trigger the maps cannot be trusted: the rows are restored one by one, and a new engine computes its maps
from them. ``undo`` only reads the old engine, so it can itself be interrupted and repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from nestling.database.rows import Row, RowEvent
from nestling.database.state import State
from nestling.errors import UNDEFINED, ChangeError
from nestling.values.label import Label

Pairs = list[tuple[Row, int]]


class Journal:
    """The events applied to the engine of ``state`` by one transaction."""

    def __init__(self, state: State, events: list[RowEvent]) -> None:
        self.state, self.events = state, events
        self.applied = 0
        #: Whether a trigger was cut off, or a lazy view told of only some events.
        self.torn = False
        #: Whether its commit has begun; and whether triggers are running.
        self.is_committing = self.is_running = False
        self.before: dict[str, dict[Row, int]] = {}

    def run(self) -> None:
        """Apply the events that the engine does not have yet."""
        self.is_running = True
        for table, group in _groups(self.events[self.applied :] if self.applied else self.events):
            self._note(table, group)
            self._apply(table, group)
        self.is_running = False

    def replace(self, events: Sequence[RowEvent]) -> None:
        """Have other events, of which the engine has none."""
        if self.applied:
            self.undo()
        self.events[:] = events

    def _apply(self, table: str, group: Pairs) -> None:
        engine = self.state.engine
        self.torn = True
        try:
            if len(group) == 1:
                engine.triggers[table](*group[0])
            else:
                engine.batches[table](group)
        except UNDEFINED:
            self._one_by_one(table, group)
        # At once: nothing may come between the two.
        self.torn, self.applied = False, self.applied + len(group)

    def _one_by_one(self, table: str, group: Pairs) -> None:
        """Apply a group that failed row by row, to find out which row no view can follow."""
        self.restore()
        engine = self.state.engine
        for row, times in group:
            self.torn = True
            try:
                engine.triggers[table](row, times)
            except UNDEFINED as error:
                raise unfollowed(table, row, error) from error

    def _note(self, table: str, group: Pairs) -> None:
        """Remember how often rows are there; of a row with a key, its first event tells."""
        before = self.before.setdefault(table, {})
        if self.state.engine.program.tables[table].key:
            for row, times in group:
                before.setdefault(row, 0 if times > 0 else 1)
            return
        stored = self.state.engine.counts(table)
        if before:
            for row, _ in group:
                before.setdefault(row, stored.get(row, 0))
        else:
            before.update([(row, stored.get(row, 0)) for row, _ in group])

    def undo(self) -> None:
        """Take back what was applied."""
        if not self.torn:
            self.torn = True
            try:
                for table, group in _groups(self.events[: self.applied][::-1]):
                    self.state.engine.batches[table]([(row, -times) for row, times in group])
                self.state.engine.drain_all()
            except UNDEFINED:
                self.restore(0)
        else:
            self.restore(0)
        self.applied, self.torn, self.is_running = 0, False, False

    def restore(self, applied: int | None = None) -> None:
        """A new engine, from the rows as they were before all events, that has ``applied`` of them again."""
        self.state.restore(self.before)
        for event in self.events[: self.applied if applied is None else applied]:
            self.state.engine.apply(*event)


def _groups(events: Sequence[RowEvent]) -> Iterator[tuple[str, Pairs]]:
    """Events of one table that follow each other, together."""
    if len(events) == 1:
        table, row, times = events[0]
        yield table, [(row, times)]
        return
    for table, group in groupby(events, itemgetter(0)):
        yield table, [(row, times) for _, row, times in group]


def unfollowed(table: str, row: Row, error: Exception) -> ChangeError:
    """The refusal of a row after which a view has no value."""
    columns = tuple(value for value in row if not isinstance(value, Label))
    return ChangeError(
        f"a view cannot be computed for {columns[0] if len(columns) == 1 else columns!r} of {table}: {error}",
        hint="exclude the value in the view, or do not insert it",
    )
