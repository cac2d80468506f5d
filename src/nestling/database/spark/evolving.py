"""Changes of mind on Spark: by one commit of the lake, which has the definitions and the rows that they are of.

Tables are rewritten by Spark, where their flat rows change at all; maps that say the same of them keep their files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nestling.database import arguments
from nestling.database.evolving import Evolution
from nestling.database.reshape import Reshape
from nestling.database.spark.defined import check_empty, compiled
from nestling.database.spark.moved import (
    MovedRelation,
    arriving_moved,
    check_widened,
    moved_relations,
    widened_name,
)
from nestling.database.spark.remembered import levels_of
from nestling.database.spark.shared import SharedDatabase
from nestling.database.spark.state import SparkState
from nestling.database.spark.stream import Stream
from nestling.database.spark.watching import feed_layout, feed_name
from nestling.database.state import EXCLUDE
from nestling.database.texts import check_storable, table_text, view_text
from nestling.database.verdict import judge
from nestling.database.view_state import ViewState
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.stores import store_of
from nestling.errors import UNDEFINED, ChangeError, QueryError, StoreError
from nestling.storage.lake import Lake


class EvolvingLake(SharedDatabase):
    """A database on Spark whose definitions change while there is something under them."""

    _streams: dict[str, Stream]

    def _reshape(self, name: str, change: Reshape) -> None:
        self._check_no_stream()
        super()._reshape(name, change)

    def rename(self, old: str, new: str) -> None:
        """Give a table, a view or a constraint another name; what reads it follows."""
        self._check_no_stream()
        super().rename(old, new)

    def _check_no_stream(self) -> None:
        self._check_writable()
        running = [name for name, stream in self._streams.items() if stream.isActive]
        if running:
            raise QueryError(
                f"stream {', '.join(running)} is running, with the tables as they are",
                hint="stop it, and start it again afterwards",
            )

    def _evolve(self, evolution: Evolution) -> None:
        super()._evolve(evolution)
        self._frames.published.refresh()

    def _install(self, evolution: Evolution, is_constraint: Mapping[str, bool]) -> None:
        install(self._state, evolution, is_constraint)

    # -- copies

    def backup(self, path: str | Path) -> None:
        """Write a copy of the lake, as it is now, to a folder or an address where there is nothing yet.

        Files are copied one after the other, while others read and changes wait. Checkpoints of streams stay where
        they are: a stream of the copy goes on with the same ``checkpoint``.
        """
        where = path if isinstance(path, str) else arguments.path_argument(path)
        self._check_writable()
        with self._access.exclusive():
            if self._access.open is not None:
                raise ChangeError("a transaction is open", hint="commit it first")
            with self._access.reading(), self._store.doubting():
                self._state.running.flush()
                self._state.running.tidied()
            copy_lake(self._state.lake, where, self._state.spark)


def copy_lake(lake: Lake, path: str | Path, spark: object) -> None:
    """Copy what the last manifest of a lake names, and then say so: until then the copy is nothing."""
    manifest = lake.manifest
    copy = Lake(store_of(path, spark))
    try:
        if not copy.is_new:
            raise StoreError(f"{path} is there already", hint="choose another name, or remove it first")
        for name in sorted(manifest.files):
            copy.store.put_new(name, lake.store.get(name))
        copy.commit(manifest.relations, manifest.definitions, manifest.note)
    except BaseException:
        copy.withdraw()
        raise
    copy.close()


def install(state: SparkState, evolution: Evolution, is_constraint: Mapping[str, bool]) -> None:
    """An engine for what is defined then, stored with the rows that changed."""
    relations: list[MovedRelation] = []
    number = f"{state.version}.{state.lake.manifest.epoch}"
    for name, moved in evolution.moved.items():
        own = moved_relations(moved, evolution.tables[name], f"{number}.{len(relations)}")
        check_widened(state.running, own, widened_name(moved.change))
        relations += own
    found = _defined(state, evolution, is_constraint)

    def check(engine: SparkEngine) -> None:
        for view in evolution.views:
            if is_constraint[view.name]:
                check_empty(view, engine)

    anew = {*evolution.moved, *(view.name for view in evolution.views)}
    try:
        state.reinstall(found, check, arriving_moved(state.running, relations), anew)
        for view in evolution.views:
            if view.name in state.lazy_programs and (
                view.refresh == "hybrid" or view.name in state.views.told
            ):
                state.reader(view.name)
    except UNDEFINED as error:
        raise QueryError(f"a view cannot be computed then: {error}", hint=EXCLUDE) from error


def _defined(state: SparkState, evolution: Evolution, is_constraint: Mapping[str, bool]) -> SparkState:
    """What is defined then; who was told of changes still is, and feeds go on."""
    views = state.views
    for name in [*evolution.gone, *(view.name for view in evolution.views)]:
        views = views.without(name) if name in views else views
    found = state.having(tables=evolution.tables, views=views)
    found._objects = None
    declared = found.declarations()
    for view in evolution.views:
        found.views = found.views.having(compiled(view, declared, is_constraint[view.name]))
        if view.name in evolution.strict:
            judge(found.views[view.name], evolution.strict[view.name])
        if view.name in state.views:
            _watch_on(found, view.name, state.views[view.name])
    for table in evolution.tables.values():
        if state.tables.get(table.name) is not table:
            check_storable(table, table_text(table), found)
    for view in evolution.views:
        check_storable(view, view_text(view, found), found)
    return found


def _watch_on(found: SparkState, name: str, before: ViewState) -> None:
    if before.levels is None and not before.is_told:
        return
    levels = levels_of(found, name)
    if before.feed is not None:
        kept = {feed_name(level): feed_layout(level).sql for level in before.levels or ()}
        if kept != {feed_name(level): feed_layout(level).sql for level in levels}:
            raise QueryError(
                f"the changes of {name} are kept, and would have other columns",
                hint="drop the view first, and define it again",
            )
    found.views = found.views.changed(name, levels=levels, is_told=before.is_told, feed=before.feed)
