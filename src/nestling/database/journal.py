"""The events that a commit is applying to the engine, so that they can be undone wherever it is interrupted.

Law (13): after ``undo`` every table and map is in the state before the first event, whatever was raised at whatever
point: an interrupt, a lack of memory, a stack overflow. The opposite event undoes a trigger that ran to its end. After
an interrupted trigger the maps cannot be trusted: the rows are restored one by one, and a new engine computes its maps
from them. ``undo`` only reads the old engine, so it can itself be interrupted and repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.engine.runs import Run, goes, replaces, runs
from nestling.errors import UNDEFINED, ChangeError, brief
from nestling.program.statements import TableDecl
from nestling.progress import say
from nestling.values.label import Label


class Journal(Protocol):
    """One change that an engine is being given."""

    #: How many of the events the engine has.
    applied: int
    #: Whether it was cut off where the engine cannot be trusted.
    torn: bool
    #: Whether its commit has begun; and whether the engine is running it.
    is_committing: bool
    is_running: bool
    #: The views that were recomputed, since that cost less than their triggers.
    recomputed: tuple[str, ...]

    #: What follows from them: the rows of recursions that come and go.
    derived: Sequence[RowEvent]

    @property
    def spent(self) -> tuple[int, int]:
        """Queries that it had Spark run, and bytes that were written for it to a lake."""

    @property
    def events(self) -> Sequence[RowEvent]:
        """The rows that come and go."""

    @property
    def tables(self) -> Mapping[str, int]:
        """How many rows of each flat table it changes."""

    def replace(self, events: Sequence[RowEvent]) -> None:
        """Have other events, of which the engine has none."""

    def run(self) -> None:
        """Bring the engine to the state after the change."""

    def undo(self) -> None:
        """Bring it to the state before."""

    def restore(self) -> None:
        """Bring it to where it was, after something was cut off."""


#: How a journal is made, of a state and the events of a transaction.
Journals: TypeAlias = Callable[[Any, list[RowEvent]], Journal]


class RowJournal:
    """The events applied to the engine of ``state`` by one transaction, row by row, in place."""

    recomputed: tuple[str, ...] = ()
    spent = (0, 0)
    derived: Sequence[RowEvent] = ()

    def __init__(self, state: RowState, events: list[RowEvent], is_replayed: bool = False) -> None:
        self.state, self.events = state, events
        #: Whether the events are those of a log, which has what follows from them.
        self.is_replayed = is_replayed
        #: How many of the events the engine has, and by which runs.
        self.applied = 0
        self.done: list[Run] = []
        #: Whether a trigger was cut off, or a lazy view told of only some events.
        self.torn = False
        #: Whether its commit has begun; and whether triggers are running.
        self.is_committing = self.is_running = False
        self.before: dict[str, dict[Row, int]] = {}

    @property
    def tables(self) -> Mapping[str, int]:
        """How many rows of each flat table it changes."""
        return rows_by_table([*self.events, *self.derived] if self.derived else self.events)

    def run(self) -> None:
        """Apply the events that the engine does not have yet.

        If a row went for a reading that others referred to, and the transaction goes on, these are yet to be deleted:
        then all is run anew, children first.
        """
        if len(self.events) == 1 and not self.applied:
            self.is_running = True
            ((table, row, times),) = self.events
            self._step(Run(table, [(row, times)]))
            self._follow()
            self.applied, self.is_running = 1, False
            return
        tables = self.state.engine.program.tables
        if (event := replaces(self.events, tables)) is not None:
            raise replaced(*event[:2], tables[event[0]])
        self.is_running = True
        if self.applied and self.applied < len(self.events) and any(goes(run, tables) for run in self.done):
            self.undo()
            self.is_running = True
        for run in runs(self.events[self.applied :] if self.applied else self.events, tables):
            say(f"{len(run.pairs):,} rows of {run.table}, and the views")
            self._step(run)
        self._follow()
        self.applied = len(self.events)
        self.is_running = False

    def _follow(self) -> None:
        """Apply what follows from the events that the engine did not have yet."""
        if not self.state.recursions or self.is_replayed:
            return
        events = self.events[self.applied :]
        for recursion in self.state.recursions.values():
            found = recursion.follow(self.state.engine.table, events, self.applied > 0)
            if found:
                self._step(Run(recursion.name, [(row, times) for _, row, times in found]))
                events += [RowEvent(*event) for event in found]
        self.derived = [*self.derived, *events[len(self.events) - self.applied :]]

    def replace(self, events: Sequence[RowEvent]) -> None:
        """Have other events, of which the engine has none."""
        if self.applied:
            self.undo()
        self.events[:] = events

    def _step(self, run: Run) -> None:
        self._note(run)
        self.torn = True
        try:
            run.apply(self.state.engine)
        except UNDEFINED:
            self._one_by_one(run)
        self.done.append(run)
        self.torn = False

    def _one_by_one(self, run: Run) -> None:
        """Apply a run that failed row by row, to find out which row no view can follow."""
        self.restore()
        for pair in run.pairs:
            self.torn = True
            try:
                Run(run.table, [pair], run.updates).apply(self.state.engine)
            except UNDEFINED as error:
                raise unfollowed(run.table, pair[1] if run.updates else pair[0], error) from error

    def _note(self, run: Run) -> None:
        """Remember how often rows are there; of a row with a key, its first event tells."""
        table = run.table
        before = self.before.setdefault(table, {})
        if run.updates:
            for old, new in run.pairs:
                before.setdefault(old, 1)
                before.setdefault(new, 0)
            return
        if self.state.engine.program.tables[table].key:
            for row, times in run.pairs:
                before.setdefault(row, 0 if times > 0 else 1)
            return
        stored = self.state.engine.counts(table)
        if before:
            for row, _ in run.pairs:
                before.setdefault(row, stored.get(row, 0))
        else:
            before.update([(row, stored.get(row, 0)) for row, _ in run.pairs])

    def undo(self) -> None:
        """Take back what was applied."""
        for recursion in self.state.recursions.values():
            recursion.undo()
        if not self.torn:
            self.torn = True
            try:
                for run in reversed(self.done):
                    run.undo(self.state.engine)
                self.state.engine.drain_all()
            except UNDEFINED:
                self.restore(0)
        else:
            self.restore(0)
        self.done, self.derived, self.applied, self.torn, self.is_running = [], (), 0, False, False

    def restore(self, applied: int | None = None) -> None:
        """A new engine, from the rows as they were before all events; it has those that were done, or none, again."""
        self.state.restore(self.before)
        for run in self.done if applied is None else ():
            run.apply(self.state.engine)


def rows_by_table(events: Sequence[RowEvent]) -> dict[str, int]:
    """How many events each table has."""
    found: dict[str, int] = {}
    for table, _, _ in events:
        found[table] = found.get(table, 0) + 1
    return found


def replaced(table: str, row: Row, decl: TableDecl) -> ChangeError:
    """The refusal of a row that has other fixed columns than the one whose key it takes."""
    names = ", ".join(decl.columns[i].name.removeprefix(f"{table}.") for i in sorted(decl.fixed))
    key = tuple(row[i] for i in decl.key)
    return ChangeError(
        f"{names} of the row with key {brief(key[0] if len(key) == 1 else key)} of {table} cannot change",
        hint="delete the row in one transaction and insert the other in the next",
    )


def unfollowed(table: str, row: Row, error: Exception) -> ChangeError:
    """The refusal of a row after which a view has no value."""
    columns = tuple(value for value in row if not isinstance(value, Label))
    return ChangeError(
        f"a view cannot be computed for {columns[0] if len(columns) == 1 else columns!r} of {table}: {error}",
        hint="exclude the value in the view, or do not insert it",
    )
