"""The rows that a transaction looks at: those that are stored, with its own changes.

A transaction checks and changes rows one by one; Spark finds many at once. So what a change will look at is fetched
before it, in one query, and what it does is kept here until it is committed as one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nestling.database.rows import Event, Row
from nestling.engine.spark.engine import SparkEngine
from nestling.program.statements import Program, TableDecl
from nestling.values.label import Label

Counts = dict[Row, int]


class Buffer:
    """What an engine does for a transaction, on rows that were fetched."""

    is_torn = False

    def __init__(self, engine: SparkEngine) -> None:
        self.stored = engine
        self.pending: dict[str, Counts] = {}
        self._slices: dict[tuple[str, tuple[int, ...]], dict[Row, Counts]] = {}

    @property
    def program(self) -> Program:
        return self.stored.program

    def clear(self) -> None:
        """Forget all: the transaction is over."""
        self.pending, self._slices = {}, {}

    # -- what is there

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""
        return next(iter(self._slice(table, self._decl(table).key, key)), None)

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""
        places = self._decl(table).key or tuple(range(len(row)))
        if "." in table and row[:1] in self._slices.get((table, (0,)), {}):
            places = (0,)  # the whole bag is here already
        return self._slice(table, places, tuple(row[i] for i in places)).get(row, 0)

    def under(self, dictionary: str, label: Label) -> Counts:
        """The rows of an inner bag of a table, without their label."""
        return {row[1:]: n for row, n in self._slice(dictionary, (0,), (label,)).items()}

    def table(self, name: str) -> Counts:
        """All rows of a table."""
        rows = self.stored.table(name)
        for row, times in self.pending.get(name, {}).items():
            _add(rows, row, times)
        return rows

    def _decl(self, table: str) -> TableDecl:
        return self.program.tables[table]

    def _slice(self, table: str, places: tuple[int, ...], part: Row) -> Counts:
        known = self._slices.setdefault((table, places), {})
        if part not in known:
            self.fetch(table, places, [part])
        return known[part]

    def fetch(self, table: str, places: tuple[int, ...], parts: Iterable[Row]) -> None:
        """Find the rows that have one of ``parts`` at ``places``, all in one query."""
        known = self._slices.setdefault((table, places), {})
        wanted = {part: None for part in parts if part not in known}
        if not wanted:
            return
        found: dict[Row, Counts] = {part: {} for part in wanted}
        for entry in self.stored.matching(table, places, list(wanted)):
            found[tuple(entry[i] for i in places)][entry[:-1]] = entry[-1]
        for row, times in self.pending.get(table, {}).items():
            part = tuple(row[i] for i in places)
            if part in found:
                _add(found[part], row, times)
        known |= found

    # -- changes

    def note(self, events: Iterable[Event]) -> None:
        """The transaction goes on with ``events``."""
        for table, row, times in events:
            self.apply(table, row, times)

    def forget(self, events: Sequence[Event]) -> None:
        """The transaction takes back its last ``events``."""
        for table, row, times in reversed(events):
            self.apply(table, row, -times)

    def apply(self, table: str, row: Row, times: int) -> None:
        """Note that ``row`` comes ``times`` times."""
        _add(self.pending.setdefault(table, {}), row, times)
        for (name, places), slices in self._slices.items():
            part = tuple(row[i] for i in places) if name == table else None
            if part is not None and part in slices:
                _add(slices[part], row, times)

    def changes(self) -> Mapping[str, Iterable[tuple[Row, int]]]:
        """What the transaction comes to."""
        return {table: counts.items() for table, counts in self.pending.items() if counts}


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
