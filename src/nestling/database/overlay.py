"""Stored rows as an open transaction sees them: with its own changes.

Law: a look-up gives what an engine would give after applying the transaction's events. The engine itself is unchanged
until the commit, so that no other thread sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nestling.database.rows import Row, RowEvent
from nestling.database.state import State
from nestling.values.label import Label

Counts = dict[Row, int]

#: Events were being looked at when something was raised: they are looked at anew.
TORN = -1


class Overlay:
    """``events`` over the engine of ``state``; they are looked at when a row is first asked for after them.

    The first ``base`` events are in the engine already, where the transaction has read a view.
    """

    def __init__(self, state: State, events: Sequence[RowEvent]) -> None:
        self.state, self.events = state, events
        self.base = 0
        self._clear()

    def _clear(self) -> None:
        self._seen = self.base
        self._counts: dict[str, Counts] = {}
        self._keys: dict[str, dict[Row, Row | None]] = {}
        self._bags: dict[str, dict[Label, Counts]] = {}

    def rebase(self, applied: int) -> None:
        """The engine has ``applied`` events now."""
        if applied != self.base:
            self.base = applied
            self._clear()

    def forget(self, events: Sequence[RowEvent]) -> None:
        """The transaction takes back its last ``events``."""
        if self._seen > len(self.events):
            undone, self._seen = events[: self._seen - len(self.events)], TORN
            for table, row, times in reversed(undone):
                self._add(table, row, -times)
            self._seen = len(self.events)

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row of a keyed table."""
        if self._seen < len(self.events):
            self._catch_up()
        known = self._keys.get(table)
        if known is not None and key in known:
            return known[key]
        return self.state.engine.by_key(table, key)

    def count(self, table: str, row: Row) -> int:
        """How often ``row`` is in ``table``."""
        self._catch_up()
        return self.state.engine.count(table, row) + self._counts.get(table, {}).get(row, 0)

    def under(self, dictionary: str, label: Label) -> Counts:
        """The rows of an inner bag of a table, without their label."""
        if self._seen != len(self.events):
            self._catch_up()
        rows = self.state.engine.under(dictionary, label)
        if (bags := self._bags.get(dictionary)) and label in bags:
            for row, times in bags[label].items():
                _add(rows, row, times)
        return rows

    def table(self, name: str) -> Counts:
        """All rows of a table."""
        self._catch_up()
        rows = self.state.engine.table(name)
        for row, times in self._counts.get(name, {}).items():
            _add(rows, row, times)
        return rows

    def prefetch(self, table: str, places: tuple[int, ...], parts: Iterable[Row]) -> None:
        """Find rows that will be looked up, by what stands at ``places``: see ``Engine``."""
        self.state.engine.prefetch(table, places, parts)

    def prefetch_keys(self, table: str, keys: Iterable[Row]) -> None:
        """Find rows of a keyed table that will be looked up, by their keys."""
        engine = self.state.engine
        if engine.is_remote:
            engine.prefetch(table, engine.program.tables[table].key, keys)

    def _catch_up(self) -> None:
        if self._seen == TORN:
            self._clear()
        if self._seen < len(self.events):
            events, self._seen = self.events[self._seen :], TORN
            for table, row, times in events:
                self._add(table, row, times)
            self._seen = len(self.events)

    def _add(self, table: str, row: Row, times: int) -> None:
        decl = self.state.engine.program.tables[table]
        _add(self._counts.setdefault(table, {}), row, times)
        if decl.key:
            key = tuple([row[i] for i in decl.key])
            self._keys.setdefault(table, {})[key] = row if times > 0 else None
        elif isinstance(row[0], Label) and row[0].site == table:
            _add(self._bags.setdefault(table, {}).setdefault(row[0], {}), row[1:], times)


def _add(counts: Counts, row: Row, times: int) -> None:
    total = counts.get(row, 0) + times
    if total:
        counts[row] = total
    else:
        counts.pop(row, None)
