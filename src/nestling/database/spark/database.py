"""``Database(spark=spark, path=…)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from nestling.calculus.terms import Expr
from nestling.database.accept import known
from nestling.database.database import Database
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.languages import is_frame
from nestling.database.refresh import Refresh
from nestling.database.rows import Event
from nestling.database.spark.frames import Frames
from nestling.database.spark.state import SparkState
from nestling.database.spark.transaction import SparkTransaction
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError, QueryError
from nestling.storage.lake import Lake


class SparkDatabase(Database):
    """Tables and views whose rows and maps are files that Spark reads and writes.

    Law (7, durable): what is answered after reopening is what was answered when the last change was acknowledged.
    """

    state: SparkState

    def __init__(self, path: str | Path | None = None, *, spark: Any = None) -> None:
        if path is None:
            raise QueryError("a database on Spark needs a folder", hint='Database(spark=spark, path="…")')
        super().__init__()
        lake = Lake(path)
        try:
            self.state = SparkState(spark, lake)
        except BaseException:
            lake.close()
            raise
        self._lake = lake
        self._frames = Frames(self.state, spark, path)
        note = self.state.note
        self.version = int(note.get("version", 0))
        self._surrogates = int(note.get("numbers", 0))
        self._numbers = count(self._surrogates)

    # -- definitions

    def constraint(self, name: str, query: Callable[..., Any] | str, *, language: str = "sql") -> None:
        raise QueryError("constraints are not on Spark yet", hint="check the view after the change")

    def _define(self, kind: str, definition: TableDef | ViewDef, action: Callable[[], None]) -> None:
        self._outside_transactions()
        action()

    def _forget(self, kind: str, name: str, action: Callable[[], None]) -> None:
        self._outside_transactions()
        action()

    def _translated(self, query: Any, language: str) -> Expr:
        if is_frame(query):
            return self._frames.translated(query, self.catalog())
        return super()._translated(query, language)

    # -- changes

    def insert(self, table: str, rows: Any) -> Refresh:
        """Add rows: dicts, tuples, dataclasses, or a DataFrame, which is brought here: a change is small."""
        return super().insert(table, here(rows))

    def apply(self, changes: Mapping[str, Any]) -> Refresh:
        """Apply a Z-bag per table, or rows or a DataFrame with ``_change_type``, all at once."""
        return super().apply({table: here(rows) for table, rows in changes.items()})

    def sync(self, table: str, snapshot: Any) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``; both are brought here to be compared."""
        return super().sync(table, here(snapshot))

    def _begin(self) -> Transaction:
        if self._open is not None:
            raise ChangeError("a transaction is already open", hint="use it, or commit it first")
        change = self._open = SparkTransaction(self.state, self._shredder)
        return change

    def _end(self) -> None:
        self._open = None
        self.state.buffer.clear()

    def _store(self, events: list[Event]) -> None:
        """Run the batch, and store what it comes to."""
        if not events:
            return
        note = {"version": self.version + 1, "numbers": self._next_number()}
        try:
            self.state.running.apply_batch(self.state.buffer.changes(), note)
        except ArithmeticError as error:
            raise ChangeError(
                f"a view cannot be computed: {error}",
                hint="exclude the value in the view, or do not insert it",
            ) from error

    def _next_number(self) -> int:
        self._surrogates = next(self._numbers)
        return self._surrogates + 1

    def _publish(self, events: list[Event], seconds: Callable[[], float]) -> None:
        self.version += bool(events)
        tables: dict[str, int] = {}
        for event in events:
            tables[event.table] = tables.get(event.table, 0) + 1
        statements = self.state.batch_statements(tables)
        self.last_refresh = Refresh(self.version, seconds(), len(events), statements, tables, {})
        self.state.running.tidy()
        self._frames.refresh()

    # -- reading

    def view_df(self, view: str, shredded: bool = False) -> Any:
        """A view as a DataFrame, inner bags as arrays; ``shredded``: a DataFrame of its flat rows, bags as labels.

        It reads the files as they are now: after a change, ask again.
        """
        if view not in self.state.views:
            raise QueryError(f"there is no view {view!r}", hint=known(self.state.views))
        return self.state.running.flat_frame(view) if shredded else self._frames.frame(view)

    def table_df(self, table: str) -> Any:
        """A table as a DataFrame, inner bags as arrays; what is computed from it can be a view."""
        return self._frames.frame(table)

    def publish(self, *names: str) -> None:
        """Let ``spark.table(name)`` and ``spark.sql`` find these tables and views, or all, in the user's session.

        They are temporary views there, replaced after every change; so they hide other tables of these names.
        """
        self._frames.publish(names or (*self.state.tables, *self.state.views))

    def stats(self) -> dict[str, dict[str, Any]]:
        """Per view: rows, stored rows of its maps, statements per batch of each table it follows."""
        return {name: self.state.stats(name) for name in self.views}

    def close(self) -> None:
        """End the use of the folder."""
        self._lake.close()


def here(rows: Any) -> Any:
    """The rows of a DataFrame; other rows are here already."""
    return [row.asDict() for row in rows.collect()] if hasattr(rows, "toLocalIterator") else rows
