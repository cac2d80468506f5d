"""Structured Streaming as a source of changes: every micro-batch is one transaction, applied once.

One streaming query reads all tables of a stream: their rows are structs side by side. So a micro-batch has one number,
and what came together is applied together; a query per table would pay for a batch each, and commit a row before the
row it refers to.

Spark repeats a micro-batch that it does not know to be done, with the same number and the same rows. The number is
stored with the change, so that a repeated batch is skipped.

Law (9, across restarts): after any number of stops and crashes every batch of the stream was applied exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from nestling.database.accept import known
from nestling.database.arguments import column_types
from nestling.database.definitions import HIDDEN
from nestling.database.elements import inner_bag
from nestling.database.feed import check_feed
from nestling.database.names import check_path_name
from nestling.database.spark.checkpoints import tables_in_order
from nestling.database.spark.frame_changes import is_feed
from nestling.database.spark.store import LakeStore
from nestling.database.state import State
from nestling.engine.spark.remote import is_connect
from nestling.engine.spark.stores import store_of
from nestling.errors import NestlingError, QueryError, StoreError
from nestling.storage.lake.folder import scheme_of
from nestling.storage.lock import Lock

#: Where Spark says, to the thread that runs a micro-batch, which query it is of; a checkpoint remembers it.
QUERY_ID = "sql.streaming.queryId"

#: A micro-batch: the query it is of, its number, and its rows.
Apply = Callable[[str, int, Any], None]


class Fed(Protocol):
    """What a stream asks of the database that it feeds."""

    def _checkpoint_of(self, name: str) -> str: ...
    @property
    def _state(self) -> State: ...

    _store: LakeStore

    def _apply_once(
        self, batch: tuple[str, str, int], rows: Any, tables: Mapping[str, bool], aside: str | None
    ) -> None: ...


class Stream:
    """A running stream. Names are those of Spark's ``StreamingQuery``; a rejected batch raises its error."""

    def __init__(self, name: str, lock: Lock | None) -> None:
        self.name = name
        self._lock = lock
        self._query: Any = None
        self._refused: NestlingError | None = None

    def start(self, frame: Any, apply: Apply, checkpoint: str, trigger: Mapping[str, Any]) -> None:
        def batch(rows: Any, number: int) -> None:
            try:
                apply(rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID), number, rows)
            except NestlingError as error:
                self._refused = error
                raise

        writer = frame.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint)
        self._query = (writer.trigger(**trigger) if trigger else writer).start()

    @property
    def isActive(self) -> bool:
        return bool(self._query.isActive)

    @property
    def status(self) -> dict[str, Any]:
        """What it is doing now."""
        found: dict[str, Any] = self._query.status
        return found

    @property
    def lastProgress(self) -> Any:
        """What the last micro-batch read, and how long it took."""
        return self._query.lastProgress

    def processAllAvailable(self) -> None:
        """Wait until all that is there now is applied."""
        self._watched(self._query.processAllAvailable)

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait until it ends, or some seconds; whether it has ended."""
        ended = self._watched(lambda: self._query.awaitTermination(timeout))
        return timeout is None or bool(ended)

    def exception(self) -> Exception | None:
        """Why it ended by itself."""
        found: Exception | None = self._refused or self._query.exception()
        return found

    def stop(self) -> None:
        """End it, after the micro-batch that runs; it can be started again where it was."""
        self._query.stop()
        self.release()

    def release(self) -> None:
        """Let others use its checkpoint."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _watched(self, wait: Callable[[], Any]) -> Any:
        try:
            return wait()
        except Exception:
            if self._refused is not None:
                raise self._refused from None
            raise

    def __repr__(self) -> str:
        return f"Stream({self.name}, {'active' if self.isActive else 'stopped'})"


def started(
    database: Fed,
    sources: Mapping[str, Any],
    name: str,
    checkpoint: str | Path | None,
    trigger: Mapping[str, Any],
    aside: str | None = None,
) -> Stream:
    """A stream that feeds ``database``; ``aside`` is the table of rows that are refused."""
    check_path_name(name, "a stream")
    tables = {table: is_feed(frame.columns) for table, frame in checked(database, sources).items()}
    where = str(checkpoint or database._checkpoint_of(name))
    stream = Stream(name, lock_of(where))

    def apply(query: str, number: int, rows: Any) -> None:
        database._apply_once((name, query, number), rows, tables, aside)

    try:
        store = store_of(where, next(iter(sources.values())).sparkSession)
        ordered = tables_in_order(store, name, database._store.batches.get(name), list(sources))
        stream.start(side_by_side({table: sources[table] for table in ordered}), apply, where, trigger)
    except BaseException:
        stream.release()
        raise
    return stream


def checked(database: Fed, sources: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sources that can be streamed from, of tables that there are."""
    if not sources:
        raise QueryError("a stream needs a source", hint="db.stream({table: spark.readStream...})")
    for table, frame in sources.items():
        is_bag = inner_bag(database._state.tables, table) is not None
        if table.startswith(HIDDEN) or (table not in database._state.tables and not is_bag):
            raise QueryError(f"there is no table {table!r}", hint=known(database._state.tables))
        if is_connect(frame):
            raise QueryError(
                "a stream cannot feed a database over Spark Connect: its micro-batches run at the server",
                hint="write the stream to files, and apply what is new with"
                ' db.apply({table: rows}, once=("…", number)); or run where the driver runs',
            )
        if is_feed(frame.columns):
            check_feed(table, column_types(database._state.tables, table))
        if not getattr(frame, "isStreaming", False):
            raise QueryError(
                f"the source of {table} is no streaming DataFrame",
                hint="spark.readStream...; a DataFrame that ends is applied: db.apply, db.insert",
            )
    return sources


def side_by_side(sources: Mapping[str, Any]) -> Any:
    """The rows of all sources, each a struct in the column of its table."""
    found: Any = None
    for table, frame in sources.items():
        # Not as a text of SQL: the session is the user's, and may read ${…} in a name as something else.
        rows = frame.selectExpr("struct(*) AS rows").toDF(table)
        found = rows if found is None else found.unionByName(rows, allowMissingColumns=True)
    return found


def lock_of(checkpoint: str) -> Lock | None:
    """The use of a checkpoint: Spark itself lets a second query replace the first. What is no folder has no lock."""
    if scheme_of(checkpoint):
        return None
    path = Path(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return Lock.acquire(path)
    except StoreError as error:
        raise QueryError(
            f"a stream from {path.name} is running: {error.what}",
            hint="stop it first, or give another checkpoint",
        ) from error
