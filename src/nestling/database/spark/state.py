"""The running state on Spark: one program for batches, its engine, and the lake that stores them.

A view without a program is rejected: the reference would bring all tables to the driver on every read. A view with
``store="none"`` has a program of its own, which every reading runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import RLock
from typing import Any

from nestling.calculus.types import Record, Type
from nestling.database.constraints import violation
from nestling.database.definitions import ViewDef
from nestling.database.first_column import starts
from nestling.database.rows import Row
from nestling.database.spark.defined import absent, plan_guard
from nestling.database.spark.frame_changes import few_rows, kept
from nestling.database.spark.on_read import OnReadView, program_on_read
from nestling.database.spark.programs import knob, open_programs
from nestling.database.spark.remembered import check_note, check_tables, remember
from nestling.database.spark.watching import feed_name, record
from nestling.database.state import EXCLUDE, NOTHING_KEPT, State, computing
from nestling.database.texts import table_text, view_text
from nestling.database.verdict import judge
from nestling.database.view_state import OnRead, Views, ViewState, maintained_by
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.lazy import LazyProgram
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.support import check_program
from nestling.errors import UNDEFINED, ChangeError, NestlingError, NoValue, QueryError
from nestling.frontend.schema import element_value, row_value
from nestling.program.statements import Program
from nestling.program.steps import plans, reads, trigger_statements
from nestling.storage.lake import Lake
from nestling.transform.lower import FlatView
from nestling.transform.pipeline import SPARK, compile_view
from nestling.transform.viewlet import compile_batches
from nestling.transform.viewlet.choose import KNOB
from nestling.values.bag import ZBag


class SparkState(State):
    """Tables and views in a lake."""

    engine: SparkEngine  # type: ignore[assignment]  # another engine than the embedded one

    def __init__(self, spark: Any, lake: Lake, lock: RLock | None = None) -> None:
        super().__init__()
        self.spark, self.lake = spark, lake
        #: Changes and readings are one at a time: streams bring changes from threads of their own.
        self.lock = lock or RLock()
        #: The version that is about to be stored, and when; and per level what changes with it in a view.
        self.coming = (0, datetime.min)
        self.logged: dict[str, list[Any]] = {}
        #: What changed in views that are computed on reading, and that somebody hears of.
        self.differing: dict[str, ZBag] = {}
        for kind, name, text in lake.manifest.definitions:
            remember(self, kind, name, text)
        # What makes no sense is rejected before a map that is missing is computed: the folder stays as it was.
        check_note(lake.manifest.note)
        check_tables(self.declarations(), lake.manifest.relations)
        self.engine, self.views = self._started()
        check_note(self.note)  # of the last epoch in the log
        if self.running.built:
            self.running.tidied()

    @property
    def running(self) -> SparkEngine:
        """The engine of all views that are not lazy."""
        return self.engine

    def _started(self) -> tuple[SparkEngine, Views]:
        engine, programs = open_programs(self, self.spark, self.lake)
        engine.accept = self.accept
        views = self.views
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

    def accept(self, moment: LakeState, before: LakeState) -> None:
        """What a batch leads to: take what it logged; refuse it if a view has no value, or a constraint a row."""
        self.logged = {}
        for view in self.views.watched:
            if not self.has_own_engine(view):
                self._take(view, moment)
        for later in self.lazy_programs.values():
            later.note(moment, before)
        compared = {name: self.computed(name) for name in self.views.told}
        self.differing = {name: view.change(moment, before) for name, view in compared.items() if view}
        for name in self.views.guards:
            if without := absent(self.running, name):
                raise ChangeError(f"{name} could not be computed: {without}", hint="nothing was changed")
        for name in self.views.constraints:
            if any(moment.stored[source] is not before.stored[source] for source in self._sources(name)):
                try:
                    self._check_empty(self.running, name)
                except ChangeError:
                    raise
                except NestlingError as error:
                    raise ChangeError(f"constraint {error.what}", hint="nothing was changed") from error

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

    def _check_empty(self, engine: SparkEngine, constraint: str) -> None:
        definition = self.definitions[constraint]
        with computing(constraint):
            found = engine.some(constraint, limits.MAX_OFFENDING_ROWS)
        rows = found if isinstance(definition.element, Record) else [row["value"] for row in found]
        if rows:
            raise violation(definition, ZBag((element_value(definition.element, row), 1) for row in rows))

    @property
    def note(self) -> dict[str, Any]:
        """What was stored with the last change."""
        durable = self.running.durable
        return dict(durable.note) if durable is not None else {}

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

    def add_view(self, view: ViewDef, constraint: bool = False, strict: bool | None = False) -> None:
        self.define(view, constraint=constraint)
        judge(self.views[view.name], strict)
        try:
            self.reinstall(view.name if constraint else "")
        except BaseException as error:
            self.views = self.views.without(view.name)
            if isinstance(error, UNDEFINED):
                raise QueryError(
                    f"{view.name} cannot be computed from the rows in its tables: {error}",
                    hint=EXCLUDE,
                ) from error
            raise

    def reinstall(self, constraint: str = "") -> None:
        """A new engine over what is stored; maps that stay keep their files, new ones are computed in bulk.

        A new ``constraint`` must be empty.
        """
        before = self.running
        before.flush()
        before.tidied()
        engine, views = self._started()
        for name in views.guards:
            if without := absent(engine, name):
                raise NoValue(without)
        if constraint:
            self._check_empty(engine, constraint)
        with self.lake.moving():
            engine.tidied(self._definitions())
            self.engine, self.views, self._statements = engine, views, {}

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
        with self.lock:
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
            self.check_committed()
            return found.read(name)

    def find(self, name: str, first: Any) -> ZBag:
        with computing(name), self.reading(name) as found:
            self.check_committed()
            if found.program.views[name].lookup is not None and not isinstance(first, tuple):
                return found.find(name, first)
        return ZBag((row, n) for row, n in self.read(name).items() if starts(row, first))

    def element(self, name: str) -> Type:
        """The type of the rows of a table or a view."""
        return self.tables[name].record if name in self.tables else self.definitions[name].element

    def check_committed(self) -> None:
        if self.uncommitted:
            raise uncommitted()

    def rows(self, name: str) -> ZBag:
        with self.lock:
            self.check_committed()
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

    def statements_of(self, table: str) -> int:
        return 0  # statements are counted per batch

    def batch_statements(self, tables: Iterable[str]) -> int:
        """How many statements a batch of changes of ``tables`` runs."""
        triggers = self.running.program.triggers
        return sum(len(list(trigger_statements(triggers[table]))) for table in tables)

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
            self.check_committed()
            yield

    def committed(self, events: Any) -> None:
        """What waits is stored with the change."""


def uncommitted() -> NestlingError:
    """The refusal to read what a transaction has changed, before it ends."""
    return NestlingError(
        "on Spark a view cannot be read inside a transaction", hint="read it after the commit"
    )
