"""The running state: one program for all views that are kept eagerly, and what to do when a trigger fails.

Views that no program can maintain are evaluated by the reference when they are read; ``explain`` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.calculus.evaluate import evaluate
from nestling.database.change import Change
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.rows import Event, Row, nested
from nestling.database.watching import read_change
from nestling.engine.local.engine import LocalEngine
from nestling.program.flat import Query
from nestling.program.statements import Add, MapDecl, Propagate, TableDecl
from nestling.program.traverse import canonical
from nestling.transform.lower import FlatView, lower
from nestling.transform.lower.view import CannotLower
from nestling.transform.normalize import normalize
from nestling.transform.shred import shred
from nestling.transform.simplify import simplify
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.watch import Watch, watches
from nestling.values.bag import ZBag
from nestling.values.label import Label


class State:
    """Tables, the views over them, and the engine that keeps both."""

    def __init__(self) -> None:
        self.tables: dict[str, TableDef] = {}
        self.views: dict[str, ViewDef] = {}
        self.flat: dict[str, FlatView] = {}
        self.reasons: dict[str, str] = {}
        self.watched: dict[str, list[Watch]] = {}
        self._before: dict[str, ZBag] = {}
        self._statements: dict[str, int] = {}
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
        self._install()

    def define(self, view: ViewDef) -> None:
        """Compile ``view`` as far as it goes; where it cannot be maintained, note why."""
        try:
            flat = lower(shred(normalize(simplify(normalize(view.query)))))
            compile_views(self.declarations(), {view.name: flat})
            self.flat[view.name] = flat
        except (CannotLower, CannotCompile) as reason:
            self.reasons[view.name] = str(reason)
        self.views[view.name] = view

    def install(self) -> None:
        """An engine for what is defined, with nothing in it."""
        self.engine = LocalEngine(compile_views(self.declarations(), self.flat))
        self._statements = {}

    def drop_view(self, name: str) -> None:
        del self.views[name]
        self.flat.pop(name, None)
        self.reasons.pop(name, None)
        self.watched.pop(name, None)
        self._before.pop(name, None)
        self._install()

    def watch(self, name: str) -> None:
        """Log the changes of a view from now on."""
        levels = watches(name, self.flat[name], self.declarations()) if name in self.flat else []
        self.watched[name] = levels
        try:
            self._install()
        except CannotCompile:
            self.watched[name] = []
            self._install()
        if not self.watched[name]:
            self._before[name] = self.read(name)

    def change(self, name: str, version: int) -> Change:
        """What changed in a watched view since the last call."""
        if self.watched[name]:
            return read_change(self.engine, name, version, self.watched[name])
        # No log can be kept of this view: compare its answers.
        before, now = self._before[name], self.read(name)
        self._before[name] = now
        return Change(name, version, self.views[name].element, now - before)

    def statements_of(self, table: str) -> int:
        """How many maintenance statements one row of ``table`` sets off."""
        if table not in self._statements:
            self._statements[table] = self._count_statements(table)
        return self._statements[table]

    def _count_statements(self, table: str) -> int:
        return sum(
            1 if isinstance(action, Add) else sum(len(adds) for _, adds in action.events)
            for action in self.engine.program.triggers[table].actions
            if isinstance(action, Add | Propagate)
        )

    def find(self, name: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        plan = self.engine.program.views.get(name)
        if plan is not None and plan.lookup is not None:
            return self.engine.find(name, first)
        return ZBag((row, n) for row, n in self.read(name).items() if _first(row) == first)

    def drop_table(self, name: str) -> None:
        del self.tables[name]
        self._install()

    def _install(self) -> None:
        """A new engine for what is defined now; maps that stay keep their contents."""
        old = self.engine
        logs = {level.name: level.query for levels in self.watched.values() for level in levels}
        program = compile_views(self.declarations(), self.flat, logs)
        self.engine = LocalEngine(program)
        self._statements = {}
        kept = {identity(decl): name for name, decl in old.program.maps.items() if decl.role != "watch"}
        made = {name: identity(decl) for name, decl in program.maps.items() if decl.role != "watch"}
        tables = [name for name in program.tables if name in old.program.tables]
        if all(key in kept for key in made.values()):
            for name in tables:
                self.engine.load_table(name, old.table(name))
            for name, key in made.items():
                self.engine.load_map(name, old.cells(kept[key]))
        else:
            for name in tables:
                for row, times in old.table(name).items():
                    self.engine.apply(name, row, times)
            self.engine.drain_all()

    def events(self) -> Iterable[Event]:
        """All stored rows, as the events that would bring them here."""
        for name in self.engine.program.tables:
            for row, times in self.engine.table(name).items():
                yield Event(name, row, times)

    def rebuild(self) -> None:
        """Compute every map anew from the tables: after a trigger failed half-way."""
        rows = list(self.events())
        engine = LocalEngine(self.engine.program)
        for event in rows:
            engine.apply(*event)
        self.engine = engine

    def read(self, name: str) -> ZBag:
        """The answer of a view, nested."""
        if name in self.flat:
            return self.engine.read(name)
        return self.evaluate(name)

    def evaluate(self, name: str) -> ZBag:
        """The reference meaning of a view on the tables as they are."""
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


def _first(row: Any) -> Any:
    return row[0] if isinstance(row, tuple) and row else row


def identity(decl: MapDecl) -> tuple[Query, bool, bool]:
    """What tells a map from every other, however it is called."""
    return (canonical(decl.query), decl.ordered, decl.role in ("lift", "count"))
