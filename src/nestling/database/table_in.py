"""``TableIn``: the handle of a table inside a transaction, ``t.table("orders")``: what it changes is part of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from nestling.database.arguments import NOT_GIVEN
from nestling.database.at import At, DeepChanges
from nestling.frontend.schema import copies, python_value
from nestling.values.bag import ZBag


class TableChanges(DeepChanges, Protocol):
    """What a handle asks of its transaction."""

    def insert(self, table: str, rows: Iterable[object]) -> None: ...
    def delete(
        self, table: str, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN
    ) -> None: ...
    def upsert(self, table: str, rows: Iterable[object]) -> None: ...
    def sync(self, table: str, snapshot: Iterable[object]) -> None: ...
    def apply(self, changes: Mapping[str, Any]) -> None: ...
    def rows(self, table: str) -> ZBag: ...
    def _table(self, name: str) -> Any: ...


class TableIn:
    """A table as a transaction sees and changes it. It is used up with the block of the transaction."""

    def __init__(self, change: TableChanges, name: str) -> None:
        self._change, self.name = change, name

    def insert(self, rows: Iterable[object]) -> None:
        """Add rows: dicts, tuples, dataclasses."""
        self._change.insert(self.name, rows)

    def delete(self, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN) -> None:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        self._change.delete(self.name, rows, where=where, key=key)

    def update(self, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]) -> None:
        """Give columns of the row with this ``key``, or of those for which ``where`` holds, new values."""
        self._change.update(self.name, key=key, where=where, set=set)

    def upsert(self, rows: Iterable[object]) -> None:
        """Add rows, each in the place of the one that has its key, if there is one."""
        self._change.upsert(self.name, rows)

    def sync(self, snapshot: Iterable[object]) -> None:
        """Let the table hold exactly ``snapshot``."""
        self._change.sync(self.name, snapshot)

    def apply(self, changes: Any) -> None:
        """Apply a Z-bag, or rows with ``_change_type``."""
        self._change.apply({self.name: changes})

    def at(self, *key: Any) -> At[None]:
        """One row by its key, for deep updates."""

        def run(act: Callable[[DeepChanges], None]) -> None:
            act(self._change)

        return At(run, self.name, key[0] if len(key) == 1 else key)

    def rows(self) -> list[Any]:
        """All rows, with the changes of the transaction."""
        record = self._change._table(self.name).record
        return [python_value(record, row) for row in copies(self._change.rows(self.name).items(), self.name)]
