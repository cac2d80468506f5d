"""The changes that a database takes: each is a transaction of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.database import arguments
from nestling.database.arguments import NOT_GIVEN
from nestling.database.evolving import Evolving
from nestling.database.refresh import Refresh
from nestling.database.single import COMING, GOING, KEY
from nestling.values.bag import ZBag


class Writing(Evolving):
    """A database whose rows change."""

    def insert(self, table: str, rows: Iterable[object]) -> Refresh:
        """Add rows: dicts, tuples, dataclasses."""
        if type(rows) is list and len(rows) == 1:
            done = self._one(table, COMING, rows[0])
            if done is not None:
                return done
        return self._changed(lambda change: change.insert(table, rows))

    def delete(
        self, table: str, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN
    ) -> Refresh:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        done = None
        if where is None and rows is NOT_GIVEN:
            done = self._one(table, KEY, key)
        elif where is None and key is NOT_GIVEN and type(rows) is list and len(rows) == 1:
            done = self._one(table, GOING, rows[0])
        if done is not None:
            return done
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
        if type(changes) is dict and len(changes) == 1:
            ((table, rows),) = changes.items()
            if isinstance(rows, dict | ZBag) and len(rows) == 1:
                ((row, times),) = rows.items()
                if type(times) is int and times in (1, -1):
                    done = self._one(table, COMING if times > 0 else GOING, row)
                    if done is not None:
                        return done
        given = arguments.changes_argument(changes, self._state.tables)
        return self._changed(lambda change: change.apply(given))

    def sync(self, table: str, snapshot: Iterable[object]) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``: the difference is found and applied."""
        return self._changed(lambda change: change.sync(table, snapshot))
