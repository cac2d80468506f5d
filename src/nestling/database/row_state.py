"""The state over engines in this process: one program for all eager and hybrid views, changed in place.

Views that are not maintained are computed on every read, by the reference where they have no program at all;
``explain`` says so. For a view that may be undefined, a total query and a guard query are maintained; the guard is
empty exactly while the view is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

from nestling.database.answer import answer
from nestling.database.compilations import Compilations, stored
from nestling.database.declaring import Asked
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.first_column import first_leaf, first_type, starts
from nestling.database.lazy import LazyView, Pending
from nestling.database.native import chosen, notes
from nestling.database.objects import Dangling, Objects, declarations
from nestling.database.on_read import Computations
from nestling.database.policies import guarded_by, policy
from nestling.database.recursion import Recursion
from nestling.database.rows import Row, RowEvent, nested_row
from nestling.database.state import EXCLUDE, NOTHING_KEPT, computing, evaluated, guard_of, parts_of, table_of
from nestling.database.storing import Decision, decide
from nestling.database.verdict import judge
from nestling.database.view_state import OnRead, Policy, Views, ViewState
from nestling.database.violation import violation
from nestling.database.xml.definition import XQueryDef, view_of
from nestling.depth import room
from nestling.engine.described import Described
from nestling.engine.protocol import Engines, RowEngine
from nestling.errors import UNDEFINED, NestlingError, QueryError
from nestling.frontend.schema import element_value
from nestling.program.statements import Program, TableDecl
from nestling.program.steps import trigger_statements
from nestling.transform import pipeline
from nestling.transform.lower import FlatView
from nestling.transform.pipeline import by_rows, compile_view
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import KNOB
from nestling.values.bag import ZBag
from nestling.values.label import Label


class RowState:
    """Tables, the views over them, and the engine that stores both."""

    def __init__(self, engines: Engines | None = None) -> None:
        self.engines = engines or chosen()
        self.tables: dict[str, TableDef] = {}
        self.views = Views()
        self.xqueries: dict[str, XQueryDef] = {}
        self.dangling: Dangling = frozenset()
        self.memory: int | None = None
        self.looked_at = 0
        self.patience, self.version = 0.0, 0
        #: The recursions, each after those that it reads; every one has a table of its name.
        self.recursions: dict[str, Recursion] = {}
        self._statements: dict[str, int] = {}
        self.uncommitted: list[RowEvent] = []
        self.waiting: dict[str, Asked] = {}
        self._objects: tuple[Program, Objects] | None = None
        self.compiled = Compilations()
        self._computed = Computations()
        self.engine = self._behind = self.engines.empty(compile_views({}, {}))

    def declarations(self) -> dict[str, TableDecl]:
        """The flat tables of all tables."""
        return declarations(self.tables, self.dangling)

    @property
    def objects(self) -> Objects:
        """What the tables say together; another program may have other tables."""
        known, program = self._objects, self.engine.program
        if known is None or known[0] is not program:
            known = self._objects = (program, Objects(self.tables))
        return known[1]

    def table(self, name: str) -> TableDef:
        """The table that a change names."""
        return table_of(self, name)

    def add_table(self, table: TableDef) -> None:
        """Declare a table. Nobody asks it anything yet, so that the engine waits for the tables that follow."""
        self.tables[table.name], self._objects = table, None
        self._behind = vars(self).pop("engine", self._behind)

    @property
    def is_waiting(self) -> bool:
        """Whether tables were declared since anybody asked the engine anything."""
        return "engine" not in vars(self)

    @cached_property
    def engine(self) -> RowEngine:
        """What stores tables and views: where tables were declared since, made when it is asked for."""
        self._statements = {}
        with room():
            return self.engines.filled(self.compiled.of(self.declarations(), self.views), self._behind)

    @property
    def definitions(self) -> dict[str, ViewDef]:
        return self.views.definitions

    def checkpoint(self) -> dict[str, Any]:
        """All there is now, to go back to: an engine that is replaced is not changed."""
        return parts_of(self)

    def go_back_to(self, checkpoint: dict[str, Any]) -> None:
        """Be as at ``checkpoint``."""
        vars(self).clear()
        vars(self).update(checkpoint)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What the block changes of the definitions is changed at its end, or nothing is."""
        before = self.checkpoint()
        try:
            yield
        except BaseException:
            self.go_back_to(before)
            raise

    def add_view(self, view: ViewDef, constraint: bool = False, strict: bool | None = False) -> None:
        """Compile ``view`` and bring its maps up to date with the rows that are there; a constraint has none."""
        if constraint:
            with computing(view.name):
                rows = answer(view.query, self.nested_tables())
            if rows:
                raise violation(view, rows)
        self.define(view, constraint=constraint)
        judge(self.views[view.name], strict)
        try:
            self.reinstall()
            self.engine.check()
            absent = "" if view.refresh == "lazy" else self.absent(view.name)
        except UNDEFINED as error:
            absent = str(error)
        if absent:
            raise QueryError(
                f"{view_of(view.name)} cannot be computed from the rows in its tables: {absent}", hint=EXCLUDE
            )

    def define(
        self, view: ViewDef, remembered: dict[str, Any] | None = None, *, constraint: bool = False
    ) -> None:
        """Compile ``view`` as far as it goes; where it cannot be maintained, note why.

        What is ``remembered`` of how it was stored stays so.
        """
        decided: list[Decision] = []
        engine, tables = self.engine, self.declarations()
        drafts = self.compiled.begin(tables)

        def plan(flat: FlatView) -> Program | None:
            left = self.left_for(view.name)
            flat = replace(flat, is_asked=not view.is_hidden)
            decided.append(decide(view, flat, drafts, engine, left, remembered, self.version))
            return decided[0].program

        def plan_guard(guard: FlatView) -> Program | None:
            decision = decided[0] if decided else None
            if view.refresh == "lazy":
                return by_rows(tables, guarded_by(decision))(guard)
            # With what it guards, whose maps it reads, and as it will be installed.
            kept = policy(view, decision) if decision else OnRead("", "")
            return self.compiled.of(
                tables, self.views.having(ViewState(view, kept, decision=decision, guard=guard))
            )

        compiled = compile_view(
            view.query, pipeline.EMBEDDED, plan if view.store != "none" else None, plan_guard
        )
        undefined = compiled.undefined if compiled.may_have_no_value else None
        decision = replace(decided[0], program=None) if decided else None
        if compiled.reason:
            chosen: Policy = OnRead(compiled.reason, compiled.code)
        else:
            chosen = OnRead(NOTHING_KEPT, KNOB) if decision is None else policy(view, decision)
        found = ViewState(view, chosen, constraint, decision, undefined, compiled.guard, compiled.plain)
        self.views = self.views.having(found)

    def left_for(self, name: str) -> int | None:
        """What the other views leave of the memory there is, in bytes."""
        if self.memory is None:
            return None
        return self.memory - sum(self.bytes_of(other) for other in self.views.maintained if other != name)

    def bytes_of(self, name: str) -> int:
        """What a view takes."""
        own = self.views[name].engine
        return (own.engine if isinstance(own, LazyView) else self.engine).view_bytes(name)

    def absent(self, name: str) -> str:
        """Where a view has no value now: one of the terms, or nothing."""
        view = self.views[name]
        if view.undefined is None:
            return ""
        engine = self.engine_of(name) if view.may_lack_value else self.engine
        if guard_of(name) in engine.program.views and not engine.is_torn:
            texts = engine.texts(guard_of(name))
        else:
            texts = list(answer(view.undefined, self.nested_tables()))
        return f"{min(texts)} has no value" if texts else ""

    def refused(self) -> tuple[str, str] | None:
        """A view that is kept eagerly and has no value now, and the term that has none."""
        for name in self.views.checked:
            if absent := self.absent(name):
                return name, absent
        return None

    def has_own_engine(self, name: str) -> bool:
        """Whether a view has an engine of its own."""
        return name in self.views.lazy

    def engine_of(self, name: str) -> RowEngine:
        """The engine that answers for a view, up to date."""
        if not self.has_own_engine(name):
            return self.engine
        return self.later(name).fresh()

    @room()
    def later(self, name: str) -> LazyView:
        """A view that has an engine of its own."""
        made = self.views[name].engine
        if not isinstance(made, LazyView) or made.torn:
            made = self.started_later(name)
            made.load(self._rows_of(made.reads))
            # It is told of the changes of an open transaction when that is committed.
            made.note(RowEvent(table, row, -times) for table, row, times in self.uncommitted)
            if (levels := self.views[name].levels) is not None:
                made.watch({level.name: level.query for level in levels})
            self.views = self.views.running(name, made)
        return made

    def started_later(self, name: str) -> LazyView:
        """Such a view, with nothing in it."""
        guards = {guard_of(name): self.views.guards[name]} if name in self.views.guards else {}
        flat = self.views.maintained[name]
        return LazyView(self.engines, name, flat, self.declarations(), stored(self.views)[name], guards)

    def _rows_of(self, tables: Iterable[str]) -> dict[str, dict[Row, int]]:
        return {name: self.engine.table(name) for name in tables}

    def restore_later(self, name: str, maps: Mapping[str, Mapping[Row, Row]], pending: Pending) -> None:
        """Go on with a view that has an engine of its own where it was."""
        made = self.started_later(name)
        made.restore(self._rows_of(made.reads), maps, pending)
        self.views = self.views.running(name, made)

    def committed(self, events: Sequence[RowEvent]) -> None:
        """Tell the views that are refreshed later; drafts are kept while nothing but definitions come."""
        self.compiled.forget()
        for recursion in self.recursions.values():
            recursion.commit()
        for view in self.views.engines:
            assert isinstance(view, LazyView)
            view.note(events)

    @room()
    def install(self) -> None:
        """An engine for what is defined, with nothing in it."""
        self.engine = self.engines.empty(self.compiled.of(self.declarations(), self.views))
        self._statements = {}

    def drop_view(self, name: str) -> None:
        self.views = self.views.without(name)
        self.reinstall()

    def statements(self, tables: Mapping[str, int]) -> int:
        """How many maintenance statements so many rows of ``tables`` set off."""
        return sum([self.statements_of(table) * times for table, times in tables.items()])

    def statements_of(self, table: str) -> int:
        """How many maintenance statements one row of ``table`` sets off."""
        if table not in self._statements:
            self._statements[table] = len(list(trigger_statements(self.engine.program.triggers[table])))
        return self._statements[table]

    def find(self, name: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        leaf = element_value(first_type(self.definitions[name].element), first_leaf(first))
        with self.computing(name):
            rows = self._found(name, leaf)
        return ZBag((row, n) for row, n in rows.items() if starts(row, first))

    def _found(self, name: str, leaf: Any) -> ZBag:
        if not self.reads_tables(name):
            engine = self.engine_of(name)
            if engine.program.views[name].lookup is not None:
                return engine.find(name, leaf)
        return self.read(name)

    def reads_tables(self, name: str) -> bool:
        """Whether the reference answers for a view: nothing is kept of it, or not yet of the open transaction."""
        return name in self.views.on_read or (bool(self.uncommitted) and self.has_own_engine(name))

    def drop_table(self, name: str) -> None:
        del self.tables[name]
        self.reinstall()

    @room()
    def reinstall(self) -> None:
        """A new engine for what is defined now; maps that stay keep their contents."""
        # A row that cannot be computed leaves the old engine as it is.
        self.engine = self.engines.filled(
            self.compiled.of(self.declarations(), self.views), vars(self).get("engine", self._behind)
        )
        self._statements = {}

    def events(self) -> Iterable[RowEvent]:
        """All stored rows, as the events that would bring them here: a row's inner bags before the row."""
        for name in (name for table in self.tables.values() for name in reversed(table.declarations)):
            for row, times in self.engine.table(name).items():
                yield RowEvent(name, row, times)

    def rebuild(self) -> bool:
        self.restore({})
        return False

    def held(self) -> AbstractContextManager[None]:
        """There are no snapshots: readers hold the lock."""
        return nullcontext()

    def is_behind(self, name: str) -> bool:
        return False

    def refresh(self, name: str) -> None:
        """Whoever reads a lazy view refreshes it."""

    def offending(self, constraint: str) -> ZBag:
        return self.read(constraint)

    def restore(self, before: Mapping[str, Mapping[Row, int]]) -> None:
        """A new engine over the tables, in which rows are there as often as ``before`` says; all maps are computed.

        The engine so far is only read, and of its tables the dictionaries of their rows alone: a trigger that was
        cut off may have left everything else half done.
        """
        tables = {name: self.engine.table(name) for name in self.engine.program.tables}
        for name, rows in before.items():
            stored = tables[name]
            for row, times in rows.items():
                if times:
                    stored[row] = times
                else:
                    stored.pop(row, None)
        self.engine = self.engines.computed(self.engine.program, tables)
        # A lazy view that was told of some events starts anew; what somebody listens to, from here.
        self.uncommitted = []
        for name in self.views.lazy:
            self.views = self.views.running(name, None)
        for name in self.views.watched:
            if self.has_own_engine(name):
                self.later(name)
            elif self.views[name].compared is not None:
                self.views = self.views.changed(name, compared=self.read(name))

    def read(self, name: str) -> ZBag:
        """The answer of a view, nested."""
        if not self.reads_tables(name):
            with self.computing(name):
                return self.engine_of(name).read(name)
        with self.computing(name):
            once = self._computed.over(self.engine, self.definitions[name], self.declarations())
            return self.evaluate(name) if once is None else once.read(name)

    @contextmanager
    def computing(self, name: str) -> Iterator[None]:
        """What is read of a view that has no value is not its answer."""
        with computing(name):
            if absent := self.absent(name):
                raise NestlingError(f"{name} cannot be computed: {absent}", hint=EXCLUDE)
            yield

    def evaluate(self, name: str) -> ZBag:
        """The reference meaning of a view on the tables as they are."""
        return evaluated(self, name)

    def nested_tables(self) -> dict[str, ZBag]:
        """Every table, its inner bags in their rows."""
        return {name: self.rows(name) for name in self.tables}

    def rows(self, name: str) -> ZBag:
        """The rows of a table, nested."""
        table, rows = self.tables[name], self.engine.table(name)
        if table.is_flat:
            return ZBag(rows)
        return ZBag((nested_row(table, row, self), times) for row, times in rows.items())

    def selected(self, name: str, where: Any, is_changed: bool) -> list[tuple[Row, int]] | None:
        """The rows of a table for which ``where`` holds; None where they are found by going through all.

        ``is_changed``: the transaction that asks has changed something.
        """
        return None

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        return self.engine.under(dictionary, label)

    # -- what is kept

    def serving(self, name: str) -> RowEngine:
        return self.engine_of(name)

    def described(self, name: str) -> Described:
        return self.engine_of(name).described()

    def total(self, name: str) -> int | None:
        return None if self.absent(name) else self.read(name).total

    def notes(self, name: str) -> list[str]:
        if name not in self.views.on_read:
            return notes(self.engine)
        return [self._computed.cost(self.definitions[name], self.declarations())]
