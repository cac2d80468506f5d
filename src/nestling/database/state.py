"""The running state: one program for all views that are kept eagerly, and what to do when a trigger fails.

Views that no program can maintain are evaluated by the reference when they are read; ``explain`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from nestling.calculus.evaluate import evaluate
from nestling.calculus.types import Record, Type
from nestling.database.change import Change
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.explain.sizes import entries, rough_bytes
from nestling.database.lazy import LazyView
from nestling.database.rows import Event, Row, nested
from nestling.database.storing import Decision, decide
from nestling.database.watching import Answer, Levels, read_change
from nestling.engine.local.engine import LocalEngine
from nestling.errors import ChangeError, NestlingError, QueryError
from nestling.frontend.schema import element_value
from nestling.program.flat import Query
from nestling.program.meaning import meaning
from nestling.program.statements import MapDecl, Program, TableDecl
from nestling.program.steps import needed, plans, reads, trigger_statements
from nestling.program.traverse import canonical
from nestling.transform.lower import FlatView, lower
from nestling.transform.lower.view import CannotLower
from nestling.transform.normalize import normalize
from nestling.transform.shred import shred
from nestling.transform.simplify import simplify
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import KNOB
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.defer import deferred
from nestling.transform.viewlet.storing import Storing
from nestling.transform.viewlet.watch import watches
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label

#: What Python raises where a term has no value.
UNDEFINED = (ArithmeticError, TypeError, ValueError)


class State:
    """Tables, the views over them, and the engine that keeps both."""

    def __init__(self) -> None:
        self.tables: dict[str, TableDef] = {}
        self.views: dict[str, ViewDef] = {}
        self.flat: dict[str, FlatView] = {}
        #: Why a view is evaluated when it is read; and in a word.
        self.reasons: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.decisions: dict[str, Decision] = {}
        #: What all views may take, in bytes; and how many rows there were when that was last looked at.
        self.memory: int | None = None
        self.looked_at = 0
        self.watched: dict[str, Levels] = {}
        self._before: dict[str, ZBag] = {}
        self._statements: dict[str, int] = {}
        self.lazy: dict[str, LazyView] = {}
        self.uncommitted: list[Event] = []
        self.engine = LocalEngine(compile_views({}, {}))

    def declarations(self) -> dict[str, TableDecl]:
        """The flat tables of all tables."""
        return {name: decl for table in self.tables.values() for name, decl in table.declarations.items()}

    def add_table(self, table: TableDef) -> None:
        self.tables[table.name] = table
        self._install()

    def add_view(self, view: ViewDef) -> None:
        """Compile ``view`` and bring its maps up to date with the rows that are there."""
        self.define(view)
        try:
            self._install()
        except UNDEFINED as error:
            self._forget(view.name)
            raise QueryError(
                f"{view.name} cannot be computed from the rows that are there: {error}",
                hint="exclude the value in the view, or delete the row first",
            ) from error

    def define(self, view: ViewDef, remembered: dict[str, Any] | None = None) -> None:
        """Compile ``view`` as far as it goes; where it cannot be maintained, note why.

        What is ``remembered`` of how it was stored stays so.
        """
        self.views[view.name] = view
        if view.store == "none":
            self.reasons[view.name], self.codes[view.name] = 'store="none": nothing is kept of it', KNOB
            return
        try:
            flat = lower(shred(normalize(simplify(normalize(view.query)))))
            self._keep(view.name, decide(self, view, flat, remembered))
        except (CannotLower, CannotCompile) as reason:
            self.reasons[view.name], self.codes[view.name] = str(reason), reason.code

    def _keep(self, name: str, decision: Decision) -> None:
        self.decisions[name] = decision
        if decision.storing is not None:
            self.flat[name] = decision.view
        else:
            self.flat.pop(name, None)
            self.reasons[name], self.codes[name] = decision.why, decision.code

    def decided(self, name: str, decision: Decision) -> None:
        """Store a view in another way from now on."""
        self._keep(name, decision)
        self.lazy.pop(name, None)
        if name in self.watched and decision.storing is None:
            self.watched[name], self._before[name] = Levels(), self.evaluate(name)
        self._install()

    def _is_lazy(self, name: str) -> bool:
        return name in self.flat and self.views[name].refresh == "lazy"

    def _eager(self) -> dict[str, FlatView]:
        return {name: view for name, view in self.flat.items() if not self._is_lazy(name)}

    def _program(self) -> Program:
        logs = {level.name: level.query for levels in self.watched.values() for level in levels}
        program = compile_views(self.declarations(), self._eager(), logs, self._stored())
        patient = {name for name in self.flat if self.views[name].refresh == "hybrid"}
        return replace(program, deferred=deferred(program, patient))

    def _stored(self) -> dict[str, Storing]:
        """How each view is stored."""
        found = {name: self.decisions[name].storing for name in self.flat}
        return {name: storing for name, storing in found.items() if storing is not None}

    def engine_of(self, name: str) -> LocalEngine:
        """The engine that answers for a view, up to date."""
        if not self._is_lazy(name):
            return self.engine
        if name not in self.lazy:
            self.lazy[name] = LazyView(name, self.flat[name], self.declarations(), self._stored()[name])
            self.lazy[name].note(event for event in self.events() if event.table in self.lazy[name].reads)
            # It is told of the changes of an open transaction when that is committed.
            undone = (Event(table, row, -times) for table, row, times in self.uncommitted)
            self.lazy[name].note(event for event in undone if event.table in self.lazy[name].reads)
        try:
            return self.lazy[name].fresh()
        except UNDEFINED:
            del self.lazy[name]  # half refreshed: it starts anew from the tables
            raise

    def committed(self, events: Sequence[Event]) -> None:
        """Tell the views that are refreshed later."""
        for view in self.lazy.values():
            view.note(event for event in events if event.table in view.reads)

    def install(self) -> None:
        """An engine for what is defined, with nothing in it."""
        self.engine = LocalEngine(self._program())
        self._statements = {}

    def drop_view(self, name: str) -> None:
        self._forget(name)
        self._install()

    def _forget(self, name: str) -> None:
        del self.views[name]
        self.flat.pop(name, None)
        self.reasons.pop(name, None)
        self.codes.pop(name, None)
        self.decisions.pop(name, None)
        self.watched.pop(name, None)
        self._before.pop(name, None)
        self.lazy.pop(name, None)

    def watch(self, name: str) -> None:
        """Log the changes of a view from now on."""
        kept = watches(name, self.flat[name], self.declarations()) if name in self._eager() else []
        self.watched[name] = Levels(kept)
        try:
            self._install()
        except CannotCompile:
            self.watched[name] = Levels()
            self._install()
        if not self.watched[name]:
            self._before[name] = self.read(name)

    def change(self, name: str, version: int, answer: Answer) -> Change:
        """What changed in a watched view since the last call; ``answer`` reads the view, and says its version."""
        if self.watched[name]:
            return read_change(self.engine, name, version, self.watched[name], answer)
        # No log can be kept of this view: compare its answers.
        before, now = self._before[name], self.read(name)
        self._before[name] = now
        return Change(name, version, self.views[name].element, now - before, (), answer)

    def statements_of(self, table: str) -> int:
        """How many maintenance statements one row of ``table`` sets off."""
        if table not in self._statements:
            self._statements[table] = len(list(trigger_statements(self.engine.program.triggers[table])))
        return self._statements[table]

    def stats(self, name: str) -> dict[str, Any]:
        """Sizes of a view and of the maps that serve it, and how many statements keep these."""
        engine = self.engine_of(name)
        program = engine.program
        read = [
            source
            for view in program.views.values()
            if view.name == name
            for plan in plans(view)
            for statement in plan.statements
            for source in reads(statement)
        ]
        maps = [source for source in needed(program, read) if source in program.maps]
        statements = {
            table: count
            for table, trigger in program.triggers.items()
            if (count := sum(s.target in maps for s in trigger_statements(trigger)))
        }
        return {
            "rows": self.read(name).total,
            "maps": {source: entries(engine, source) for source in maps},
            "bytes": sum(rough_bytes(engine, source, engine.stores[source].patterns) for source in maps),
            "statements": statements,
            "waiting": self.lazy[name].waiting if name in self.lazy else 0,
            "evaluated_on_read": self.reasons.get(name, ""),
        }

    def find(self, name: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        try:
            leaf = element_value(_first_type(self.views[name].element), _first(first))
        except ChangeError:
            return EMPTY  # a value of another type is in no row
        plan = self.engine.program.views.get(name)
        if plan is not None and plan.lookup is not None:
            with computing(name):
                rows = self.engine.find(name, leaf)
        else:
            rows = self.read(name)
        return ZBag((row, n) for row, n in rows.items() if _starts(row, first))

    def drop_table(self, name: str) -> None:
        del self.tables[name]
        self._install()

    def _install(self) -> None:
        """A new engine for what is defined now; maps that stay keep their contents."""
        old = self.engine
        program = self._program()
        engine = LocalEngine(program)
        kept = {identity(decl): name for name, decl in old.program.maps.items() if decl.role != "watch"}
        made = {name: identity(decl) for name, decl in program.maps.items() if decl.role != "watch"}
        tables = [name for name in self._inner_first() if name in old.program.tables]
        if all(key in kept for key in made.values()):
            for name in tables:
                engine.load_table(name, old.table(name))
            for name, key in made.items():
                engine.load_map(name, old.cells(kept[key]))
        else:
            try:
                for name in tables:
                    for row, times in old.table(name).items():
                        engine.apply(name, row, times)
            except UNDEFINED:
                engine = recomputed(program, old)
            engine.drain_all()
        # Only now: a row that cannot be computed leaves the old engine as it is.
        self.engine, self._statements = engine, {}

    def _inner_first(self) -> list[str]:
        """The flat tables, a row's inner bags before the row."""
        return [name for table in self.tables.values() for name in reversed(table.declarations)]

    def events(self) -> Iterable[Event]:
        """All stored rows, as the events that would bring them here."""
        for name in self._inner_first():
            for row, times in self.engine.table(name).items():
                yield Event(name, row, times)

    def rebuild(self) -> None:
        """Compute every map anew from the tables: after a trigger failed half-way."""
        rows = list(self.events())
        engine = LocalEngine(self.engine.program)
        try:
            for event in rows:
                engine.apply(*event)
        except UNDEFINED:
            # Row by row there was no value on the way; what the rows come to has one.
            engine = recomputed(self.engine.program, self.engine)
        engine.drain_all()
        self.engine = engine

    def read(self, name: str) -> ZBag:
        """The answer of a view, nested."""
        if name not in self.flat or (self.uncommitted and self._is_lazy(name)):
            return self.evaluate(name)
        with computing(name):
            return self.engine_of(name).read(name)

    def explain(self, name: str, format: str, code: bool) -> str:
        """How a view is kept, and what that costs."""
        from nestling.database.explain import explain

        return explain(self, name, format, code)

    def evaluate(self, name: str) -> ZBag:
        """The reference meaning of a view on the tables as they are."""
        with computing(name):
            return evaluate(self.views[name].query, self.nested_tables())

    def nested_tables(self) -> dict[str, ZBag]:
        """Every table, its inner bags in their rows."""
        return {name: self.rows(name) for name in self.tables}

    def rows(self, name: str) -> ZBag:
        """The rows of a table, nested."""
        record = self.tables[name].record
        rows = self.engine.table(name).items()
        return ZBag((nested(iter(row), record, self), times) for row, times in rows)

    def by_key(self, table: TableDef, key: Row) -> Row | None:
        """The flat row with this key."""
        return self.engine.by_key(table.name, key)

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table."""
        return self.engine.under(dictionary, label)


def recomputed(program: Program, old: LocalEngine) -> LocalEngine:
    """``program`` over the tables of ``old``, its maps by their meaning: slow, and with no states in between."""
    engine = LocalEngine(program)
    tables = {name: old.table(name) if name in old.program.tables else {} for name in program.tables}
    for name, rows in tables.items():
        engine.load_table(name, rows)
    for name, decl in program.maps.items():
        if decl.role != "watch":
            engine.load_map(name, meaning(decl.query, tables))
    return engine


@contextmanager
def computing(name: str) -> Iterator[None]:
    """Say of an error inside which view it happened in."""
    try:
        yield
    except UNDEFINED as error:
        raise NestlingError(
            f"{name} cannot be computed: {error}", hint="exclude the value in the view, or delete the row"
        ) from error


def _first(value: Any) -> Any:
    return _first(value[0]) if isinstance(value, tuple) and value else value


def _first_type(type_: Type) -> Type:
    return _first_type(type_.types[0]) if isinstance(type_, Record) and type_.fields else type_


def _starts(row: Any, first: Any) -> bool:
    """Whether ``first`` is the row, its first column, or a tuple of its first columns."""
    if not isinstance(row, tuple) or row == first:
        return bool(row == first)
    return bool(row[:1] == (first,) or (isinstance(first, tuple) and row[: len(first)] == first))


def identity(decl: MapDecl) -> tuple[Query, bool, bool]:
    """What tells a map from every other, however it is called."""
    return (canonical(decl.query), decl.ordered, decl.role in ("lift", "count"))
