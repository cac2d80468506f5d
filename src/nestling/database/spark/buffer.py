"""The rows that a transaction looks at: those that are stored, with its own changes.

A transaction checks and changes rows one by one; Spark finds many at once. So what a change will look at is fetched
before it, in one query, and what it does is kept here until it is committed as one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nestling.database.rows import Event, Row
from nestling.engine.spark.engine import SparkEngine
from nestling.program.statements import Program, TableDecl
from nestling.values.label import Label

if TYPE_CHECKING:
    from nestling.database.transaction import Transaction

Counts = dict[Row, int]

#: Events were being looked at when something was raised.
TORN = 1 << 62


class Buffer:
    """What an engine does for a transaction, on rows that were fetched."""

    is_torn = False

    def __init__(self, engine: SparkEngine) -> None:
        self.stored = engine
        self._change: Transaction | None = None
        self._clear()

    def _clear(self) -> None:
        self._seen = 0
        self._last: Event | None = None
        self._pending: dict[str, Counts] = {}
        self._slices: dict[tuple[str, tuple[int, ...]], dict[Row, Counts]] = {}

    @property
    def program(self) -> Program:
        return self.stored.program

    def begin(self, change: Transaction | None) -> None:
        """Serve ``change`` from now on, until it is over."""
        self._change = change
        self._clear()

    def clear(self) -> None:
        """Forget all."""
        self.begin(None)

    @property
    def events(self) -> Sequence[Event]:
        """What the transaction has done so far: all else here follows from it."""
        return () if self._change is None or self._change.is_over else self._change.events

    # -- what is there

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""
        return next(iter(self._slice(table, self._decl(table).key, key)), None)

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""
        self._catch_up()
        places = self._decl(table).key or tuple(range(len(row)))
        if "." in table and row[:1] in self._slices.get((table, (0,)), {}):
            places = (0,)  # the whole bag is here already
        return self._slice(table, places, tuple(row[i] for i in places)).get(row, 0)

    def under(self, dictionary: str, label: Label) -> Counts:
        """The rows of an inner bag of a table, without their label."""
        return {row[1:]: n for row, n in self._slice(dictionary, (0,), (label,)).items()}

    def table(self, name: str) -> Counts:
        """All rows of a table."""
        self._catch_up()
        rows = self.stored.table(name)
        for row, times in self._pending.get(name, {}).items():
            _add(rows, row, times)
        return rows

    def _decl(self, table: str) -> TableDecl:
        return self.program.tables[table]

    def having(self, table: str, places: tuple[int, ...], part: Row) -> Counts:
        """The rows that have ``part`` at ``places``."""
        return self._slice(table, places, part)

    def _slice(self, table: str, places: tuple[int, ...], part: Row) -> Counts:
        self._catch_up()
        known = self._slices.setdefault((table, places), {})
        if part not in known:
            self.fetch(table, places, [part])
        return known[part]

    def fetch(self, table: str, places: tuple[int, ...], parts: Iterable[Row]) -> None:
        """Find the rows that have one of ``parts`` at ``places``, all in one query."""
        self._catch_up()
        known = self._slices.setdefault((table, places), {})
        wanted = {part: None for part in parts if part not in known}
        if not wanted:
            return
        found: dict[Row, Counts] = {part: {} for part in wanted}
        for entry in self.stored.matching(table, places, list(wanted)):
            found[tuple(entry[i] for i in places)][entry[:-1]] = entry[-1]
        for row, times in self._pending.get(table, {}).items():
            part = tuple(row[i] for i in places)
            if part in found:
                _add(found[part], row, times)
        known |= found

    # -- changes

    def note(self, events: Sequence[Event]) -> None:
        """The transaction goes on with ``events``: they are looked at when somebody asks."""

    def forget(self, events: Sequence[Event]) -> None:
        """The transaction has taken back its last ``events``."""
        if self._seen > len(self.events):
            self._run(
                [
                    (table, row, -times)
                    for table, row, times in reversed(events[: self._seen - len(self.events)])
                ]
            )

    def _catch_up(self) -> None:
        """See all that the transaction has done."""
        events = self.events
        is_same = self._seen <= len(events) and (not self._seen or events[self._seen - 1] is self._last)
        if self._change is None or self._change.is_over or not is_same:
            self._clear()  # what is stored may be another by now, or something was raised half-way
        if self._seen < len(events):
            self._run(events[self._seen :])

    def _run(self, events: Sequence[tuple[str, Row, int]]) -> None:
        self._seen = TORN  # whatever is raised here, all is computed anew
        for table, row, times in events:
            self._apply(table, row, times)
        self._seen = len(self.events)
        self._last = self.events[-1] if self._seen else None

    def _apply(self, table: str, row: Row, times: int) -> None:
        _add(self._pending.setdefault(table, {}), row, times)
        for (name, places), slices in self._slices.items():
            part = tuple(row[i] for i in places) if name == table else None
            if part is not None and part in slices:
                _add(slices[part], row, times)

    def changes(self) -> Mapping[str, Iterable[tuple[Row, int]]]:
        """What the transaction comes to."""
        self._catch_up()
        return {table: counts.items() for table, counts in self._pending.items() if counts}


def _add(counts: Counts, row: Row, times: int) -> None:
    total = counts.get(row, 0) + times
    if total:
        counts[row] = total
    else:
        counts.pop(row, None)


def labels_in(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The labels of inner bags in some rows, by dictionary."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for value in row:
            if isinstance(value, Label):
                found.setdefault(str(value.site), []).append(value)
    return found
