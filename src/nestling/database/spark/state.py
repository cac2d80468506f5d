"""The running state on Spark: one program for batches, its engine, and the lake that stores them.

A view without a program is rejected: the reference would bring all tables to the driver on every read. A view with
``store="none"`` has a program of its own, which every reading runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from datetime import datetime
from functools import partial
from typing import Any

from nestling.calculus.types import Type
from nestling.database.access import uncommitted
from nestling.database.declaring import Asked
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.first_column import starts
from nestling.database.objects import Objects, declarations
from nestling.database.rows import Row, RowEvent
from nestling.database.spark.defined import absent, check_empty, compiled, some_rows, sources_of
from nestling.database.spark.frame_changes import few_rows, kept
from nestling.database.spark.gate import Gate
from nestling.database.spark.notes import notes
from nestling.database.spark.on_read import OnReadView
from nestling.database.spark.opened import readable
from nestling.database.spark.programs import open_programs
from nestling.database.spark.remembered import (
    check_note,
    check_tables,
    levels_of,
    remember,
    stored_definitions,
)
from nestling.database.spark.watching import record
from nestling.database.state import EXCLUDE, Defined, computing, evaluated, parts_of, table_of
from nestling.database.texts import check_storable, table_text, view_text
from nestling.database.verdict import judge
from nestling.database.view_state import Views
from nestling.database.xml.definition import XQueryDef
from nestling.engine.described import Described
from nestling.engine.spark.arriving import Arriving, nothing_arrives
from nestling.engine.spark.columns import deferred_name
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.lazy import LazyProgram
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.remote import is_connect
from nestling.engine.spark.state import LakeState
from nestling.errors import UNDEFINED, ChangeError, NestlingError, NoValue, QueryError
from nestling.frontend.schema import row_value
from nestling.program.statements import Program, TableDecl
from nestling.program.steps import trigger_statements
from nestling.storage.lake import Lake
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label


class SparkState:
    """Tables and views in a lake."""

    engine: SparkEngine

    is_waiting = False  #: a table is declared in the lake

    def __init__(self, spark: Any, lake: Lake) -> None:
        self.tables: dict[str, TableDef] = {}
        self.views = Views()
        self.xqueries: dict[str, XQueryDef] = {}
        self.memory: int | None = None  # every view is stored as it was asked for
        # ``has_moved``: whether the last change was more than updates.
        self.looked_at, self.patience, self.version, self.has_moved = 0, float("inf"), 0, False
        self.uncommitted: list[RowEvent] = []
        self.work_before = (0, 0)  # what the thread that writes had done when its change began
        self.waiting: dict[str, Asked] = {}  # tables that wait for the class that they refer to
        self._objects: tuple[Program, Objects] | None = None
        self.spark, self.lake, self.gate = spark, lake, Gate()
        self.sessions: list[
            Any
        ] = []  # over Connect, of all engines so far: rows may be lent by an earlier one
        self.coming = (0, datetime.min)  # the version that is about to be stored, and when
        self.logged: dict[str, list[Any]] = {}  # per level, what changes with it in a view
        self.differing: dict[str, ZBag] = {}  # what changed in views that are computed on reading
        self._read_lake()

    def _read_lake(self) -> None:
        """Be what the folder says; who was told of changes still is."""
        found, manifest = self.having({}, Views(), {}), self.lake.manifest
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
            self._go_on_with(found, engine, views)
        if engine.built and not self.lake.is_readonly:
            engine.tidied()

    def rebuild(self) -> bool:
        """Read the folder again: something was raised while it, and what is in memory, moved on."""
        with readable(self.lake):
            self.lake.reload()
            self._read_lake()
        self.lake.is_ahead = False
        return True

    def _go_on_with(self, found: Defined, engine: SparkEngine, views: Views) -> None:
        self.tables, self.xqueries, self._objects = found.tables, found.xqueries, None
        self.engine, self.views = engine, views
        self.logged, self.differing = {}, {}
        self.lake.in_use = lambda: engine.snapshots.files

    @property
    def running(self) -> SparkEngine:
        """The engine of all views that are not lazy."""
        return self.engine

    def _started(
        self, found: Defined, arriving: Arriving = nothing_arrives, anew: Collection[str] = ()
    ) -> tuple[SparkEngine, Views]:
        """The engine of what is defined in ``found``, and the views with theirs."""
        engine, programs = open_programs(found, self.spark, self.lake, arriving, anew)
        if is_connect(self.spark):
            self.sessions.append(engine.session)
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
            if view not in self.views.lazy:
                self._take(view, moment)
        for later in self.lazy_programs.values():
            later.note(moment, before)
        compared = {name: self.computed(name) for name in self.views.told}
        self.differing = {name: view.change(moment, before) for name, view in compared.items() if view}

    def refused(self) -> tuple[str, str] | None:
        found = ((name, absent(self.running, name)) for name in self.views.guards)
        return next((each for each in found if each[1]), None)

    def offending(self, constraint: str) -> ZBag:
        """Some rows that a constraint forbids; none is looked for where nothing it reads was changed."""
        now, stored = self.running.now.stored, self.running.snapshots.stored.stored
        read = sources_of(self.running.program.views[constraint])
        if all(now[source] is stored[source] for source in read):
            return EMPTY
        return some_rows(self.running, self.definitions[constraint])

    def _take(self, view: str, moment: LakeState) -> None:
        """Take what was logged of a view: for its feed, and for those who are told."""
        for level in self.views.watched.get(view, ()):
            logged = moment.take(level.name)
            for rows in logged if view in self.views.feeds else ():
                record(self.running, moment, level, rows, self.coming)
            if view in self.views.told:  # rows in files are gone with the next commit
                self.logged[level.name] = [self.running.here(rows) for rows in logged]

    def program_of(self, view: str) -> Program:
        """The program that a view is read by."""
        later = self.views[view].engine if view else None
        return later.program if isinstance(later, LazyProgram) else self.running.program

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which this thread reads what is stored now; nobody is waited for but who replaces definitions."""
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
        """Bring views up to date whose changes somebody hears of, and hybrid ones where not only updates came."""
        for name in self.lazy_programs:
            if name in self.views.watched or (self.has_moved and self.definitions[name].refresh == "hybrid"):
                with suppress(*UNDEFINED):  # told when it has a value
                    self.reader(name)

    @property
    def note(self) -> dict[str, Any]:
        """What was stored with the last change."""
        return self.running.note

    @property
    def stored_version(self) -> int:
        """How many changes were stored."""
        return int(self.note.get("version", 0))

    # -- definitions

    @property
    def definitions(self) -> dict[str, ViewDef]:
        return self.views.definitions

    def declarations(self) -> dict[str, TableDecl]:
        return declarations(self.tables)

    @property
    def objects(self) -> Objects:
        """What the tables say together; another program may have other tables."""
        known, program = self._objects, self.engine.program
        if known is None or known[0] is not program:
            known = self._objects = (program, Objects(self.tables))
        return known[1]

    def table(self, name: str) -> TableDef:
        return table_of(self, name)

    def checkpoint(self) -> dict[str, Any]:
        return parts_of(self)

    def go_back_to(self, checkpoint: dict[str, Any]) -> None:
        vars(self).update(checkpoint)

    def define(
        self, view: ViewDef, remembered: dict[str, Any] | None = None, *, constraint: bool = False
    ) -> None:
        """Compile ``view``; what is ``remembered`` of how it was stored is nothing here."""
        self.views = self.views.having(compiled(view, self.declarations(), constraint))

    def add_table(self, table: TableDef) -> None:
        check_storable(table, table_text(table), self)
        self.reinstall(self.having(tables={**self.tables, table.name: table}))

    def add_view(self, view: ViewDef, constraint: bool = False, strict: bool | None = False) -> None:
        found = self.having(views=self.views.having(compiled(view, self.declarations(), constraint)))
        judge(found.views[view.name], strict)
        check_storable(view, view_text(view, found), found)
        try:
            self.reinstall(found, partial(check_empty, view) if constraint else None)
            if view.refresh == "hybrid" and view.name in self.lazy_programs:
                self.reader(view.name)
        except UNDEFINED as error:
            raise QueryError(
                f"{view.name} cannot be computed from the rows in its tables: {error}", hint=EXCLUDE
            ) from error

    def drop_view(self, name: str) -> None:
        self.reinstall(self.having(views=self.views.without(name)))

    def drop_table(self, name: str) -> None:
        self.reinstall(self.having(tables={other: t for other, t in self.tables.items() if other != name}))

    def having(
        self,
        tables: dict[str, TableDef] | None = None,
        views: Views | None = None,
        xqueries: dict[str, XQueryDef] | None = None,
    ) -> SparkState:
        """The same with other definitions, which nobody sees yet."""
        found = copy(self)
        found.tables = self.tables if tables is None else tables
        found.views = self.views if views is None else views
        found.xqueries = self.xqueries if xqueries is None else xqueries
        return found

    def reinstall(
        self,
        found: SparkState | None = None,
        check: Callable[[SparkEngine], None] | None = None,
        arriving: Arriving = nothing_arrives,
        anew: Collection[str] = (),
    ) -> None:
        """A new engine over what is stored, for what is defined in ``found``, or here, if ``check`` accepts it.

        Maps that stay keep their files, new ones are computed in bulk. What is ``arriving`` comes with new tables; of
        tables and lazy views that begin ``anew`` nothing is kept.
        """
        found = found or self
        with self.lake.doubting():
            self.running.flush()
            self.running.tidied()
            engine, views = self._started(found, arriving, anew)
            held = self.running.now.held.items()
            engine.now.held |= {n: rows for n, rows in held if n in found.tables and n not in anew}
            for name in views.guards:
                if without := absent(engine, name):
                    raise NoValue(without)
            if check is not None:
                check(engine)
            with self.gate.closed(), self.lake.moving():
                engine.tidied(stored_definitions(found))
                self._go_on_with(found, engine, views)

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

    def element(self, name: str) -> Type:
        """The type of the rows of a table or a view."""
        return self.tables[name].record if name in self.tables else self.definitions[name].element

    def rows(self, name: str) -> ZBag:
        return self.running.nested_table(name, self.tables[name].record)

    def nested_tables(self) -> dict[str, ZBag]:
        return {name: self.rows(name) for name in self.tables}

    def evaluate(self, name: str) -> ZBag:
        return evaluated(self, name)

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        return self.running.under(dictionary, label)

    def rows_where(self, name: str, where: Any) -> Any:
        """The rows of a table for which ``where`` holds, as a DataFrame."""
        record = self.table(name).record
        return kept(self.running.table_frame(name, record), record, where)

    def selected(self, name: str, where: Any, is_changed: bool) -> list[tuple[Row, int]] | None:
        """Found by Spark: ``where`` is a function of a row, or a condition of Spark."""
        if is_changed:
            raise uncommitted()
        table = self.table(name)
        most = self.running.transaction_rows
        rows = few_rows(self.rows_where(name, where), most)
        if rows is None:
            raise ChangeError(
                f"more than {most:,} rows of {name} match,"
                " and a transaction on Spark deletes no more by where",
                hint="delete them outside it",
            )
        return [(row_value(table.record, row), 1) for row in rows]

    def statements(self, tables: Mapping[str, int]) -> int:
        """A batch runs each once, however many rows it has."""
        return sum(len(list(trigger_statements(self.running.program.triggers[t]))) for t in tables)

    # -- what is kept

    def engine_of(self, name: str) -> SparkEngine:
        with computing(name), self.lake.doubting():
            return self.reader(name)

    def serving(self, name: str) -> SparkEngine:
        return self.running.beside(self.program_of(name))

    def described(self, name: str) -> Described:
        on_read = self.computed(name)
        if on_read is None:
            return self.serving(name).described()
        return on_read.described(self.running.now)

    def total(self, name: str) -> int | None:
        """Counted by Spark."""
        try:
            with computing(name), self.reading(name) as found:
                return found.total(name)
        except NestlingError as error:
            if name in self.views.lazy and isinstance(error.__cause__, UNDEFINED):
                return None  # as only a lazy one may have
            raise

    def notes(self, name: str) -> list[str]:
        return notes(self, name)

    def computing(self, name: str) -> AbstractContextManager[None]:
        return computing(name)

    def committed(self, events: Any) -> None:
        """What waits is stored with the change."""
        self.follow()
