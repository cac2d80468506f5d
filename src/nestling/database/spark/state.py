"""The running state on Spark: one program for batches, its engine, and the lake that stores them.

A view without a program is rejected: the reference would bring all tables to the driver on every read. A view with
``store="none"`` has a program of its own, which every reading runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nestling.calculus.types import Record
from nestling.database.access import uncommitted
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.first_column import starts
from nestling.database.rows import Row
from nestling.database.spark.defined import absent, plan_guard
from nestling.database.spark.frame_changes import few_rows, kept
from nestling.database.spark.gate import Gate
from nestling.database.spark.on_read import OnReadView, program_on_read
from nestling.database.spark.opened import readable
from nestling.database.spark.programs import knob, open_programs
from nestling.database.spark.remembered import check_note, check_tables, levels_of, remember
from nestling.database.spark.watching import feed_name, record
from nestling.database.state import EXCLUDE, NOTHING_KEPT, State, computing
from nestling.database.texts import check_storable, table_text, view_text
from nestling.database.verdict import judge
from nestling.database.view_state import OnRead, Views, ViewState, maintained_by
from nestling.database.violation import violation
from nestling.engine.spark import limits
from nestling.engine.spark.columns import deferred_name, layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.lazy import LazyProgram
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.support import check_program
from nestling.errors import UNDEFINED, ChangeError, NestlingError, NoValue, QueryError
from nestling.frontend.schema import element_value, row_value
from nestling.program.statements import Program
from nestling.program.steps import plans, reads
from nestling.storage.lake import Lake
from nestling.transform.lower import FlatView
from nestling.transform.pipeline import SPARK, compile_view
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.choose import KNOB
from nestling.values.bag import EMPTY, ZBag


class SparkState(State):
    """Tables and views in a lake."""

    engine: SparkEngine  # type: ignore[assignment]  # another engine than the embedded one

    def __init__(self, spark: Any, lake: Lake) -> None:
        super().__init__()
        self.spark, self.lake = spark, lake
        self.gate = Gate()
        #: The version that is about to be stored, and when; and per level what changes with it in a view.
        self.coming = (0, datetime.min)
        self.logged: dict[str, list[Any]] = {}
        #: What changed in views that are computed on reading, and that somebody hears of.
        self.differing: dict[str, ZBag] = {}
        self._read_lake()

    def _read_lake(self) -> None:
        """Be what the folder says; who was told of changes still is."""
        found, manifest = copy(self), self.lake.manifest
        found.tables, found.views = {}, Views()
        for kind, name, text in manifest.definitions:
            remember(found, kind, name, text)
        for name in self.views.told & found.views.keys():
            found.views = found.views.changed(name, is_told=True, levels=levels_of(found, name))
        # What makes no sense is rejected before a map that is missing is computed: the folder stays as it was.
        check_note(manifest.note)
        check_tables(found.declarations(), manifest.relations)
        engine, views = self._started(found)
        check_note(engine.note)  # of the last epoch in the log
        with self.gate.closed():
            self.tables = found.tables
            self._go_on_with(engine, views)
        if engine.built:
            engine.tidied()

    def rebuild(self) -> bool:
        """Read the folder again: something was raised while it, and what is in memory, moved on."""
        with readable(self.lake):
            self.lake.reload()
            self._read_lake()
        self.lake.is_ahead = False
        return True

    def _go_on_with(self, engine: SparkEngine, views: Views) -> None:
        self.engine, self.views, self._statements = engine, views, {}
        self.logged, self.differing = {}, {}
        self.lake.in_use = lambda: engine.snapshots.files

    @property
    def running(self) -> SparkEngine:
        """The engine of all views that are not lazy."""
        return self.engine

    def _started(self, found: State) -> tuple[SparkEngine, Views]:
        """The engine of what is defined in ``found``, and the views with theirs."""
        engine, programs = open_programs(found, self.spark, self.lake)
        views = found.views
        for name, later in programs.items():
            later.accept = partial(self._take, name)
            views = views.running(name, later)
        return engine, views

    @property
    def lazy_programs(self) -> dict[str, LazyProgram]:
        """The programs of lazy views."""
        engines = {name: policy.engine for name, policy in self.views.lazy.items()}
        return {name: engine for name, engine in engines.items() if isinstance(engine, LazyProgram)}

    def computed(self, name: str) -> OnReadView | None:
        """What computes a view of which nothing is stored."""
        on_read = self.views[name].on_read
        return OnReadView(self.definitions[name], on_read.program) if on_read and on_read.program else None

    def take(self, moment: LakeState, before: LakeState) -> None:
        """Take what a batch logged, and let it wait for lazy views."""
        for view in self.views.watched:
            if not self.has_own_engine(view):
                self._take(view, moment)
        for later in self.lazy_programs.values():
            later.note(moment, before)
        compared = {name: self.computed(name) for name in self.views.told}
        self.differing = {name: view.change(moment, before) for name, view in compared.items() if view}

    def refused(self) -> tuple[str, str] | None:
        for name in self.views.guards:
            if without := absent(self.running, name):
                return name, without
        return None

    def offending(self, constraint: str) -> ZBag:
        """Some rows that a constraint forbids; none is looked for where nothing it reads was changed."""
        now, stored = self.running.now.stored, self.running.snapshots.stored.stored
        if all(now[source] is stored[source] for source in self._sources(constraint)):
            return EMPTY
        return self._some(self.running, constraint)

    def _take(self, view: str, moment: LakeState) -> None:
        """Take what was logged of a view: for its feed, and for those who are told."""
        for level in self.views.watched.get(view, ()):
            logged = moment.take(level.name)
            for rows in logged if view in self.views.feeds else ():
                record(self.running, moment, level, rows, self.coming)
            if view in self.views.told:
                # Rows in files are gone with the next commit.
                self.logged[level.name] = [self.running.here(rows) for rows in logged]

    def program_of(self, view: str) -> Program:
        """The program that a view is read by."""
        later = self.views[view].engine if view else None
        return later.program if isinstance(later, LazyProgram) else self.running.program

    def held(self) -> AbstractContextManager[None]:
        """A block in which this thread reads what is stored now; nobody is waited for but who replaces definitions."""
        return self._held()

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self.gate.passing(), self.running.snapshots.held():
            yield

    def is_behind(self, name: str) -> bool:
        later = self.views[name].engine if name in self.views else None
        if isinstance(later, LazyProgram):
            return not later.is_started or later.waiting > 0
        stored, late = self.running.now.stored, self.running.program.deferred
        return name in self.views.hybrid and any(stored[deferred_name(map_)].rows for map_ in late)

    def refresh(self, name: str) -> None:
        with computing(name), self.lake.doubting():
            self.reader(name)

    def reader(self, view: str) -> SparkEngine:
        """An engine that reads a view, up to date."""
        later = self.views[view].engine
        if isinstance(later, LazyProgram):
            return later.fresh()
        if view in self.views.hybrid:
            self.running.flush()
        return self.running

    def follow(self) -> None:
        """Bring views up to date that are refreshed when they are read, and whose changes somebody hears of."""
        for name in self.lazy_programs:
            if name in self.views.watched:
                with suppress(*UNDEFINED):  # told when it has a value
                    self.reader(name)

    def is_without_value(self, name: str, error: NestlingError) -> bool:
        """Whether ``error`` says that a view has no value now, as only a lazy one may."""
        return name in self.views.lazy and isinstance(error.__cause__, UNDEFINED)

    def _sources(self, view: str) -> list[str]:
        """The tables and maps that a view is read from."""
        found = plans(self.program_of(view).views[view])
        return [source for plan in found for statement in plan.statements for source in reads(statement)]

    def _some(self, engine: SparkEngine, constraint: str) -> ZBag:
        definition = self.definitions[constraint]
        with computing(constraint):
            found = engine.some(constraint, limits.MAX_OFFENDING_ROWS)
        rows = found if isinstance(definition.element, Record) else [row["value"] for row in found]
        return ZBag((element_value(definition.element, row), 1) for row in rows)

    @property
    def note(self) -> dict[str, Any]:
        """What was stored with the last change."""
        return self.running.note

    @property
    def stored_version(self) -> int:
        """How many changes were stored."""
        return int(self.note.get("version", 0))

    # -- definitions

    def define(
        self, view: ViewDef, remembered: dict[str, Any] | None = None, *, constraint: bool = False
    ) -> None:
        if view.store == "none":
            computed = OnRead(NOTHING_KEPT, KNOB, program_on_read(view, self.declarations()))
            self.views = self.views.having(ViewState(view, computed, constraint))
            return
        plan, guard = partial(self._planned, view), partial(plan_guard, view, self.declarations())
        compiled = compile_view(view.query, SPARK, plan, guard)
        if compiled.program is None or compiled.flat is None:
            raise QueryError(
                f"{view.name} cannot be maintained: {compiled.reason}",
                hint="on Spark no view is evaluated on read",
            )
        policy = maintained_by(view.refresh, compiled.flat)
        self.views = self.views.having(ViewState(view, policy, constraint, guard=compiled.guard))

    def _planned(self, view: ViewDef, flat: FlatView) -> Program:
        program = compile_batches(self.declarations(), {view.name: flat}, store={view.name: knob(view)})
        check_program(program, layouts(program))
        return program

    def add_table(self, table: TableDef) -> None:
        check_storable(table, table_text(table), self)
        super().add_table(table)

    def add_view(self, view: ViewDef, constraint: bool = False, strict: bool | None = False) -> None:
        self.define(view, constraint=constraint)
        judge(self.views[view.name], strict)
        check_storable(view, view_text(view, self), self)
        try:
            self.reinstall(view.name if constraint else "")
        except UNDEFINED as error:
            raise QueryError(
                f"{view.name} cannot be computed from the rows in its tables: {error}", hint=EXCLUDE
            ) from error

    def reinstall(self, constraint: str = "") -> None:
        """A new engine over what is stored; maps that stay keep their files, new ones are computed in bulk.

        A new ``constraint`` must be empty.
        """
        with self.lake.doubting():
            before = self.running
            before.flush()
            before.tidied()
            engine, views = self._started(self)
            for name in views.guards:
                if without := absent(engine, name):
                    raise NoValue(without)
            if constraint and (rows := self._some(engine, constraint)):
                raise violation(self.definitions[constraint], rows)
            with self.gate.closed(), self.lake.moving():
                engine.tidied(self._definitions())
                self._go_on_with(engine, views)

    def _definitions(self) -> tuple[tuple[str, str, str], ...]:
        tables = [("table", name, table_text(table)) for name, table in self.tables.items()]
        views = [
            ("constraint" if view.is_constraint else "view", name, view_text(view.definition, self))
            for name, view in self.views.items()
        ]
        feeds = [
            ("feed", name, json.dumps([feed.since, feed.versions])) for name, feed in self.views.feeds.items()
        ]
        return (*tables, *views, *feeds)

    # -- reading

    @contextmanager
    def reading(self, name: str) -> Iterator[Reading]:
        """What answers for a view: an engine, nothing waiting, or a plan over the tables as they are."""
        computed = self.computed(name)
        if computed is None:
            with computing(name), self.lake.doubting():
                engine = self.reader(name)
            yield engine
            return
        with computed.over(self.running.now) as found:
            yield found

    def read(self, name: str) -> ZBag:
        with computing(name), self.reading(name) as found:
            return found.read(name)

    def find(self, name: str, first: Any) -> ZBag:
        with computing(name), self.reading(name) as found:
            if found.program.views[name].lookup is not None and not isinstance(first, tuple):
                return found.find(name, first)
        return ZBag((row, n) for row, n in self.read(name).items() if starts(row, first))

    def rows(self, name: str) -> ZBag:
        return self.running.nested_table(name, self.tables[name].record)

    def rows_where(self, name: str, where: Any) -> Any:
        """The rows of a table for which ``where`` holds, as a DataFrame."""
        record = self.table(name).record
        return kept(self.running.table_frame(name, record), record, where)

    def selected(self, name: str, where: Any, is_changed: bool) -> list[tuple[Row, int]] | None:
        """Found by Spark: ``where`` is a function of a row, or a condition of Spark."""
        if is_changed:
            raise uncommitted()
        table = self.table(name)
        rows = few_rows(self.rows_where(name, where))
        if rows is None:
            raise ChangeError(
                f"more than {limits.MAX_TRANSACTION_ROWS:,} rows of {name} match,"
                " and a transaction on Spark deletes no more by where",
                hint="delete them outside it",
            )
        return [(row_value(table.record, row), 1) for row in rows]

    def statements(self, tables: Mapping[str, int]) -> int:
        """A batch runs each once, however many rows it has."""
        return sum(map(self.statements_of, tables))

    # -- watching

    def trim(self, version: int) -> None:
        """Forget the oldest changes of feeds that are kept for some versions, where files are written anyway."""
        running, due = self.running, False
        for name, feed in self.views.feeds.items():
            if feed.versions is not None and version - feed.versions > feed.since:
                since = replace(feed, since=version - feed.versions)
                self.views = self.views.changed(name, feed=since)
                for level in self.views.watched[name]:
                    running.keep(feed_name(level), f"k0 > {version - feed.versions}")
                due = True
        if due:
            running.tidied(self._definitions())

    @contextmanager
    def computing(self, name: str) -> Iterator[None]:
        with computing(name):
            yield

    def committed(self, events: Any) -> None:
        """What waits is stored with the change."""
        self.follow()


def now() -> datetime:
    """The time that is stored with a change."""
    return datetime.now(UTC).replace(tzinfo=None)
