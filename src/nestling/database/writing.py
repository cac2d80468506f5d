"""The changes that a database takes: each is a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nestling.database import arguments
from nestling.database.arguments import NOT_GIVEN
from nestling.database.evolving import Evolving
from nestling.database.refresh import Refresh
from nestling.database.transaction import Transaction


class Writing(Evolving):
    """A database whose rows change."""

    def _changed(self, act: Callable[[Transaction], None]) -> Refresh:
        """What ``act`` does to a transaction, committed."""
        with self.transaction() as change:
            act(change)
        return change.refresh

    def insert(self, table: str, rows: Iterable[object]) -> Refresh:
        """Add rows: dicts, tuples, dataclasses."""
        with self.transaction() as change:
            change.insert(table, rows)
        return change.refresh

    def delete(
        self, table: str, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN
    ) -> Refresh:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        return self._changed(lambda change: change.delete(table, rows, where=where, key=key))

    def update(
        self, table: str, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]
    ) -> Refresh:
        """Give columns of the row with this ``key``, or of those for which ``where`` holds, new values.

        A new value may be a function of the row as it is: ``set={"price": lambda row: row.price * 2}``.
        """
        return self._changed(lambda change: change.update(table, key=key, where=where, set=set))

    def upsert(self, table: str, rows: Iterable[object]) -> Refresh:
        """Add rows, each in the place of the one that has its key, if there is one: it becomes this row."""
        return self._changed(lambda change: change.upsert(table, rows))

    def apply(self, changes: Mapping[str, Any]) -> Refresh:
        """Apply a Z-bag per table, or rows with ``_change_type``, all at once."""
        with self.transaction() as change:
            change.apply(arguments.changes_argument(changes, self._state.tables))
        return change.refresh

    def sync(self, table: str, snapshot: Iterable[object]) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``: the difference is found and applied."""
        return self._changed(lambda change: change.sync(table, snapshot))
