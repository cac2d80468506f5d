"""The rows of a table by their keys, as doors ask for them: in a dictionary, or by look-ups in another engine.

A key is what dictionaries have: of one column that column's value, of several a tuple.
"""

from __future__ import annotations

from typing import Any, Protocol

from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import Row, RowEngine


class Keyed(Protocol):
    """Rows by key."""

    def get(self, key: Any) -> Row | None:
        """The row with a key."""

    def are_free(self, keys: set[Any]) -> bool:
        """Whether no row has one of these keys."""

    def absent(self, keys: set[Any]) -> set[Any]:
        """Those of the keys that no row has: as long as the keys are many, not the rows that are there."""


class StoredRows:
    """Those of a dictionary."""

    def __init__(self, stored: dict[Any, Any]) -> None:
        self._stored, self.get = stored, stored.get

    def are_free(self, keys: set[Any]) -> bool:
        return self._stored.keys().isdisjoint(keys)

    def absent(self, keys: set[Any]) -> set[Any]:
        return keys.difference(self._stored)


class FoundRows:
    """Those that an engine finds."""

    def __init__(self, engine: RowEngine, table: str) -> None:
        self._by_key, self._table = engine.by_key, table
        self._is_single = len(engine.program.tables[table].key) == 1

    def get(self, key: Any) -> Row | None:
        return self._by_key(self._table, (key,) if self._is_single else key)

    def are_free(self, keys: set[Any]) -> bool:
        return len(self.absent(keys)) == len(keys)

    def absent(self, keys: set[Any]) -> set[Any]:
        return {key for key in keys if self.get(key) is None}


def keyed(engine: RowEngine, table: str) -> Keyed:
    """The rows of ``table``, which has a key, by it."""
    return StoredRows(engine.stored[table]) if isinstance(engine, LocalEngine) else FoundRows(engine, table)
