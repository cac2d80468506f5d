"""``Database(spark=spark, path=…)``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from nestling.database import arguments
from nestling.database.accept import known
from nestling.database.arguments import NOT_GIVEN
from nestling.database.core import Core
from nestling.database.definitions import HIDDEN
from nestling.database.elements import inner_bag
from nestling.database.fed import ONCE, once_argument
from nestling.database.languages import is_frame
from nestling.database.refresh import Refresh
from nestling.database.spark.bad_rows import COLUMNS, apply_good
from nestling.database.spark.beginning import begin
from nestling.database.spark.documents import LakeDocuments
from nestling.database.spark.element_changes import change_elements, elements_frame
from nestling.database.spark.evolving import EvolvingLake
from nestling.database.spark.files import read_frame, write_changes, write_frame
from nestling.database.spark.frame_changes import (
    as_frame,
    check_batch,
    few_changes,
    few_rows,
    few_split,
    split,
)
from nestling.database.spark.frames import Frames
from nestling.database.spark.journal import LakeJournal
from nestling.database.spark.large import Large
from nestling.database.spark.large_here import sync_here
from nestling.database.spark.large_merges import FrameMerge, is_later, merge_frame, note_batch
from nestling.database.spark.large_references import keep_references
from nestling.database.spark.logs import SparkLogging
from nestling.database.spark.opened import check_shared, readable
from nestling.database.spark.state import SparkState
from nestling.database.spark.store import LakeStore
from nestling.database.spark.stream import Stream, started
from nestling.database.spark.watching import feed_of
from nestling.database.transaction import NOTHING
from nestling.database.view_state import Feed
from nestling.engine.spark.accepted import check_session, is_local
from nestling.engine.spark.jobs import described_jobs, work_done
from nestling.engine.spark.remote import end_session
from nestling.engine.spark.stores import store_of
from nestling.errors import ChangeError, QueryError
from nestling.progress import shown
from nestling.storage.lake import Lake
from nestling.storage.lake.folder import place_of
from nestling.storage.lake.local import LocalStore


class SparkDatabase(EvolvingLake):
    """Tables and views whose rows and maps are files that Spark reads and writes.

    Law (7, durable): what is answered after reopening is what was answered when the last change was acknowledged.
    """

    _logging: SparkLogging  # type: ignore[assignment]

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        spark: Any = None,
        readonly: bool = False,
        _version: int | None = None,
    ) -> None:
        if not isinstance(path, str | os.PathLike):
            raise QueryError("a database on Spark needs a folder", hint='Database(spark=spark, path="…")')
        check_session(spark)
        readonly = arguments.flag_argument(readonly, "readonly")
        lake = Lake(store_of(path, spark), readonly=readonly, version=_version)
        try:
            with readable(lake):
                if not is_local(spark) and not lake.store.is_shared and not readonly:
                    check_shared(lake, spark)
                state = SparkState(spark, lake)
                self._sessions = state.sessions
                self._frames = Frames(state, spark, lake.place)
                self._store = LakeStore(state, self._frames.published.refresh)
                if not readonly:
                    lake.claim()
        except BaseException:
            lake.withdraw()
            raise
        #: Where it is kept: a path, or an address.
        self.folder: Path | str = Path(lake.place) if isinstance(lake.store, LocalStore) else lake.place
        self._streams: dict[str, Stream] = {}
        self._read_frame = lambda frame, catalog: self._frames.translated(frame, catalog)  # noqa: PLW0108 (made later)
        Core.__init__(
            self, state, self._store, LakeJournal, SparkLogging, LakeDocuments, partial(begin, state)
        )

    # -- changes

    def insert(self, table: str, rows: Any) -> Refresh:
        """Add rows: dicts, tuples, dataclasses, or a DataFrame."""
        return self._applied({table: rows}) if is_frame(rows) else super().insert(table, rows)

    def delete(
        self,
        table: str,
        rows: Any = NOT_GIVEN,
        *,
        where: Any = None,
        key: Any = NOT_GIVEN,
    ) -> Refresh:
        """Remove rows: those given, also as a DataFrame; those for which ``where`` holds, which is a function of a
        row or a condition of Spark; or the one with this ``key``."""
        arguments.one_way(rows, where, key)
        if where is None and not is_frame(rows):
            return super().delete(table, rows, key=key)
        with self._changing():
            return self._applied({table: rows if where is None else self._state.rows_where(table, where)}, -1)

    def apply(self, changes: Mapping[str, Any], *, once: tuple[str, int] | None = None) -> Refresh:
        """Apply a Z-bag per table, or rows or a DataFrame with ``_change_type``, all at once; ``once`` as embedded."""
        return self._applied(changes, once=None if once is None else once_argument(once))

    def merge(
        self,
        table: str,
        rows: Any,
        *,
        delete_when: Any = None,
        sequence_by: str | Sequence[str] | None = None,
    ) -> Refresh:
        """Leave of each key what its row says, as embedded; of a DataFrame ``delete_when`` is a condition of Spark."""
        if not is_frame(rows):
            return super().merge(table, rows, delete_when=delete_when, sequence_by=sequence_by)
        with self._changing():
            given = FrameMerge(self._state.table(table), rows, delete_when, sequence_by)
            few = few_rows(given.frame, self._state.running.transaction_rows)
            if few is not None:
                return super().merge(table, few, delete_when=given.deletes, sequence_by=sequence_by)
            if given.memory is not None:
                self._remember(given.memory)
            with self._large() as large:
                merge_frame(large, given)
                return self._loaded(large)

    def sync(self, table: str, snapshot: Any) -> Refresh:
        """Make ``table`` hold exactly ``snapshot``: Spark finds the difference, and it is applied."""
        definition = self._state.table(table)
        if not is_frame(snapshot):
            pairs = ((row, 1) for row in arguments.rows_argument(snapshot, definition.record))
            snapshot = as_frame(self._state.running.session, definition.record, pairs).drop("_change_type")
        check_batch(snapshot)
        with self._large() as large:
            if sync_here(large, definition, snapshot):
                return self._loaded(large)
            difference = large.differing(definition, large.rows_of(definition, snapshot))
            few = large.few(definition, difference, self._state.running.transaction_rows)
            if few is None:
                large.change(definition, difference)
                return self._loaded(large)
            with self.transaction() as change:
                change.apply({table: few})
            return change.refresh

    def _applied(
        self, changes: Mapping[str, Any], sign: int = 1, once: tuple[str, int] | None = None
    ) -> Refresh:
        """Apply rows and DataFrames as one batch: few as a transaction, many by Spark."""
        # Rows that are here may be read once only.
        changes = arguments.changes_argument(changes, self._state.tables, frames=True)
        for table in changes:
            if inner_bag(self._state.tables, table) is None:
                self._state.table(table)
        with self._changing():
            if once is not None:
                self._remember(ONCE)
            widths: dict[str, float] = {}
            few = few_changes(changes, sign, self._state.running.transaction_rows, widths)
            if few is None:
                return self._apply_large(changes, sign, once, widths)
            with self.transaction() as change:
                if once is None:
                    change.apply(self._in_order(few))
                else:
                    change._apply_once(self._in_order(few), once)
            return change.refresh

    def _in_order(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Tables that others refer to first, and inner bags after the rows that they are in."""
        names = [*(name for name in self._state.tables if name in changes), *changes]
        return {name: changes[name] for name in names}

    def _apply_large(
        self,
        changes: Mapping[str, Any],
        sign: int = 1,
        once: tuple[str, int] | None = None,
        widths: Mapping[str, float] | None = None,
    ) -> Refresh:
        with self._access.looking():
            if once is not None and not is_later(self._state, once):
                return NOTHING._replace(version=self.version)
        with self._large() as large:
            for name, rows in self._in_order(changes).items():
                bag = inner_bag(self._state.tables, name)
                if bag is not None:
                    if not is_frame(rows):
                        rows = elements_frame(large.session, *bag, rows)
                    if rows is not None:
                        change_elements(large, *bag, large.arrived(rows), sign)
                    continue
                table = self._state.tables[name]
                if not is_frame(rows):
                    rows = as_frame(large.session, table.record, rows.items())
                large.apply(table, rows, sign, (widths or {}).get(name))
            if once is not None:
                note_batch(large, once)
            return self._loaded(large)

    @contextmanager
    def _large(self) -> Iterator[Large]:
        """A large change, in a transaction of its own."""
        self._check_writable()
        # Who refreshes a view meanwhile would remove our files.
        with self._changing(), self._access.reading():
            if self._access.open is not None:
                raise ChangeError("a transaction is already open", hint="apply DataFrames outside it")
            large = Large(self._state, self.version + 1)
            self._began = perf_counter()
            try:
                described = described_jobs(self._state.running.session, "nestling: a large change")
                with self._store.doubting(), shown("large change"), described:
                    yield large
            finally:
                large.forget()
                self._state.running.discard()

    def _loaded(self, large: Large) -> Refresh:
        keep_references(large)
        journal = LakeJournal(self._state, files=large.parts())
        return self._run(self._access.begin(journal), self._began)

    # -- definitions

    def _file_place(self, path: Any) -> Any:
        """A folder of this machine, or the address of one that Spark reaches."""
        return place_of(path)

    def _export_rows(self, name: str, path: Path | str) -> int:
        return write_frame(self._frame_of(name), path)

    def _export_changes(self, name: str, folder: Path | str) -> int:
        if name in self._state.tables:
            raise QueryError(
                f"on Spark the changes of a table are not kept: {name} is one",
                hint="export a view of it, after db.keep_changes(view)",
            )
        self._known_view(name)

        def since(version: int) -> Any:
            return self.view_df(name, changes_since=version)

        return write_changes(self._state.running.spark, self._frame_of(name), since, self.version, folder)

    def _frame_of(self, name: str) -> Any:
        """A table or a view as a DataFrame."""
        if name in self._state.tables and not name.startswith(HIDDEN):
            return self._table_df(name)
        return self.view_df(name)

    def _load_rows(self, table: str, path: Path | str, is_feed: bool) -> Refresh:
        frame = read_frame(self._state.running.spark, self._frame_of(table), path, is_feed)
        return self.apply({table: frame}) if is_feed else self.insert(table, frame)

    def stream(
        self,
        sources: Mapping[str, Any],
        checkpoint: str | Path | None = None,
        *,
        name: str = "stream",
        trigger: Mapping[str, Any] | None = None,
        bad_rows: str | None = None,
    ) -> Stream:
        """Apply what comes from streaming DataFrames, one per table, until it is stopped: see ``Stream``.

        Rows come, or say in ``_change_type`` what happened to them. Each micro-batch is applied exactly once, also
        across restarts with the same ``name`` and ``checkpoint``, which is a folder of the database if none is given.
        ``trigger`` says when, as Spark's ``trigger``: ``{"processingTime": "10 seconds"}``, ``{"availableNow": True}``.
        A row that is refused stops the stream, or goes to the table ``bad_rows``, as JSON with the reason.
        """
        self._check_writable()
        running = self._streams.get(name)
        if running is not None:
            if running.isActive:
                raise QueryError(f"a stream {name!r} is running", hint="stop it first, or rename this one")
            running.release()
        if bad_rows is not None:
            self.table(bad_rows, COLUMNS)
        found = self._streams[name] = started(self, sources, name, checkpoint, trigger or {}, bad_rows)
        return found

    def _checkpoint_of(self, stream: str) -> str:
        return self._state.lake.store.uri(f"streams/{stream}")

    def _apply_once(
        self, batch: tuple[str, str, int], rows: Any, tables: Mapping[str, bool], aside: str | None
    ) -> None:
        """Apply a micro-batch, unless it is there already: rows of several tables side by side; see ``arriving``."""
        name, query, number = batch
        with self._changing():
            before, last = self._store.batches.get(name, (query, -1))
            if before != query:
                raise ChangeError(
                    f"stream {name!r} was fed from another checkpoint, up to batch {last}",
                    hint="go on with that checkpoint, or give the stream another name",
                )
            if number <= last:
                return
            self._store.arriving = {**self._store.batches, name: (query, number)}
            try:
                few = few_split(rows, tables, self._state.running.transaction_rows)
                if few is None:
                    self._apply_large(split(rows, tables))
                else:
                    with self.transaction() as change:
                        if aside is None:
                            change.apply(self._in_order(few))
                        else:
                            apply_good(change, self._in_order(few), tables, (name, number), aside)
            finally:
                self._store.arriving = self._store.batches

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time: the batches of a stream come from a thread of its own."""
        is_nested = self._access.is_writing
        with self._access.exclusive():
            if not is_nested:
                self._state.work_before = work_done()
            yield
        if not is_nested:
            self._deliver()

    # -- reading

    def keep_changes(self, view: str, versions: int | None = None) -> None:
        """Keep the change feed of a view from now on, in files; with ``versions``, at least of so many."""
        self._known_view(view)
        self._check_writable()
        with self._access.defining("change feeds"), self._store.doubting():
            feed = self._state.views[view].feed
            since = self.version if feed is None else feed.since
            self._logging.keep_feed(view, Feed(since, versions))

    def _known_view(self, view: str) -> None:
        if view in self._state.xqueries:
            raise QueryError(
                f"{view} is an XQuery view, which has a text and no rows",
                hint=f"db.views[{view!r}].xml(), and .subscribe or .changes for what changes in it",
            )
        if view not in self._state.views or view.startswith(HIDDEN):
            raise QueryError(f"there is no view {view!r}", hint=known(self._state.views))

    def view_df(
        self,
        view: str,
        shredded: bool = False,
        *,
        changes_since: int | None = None,
        path: str | Sequence[str] = (),
    ) -> Any:
        """A view as a DataFrame, inner bags as arrays; ``shredded``: a DataFrame of its flat rows, bags as labels.

        ``changes_since``: what came and went after that version, with ``_change_type``, ``_commit_version`` and
        ``_commit_timestamp``: rows, or with ``path`` the elements of an inner bag, beside the row that they are in.

        It reads the files as they are now: after a change, ask again.
        """
        self._known_view(view)
        with self._access.looking(view):
            if changes_since is not None:
                at = (path,) if isinstance(path, str) else tuple(path)
                return feed_of(self._state.running, self._state.views[view], changes_since, at)
            if not shredded:
                return self._frames.in_order(view)
            with self._state.reading(view) as found:
                return found.flat_frame(view)

    def _table_df(self, table: str) -> Any:
        """A table as a DataFrame, inner bags as arrays; what is computed from it can be a view."""
        with self._access.looking():
            return self._frames.frame(table)

    def publish(self, *names: str) -> None:
        """Let ``spark.table(name)`` and ``spark.sql`` find these tables and views, or all, in the user's session.

        They are temporary views there, which answer as of the last change; they hide other tables of these names.
        """
        with self._access.reading():
            for name in names:
                if name in self._state.xqueries or name.startswith(HIDDEN):
                    self._known_view(name)
            every = (*self._state.tables, *self._state.views)
            self._frames.published.publish(names or [n for n in every if not n.startswith(HIDDEN)])

    def close(self) -> None:
        """End the streams and the use of the folder."""
        for stream in self._streams.values():
            stream.stop()
        self._frames.close()
        super().close()
        for session in self._sessions:
            end_session(session, self._frames.spark)
