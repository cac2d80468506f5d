"""The journal of rows that a door took, all of them or none: events are made of them for who asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nestling.database.journal import RowJournal
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.engine.protocol import RowEngine
from nestling.engine.runs import Run
from nestling.errors import UNDEFINED

if TYPE_CHECKING:
    from nestling.engine.native.engine import NativeEngine


class Entrance(Protocol):
    """What takes the rows of one table into its engine."""

    engine: Any

    @property
    def accept(self) -> Any:
        """``accept(rows, times, taken)``: how many rows of a list, or of a stream of Arrow, came (1) or went (-1): all
        of them, which the list ``taken`` has then. None where they are for others, and nothing was done. What it raises
        is either undone in the tables, or ``taken`` says how they were."""

    def by_key(self, key: Any) -> Row | None:
        """The row with this key, of one column."""

    def runs(self, taken: list[Any], times: int) -> list[Run]:
        """The rows that were taken, in the order in which they were run."""

    def before(self, taken: list[Any], times: int) -> dict[str, dict[Row, int]]:
        """How often they were there before, by flat table."""


class NativeEntrance:
    """The rows of ``table`` into a native engine, through its door of this ``number``."""

    def __init__(self, engine: NativeEngine, table: str, number: int) -> None:
        self.engine, self.table, self.number = engine, table, number
        self.accept = engine.accepting(number, table)

    def by_key(self, key: Any) -> Row | None:
        return self.engine.by_key(self.table, (key,))

    def runs(self, taken: list[Any], times: int) -> list[Run]:
        return [Run(self.table, [(row, times) for row in self._rows(taken)])] if taken else []

    def _rows(self, taken: list[Any]) -> tuple[Row, ...]:
        found = taken[0] = self.engine.taken(self.number, taken[0])
        return found

    def before(self, taken: list[Any], times: int) -> dict[str, dict[Row, int]]:
        """The rows are there, or all of them are not: what fails leaves the tables as they were."""
        found: dict[Row, int] = {}
        for row in self._rows(taken) if taken else ():
            found[row] = found.get(row, self.engine.count(self.table, row)) - times
        return {self.table: found}


class TakenRows(RowJournal):
    """The rows that a door took: none, or all of them."""

    is_committing = is_running = torn = True

    def __init__(self, state: RowState, entrance: Entrance, times: int) -> None:
        self.state, self.entrance, self.times = state, entrance, times
        self.applied, self.done = 0, []
        #: What the entrance notes of the rows before they are run.
        self.given: list[Any] = []
        self._was_undone = False
        self._before: dict[str, dict[Row, int]] | None = None

    @property
    def taken(self) -> list[Run]:
        return self.entrance.runs(self.given, self.times)

    @property
    def events(self) -> Sequence[RowEvent]:  # type: ignore[override]  # made when it is asked for
        return TakenEvents(self)

    @property
    def tables(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for run in self.taken:
            found[run.table] = found.get(run.table, 0) + len(run.pairs)
        return found

    def run(self) -> None:
        """The engine has them already, unless they were undone."""
        if self._was_undone:
            for run in self.taken:
                run.apply(self.state.engine)
        self.is_running = False

    def undo(self) -> None:
        """Run the opposite; where something was cut off, compute the maps anew from the rows as they were."""
        if self._before is None:
            self._before = self.entrance.before(self.given, self.times)
        is_torn, self.torn, self._was_undone = self.torn, True, True
        engine: RowEngine = self.entrance.engine
        if is_torn or self.state.engine is not engine:
            self.state.restore(self._before)
            return
        try:
            for run in reversed(self.taken):
                run.undo(engine)
            engine.drain_all()
        except UNDEFINED:
            self.state.restore(self._before)

    def restore(self, applied: int | None = None) -> None:
        self.undo()


class TakenEvents(Sequence[RowEvent]):
    """The rows of a journal as events, made when somebody goes through them: most who follow changes do not."""

    def __init__(self, journal: TakenRows) -> None:
        self._journal = journal

    def __len__(self) -> int:
        return sum(self._journal.tables.values())

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at]

    def __iter__(self) -> Iterator[RowEvent]:
        return iter(
            [RowEvent(run.table, row, times) for run in self._journal.taken for row, times in run.pairs]
        )
