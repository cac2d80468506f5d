"""``Database(spark=spark, path=…)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from nestling.database.accept import known
from nestling.database.commit import Commit
from nestling.database.database import Database
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.refresh import Refresh
from nestling.database.rows import Event
from nestling.database.spark.arriving import apart
from nestling.database.spark.commit import SparkCommit
from nestling.database.spark.state import SparkState
from nestling.database.spark.stream import Stream, started
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
        self._lake, self.folder = lake, lake.path
        note = self.state.note
        self.version = int(note.get("version", 0))
        #: Per stream, the query that feeds it and the last micro-batch of it that is stored.
        self._batches: dict[str, tuple[str, int]] = {
            name: (query, number) for name, (query, number) in note.get("streams", {}).items()
        }
        self._arriving = self._batches
        self._streams: dict[str, Stream] = {}
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

    # -- changes

    def insert(self, table: str, rows: Any) -> Refresh:
        """Add rows: dicts, tuples, dataclasses, or a DataFrame, which is brought here: a change is small."""
        return super().insert(table, here(rows))

    def apply(self, changes: Mapping[str, Any]) -> Refresh:
        """Apply a Z-bag per table, or rows or a DataFrame with ``_change_type``, all at once."""
        return super().apply({table: here(rows) for table, rows in changes.items()})

    def stream(
        self,
        sources: Mapping[str, Any],
        checkpoint: str | Path | None = None,
        *,
        name: str = "stream",
        trigger: Mapping[str, Any] | None = None,
    ) -> Stream:
        """Apply what comes from streaming DataFrames, one per table, until it is stopped: see ``Stream``.

        Rows come, or say in ``_change_type`` what happened to them. Each micro-batch is applied exactly once, also
        across restarts with the same ``name`` and ``checkpoint``, which is a folder of the database if none is given.
        ``trigger`` says when, as Spark's ``trigger``: ``{"processingTime": "10 seconds"}``, ``{"availableNow": True}``.
        """
        running = self._streams.get(name)
        if running is not None:
            if running.isActive:
                raise QueryError(
                    f"a stream {name!r} is running", hint="stop it first, or give this one another name"
                )
            running.release()
        found = self._streams[name] = started(self, sources, name, checkpoint, trigger or {})
        return found

    def apply_once(self, batch: tuple[str, str, int], rows: Any, tables: Mapping[str, bool]) -> None:
        """Apply a micro-batch, unless it is there already: rows of several tables side by side; see ``arriving``."""
        name, query, number = batch
        with self.state.lock:
            before, last = self._batches.get(name, (query, -1))
            if before != query:
                raise ChangeError(
                    f"stream {name!r} was fed from another checkpoint, up to batch {last}",
                    hint="go on with that checkpoint, or give the stream another name",
                )
            if number <= last:
                return
            self._arriving = {**self._batches, name: (query, number)}
            try:
                found = apart(rows, tables)
                assert found is not None
                with self.transaction() as change:
                    change.apply({table: found[table] for table in self.state.tables if table in found})
                self._batches = self._arriving
            finally:
                self._arriving = self._batches

    def sync(self, table: str, snapshot: Any) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``; both are brought here to be compared."""
        return super().sync(table, here(snapshot))

    def transaction(self) -> Commit:
        return SparkCommit(self)

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
        note = {"version": self.version + 1, "numbers": self._next_number(), "streams": self._arriving}
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

    # -- reading

    def view_df(self, view: str, shredded: bool = False) -> Any:
        """A view as a DataFrame, inner bags as arrays; ``shredded``: a DataFrame of its flat rows, bags as labels.

        It reads the files as they are now: after a change, ask again.
        """
        if view not in self.state.views:
            raise QueryError(f"there is no view {view!r}", hint=known(self.state.views))
        running = self.state.running
        return running.flat_frame(view) if shredded else running.frame(view)

    def stats(self) -> dict[str, dict[str, Any]]:
        """Per view: rows, stored rows of its maps, statements per batch of each table it follows."""
        return {name: self.state.stats(name) for name in self.views}

    def close(self) -> None:
        """End the streams and the use of the folder."""
        for stream in self._streams.values():
            stream.stop()
        self._lake.close()


def here(rows: Any) -> Any:
    """The rows of a DataFrame; other rows are here already."""
    return [row.asDict() for row in rows.collect()] if hasattr(rows, "toLocalIterator") else rows
