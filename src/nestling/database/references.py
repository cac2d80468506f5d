"""References between tables: a row that others refer to cannot be deleted.

Law: at the end of every change, each row of a table with ``references`` has its parents. An insert checks that a new
row has them; this module checks that no parent is deleted while a row refers to it, on the state at the end of the
change: parent and children may be deleted together, in any order, and a parent may be replaced by one with the same
key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nestling.database.rows import Row, RowEvent
from nestling.database.state import Holder, State
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError

#: A table, and the columns of its flat rows that hold the key of another.
Site = tuple[str, tuple[int, ...]]


class References:
    """How many rows refer to each key, counted when a parent first goes and followed from then on."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._counts: dict[Site, dict[Row, int]] = {}
        self._parents: frozenset[str] | None = None

    @property
    def state(self) -> State:
        return self._holder._state

    def check(self, change: Transaction) -> None:
        """Refuse a change, not applied yet, that takes a parent from rows which stay."""
        for parent, keys in self._gone(change).items():
            for site in self._sites(parent):
                before, after = self._before(site, keys, change), _referring(site, change.events)
                for key in keys:
                    if before.get(key, 0) + after.get(key, 0) > 0:
                        raise referred(parent, key, site[0])

    def follow(self, events: Sequence[RowEvent]) -> None:
        """The change is committed."""
        for site, counts in self._counts.items():
            for key, times in _referring(site, events).items():
                counts[key] = counts.get(key, 0) + times

    def forget(self) -> None:
        """Count anew when somebody asks."""
        self._counts, self._parents = {}, None

    def _gone(self, change: Transaction) -> dict[str, dict[Row, None]]:
        """By table that others refer to, the keys of rows that went and did not come back."""
        parents = self._parents
        if parents is None:
            tables = self.state.tables.values()
            parents = self._parents = frozenset(to for table in tables for _, to in table.references)
        found: dict[str, dict[Row, None]] = {}
        for table, row, times in change.events if parents else ():
            if times < 0 and table in parents:
                key = tuple([row[i] for i in self.state.engine.program.tables[table].key])
                if change.stored.by_key(table, key) is None:
                    found.setdefault(table, {})[key] = None
        return found

    def _sites(self, parent: str) -> list[Site]:
        tables = self.state.engine.program.tables.values()
        return [(decl.name, columns) for decl in tables for columns, to in decl.references if to == parent]

    def _before(self, site: Site, keys: Iterable[Row], change: Transaction) -> dict[Row, int]:
        """How many rows referred to each of ``keys`` before ``change``, of which the engine may have some events."""
        engine, (table, columns) = self.state.engine, site
        if engine.is_remote:
            # Nothing is counted and kept: the rows that refer to a few keys are found by one query.
            engine.prefetch(table, columns, keys)
            return {key: sum(engine.having(table, columns, key).values()) for key in keys}
        if site not in self._counts:
            rows = [RowEvent(table, row, times) for row, times in engine.table(table).items()]
            applied = change.events[: change.stored.base]
            taken_back = [RowEvent(table, row, -times) for table, row, times in applied]
            self._counts[site] = _referring(site, [*rows, *taken_back])
        return self._counts[site]


def _referring(site: Site, events: Iterable[RowEvent]) -> dict[Row, int]:
    """By key, how many more rows refer to it after ``events``."""
    table, columns = site
    counts: dict[Row, int] = {}
    for name, row, times in events:
        if name == table:
            key = tuple([row[i] for i in columns])
            counts[key] = counts.get(key, 0) + times
    return counts


def referred(parent: str, key: Row, child: str) -> ChangeError:
    """The refusal to take a row that another refers to."""
    return ChangeError(
        f"the row with key {key[0] if len(key) == 1 else key!r} of {parent} is referred to by {child}",
        hint=f"delete or change the rows of {child} first, or in the same transaction",
    )
