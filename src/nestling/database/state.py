"""The running state: one program for all views that are kept eagerly.

Views that no program can maintain are evaluated by the reference when they are read; ``explain`` says so. A view whose
query does not have a value on every state is kept as a query that has, beside one that says where the first has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import Expr
from nestling.database.bulk import computed, filled
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.first import first_leaf, first_type, starts
from nestling.database.lazy import LazyView, Pending
from nestling.database.logs import Logging
from nestling.database.rows import Event, Row, nested
from nestling.database.storing import Decision, decide
from nestling.database.watching import Levels
from nestling.engine.local.engine import LocalEngine
from nestling.errors import UNDEFINED, ChangeError, NestlingError, QueryError, brief
from nestling.frontend.schema import element_value
from nestling.program.statements import Program, TableDecl
from nestling.program.steps import trigger_statements
from nestling.transform.lower import FlatView
from nestling.transform.pipeline import EMBEDDED, by_rows, compile_view
from nestling.transform.viewlet import compile_views
from nestling.transform.viewlet.choose import KNOB
from nestling.transform.viewlet.defer import deferred
from nestling.transform.viewlet.storing import BY_KEYS, Storing
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label

NOTHING_KEPT = 'store="none": nothing is kept of it'
EXCLUDE = "exclude the value in the view (… if y != 0), or delete the row"


class State:
    """Tables, the views over them, and the engine that keeps both."""

    def __init__(self) -> None:
        self.tables: dict[str, TableDef] = {}
        self.views: dict[str, ViewDef] = {}
        self.flat: dict[str, FlatView] = {}
        #: Why a view is evaluated when it is read; and in a word.
        self.reasons: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        #: Of views that need not have a value: the query that says where they have none, and its flat form.
        self.undefined: dict[str, Expr] = {}
        self.guards: dict[str, FlatView] = {}
        self.decisions: dict[str, Decision] = {}
        #: What all views may take, in bytes; and how many rows there were when that was last looked at.
        self.memory: int | None = None
        self.looked_at = 0
        self.watched: dict[str, Levels] = {}
        #: Of watched views of which nothing can be logged: the last answer. And who hears that a view becomes one.
        self.compared: dict[str, ZBag] = {}
        self.logging = Logging(self)
        self.before_unlogged: Callable[[str], None] = lambda name: None
        self._statements: dict[str, int] = {}
        self.lazy: dict[str, LazyView] = {}
        self.uncommitted: list[Event] = []
        self.engine = LocalEngine(compile_views({}, {}))

    def declarations(self) -> dict[str, TableDecl]:
        """The flat tables of all tables."""
        return {name: decl for table in self.tables.values() for name, decl in table.declarations.items()}

    def table(self, name: str) -> TableDef:
        """The table that a change names."""
        try:
            return self.tables[name]
        except (KeyError, TypeError):
            known = ", ".join(self.tables) or "none yet"
            raise ChangeError(f"there is no table {brief(name)}", hint=f"tables: {known}") from None

    def add_table(self, table: TableDef) -> None:
        self.tables[table.name] = table
        self._install()

    def definitions(self) -> dict[str, Any]:
        """All there is now, to go back to: an engine that is replaced is not changed."""
        return {name: dict(part) if isinstance(part, dict) else part for name, part in vars(self).items()}

    def go_back_to(self, definitions: dict[str, Any]) -> None:
        """Be what ``definitions`` was."""
        vars(self).update(definitions)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What the block changes of the definitions is changed at its end, or nothing is."""
        before = self.definitions()
        try:
            yield
        except BaseException:
            self.go_back_to(before)
            raise

    def add_view(self, view: ViewDef) -> None:
        """Compile ``view`` and bring its maps up to date with the rows that are there."""
        self.define(view)
        try:
            self._install()
            self.engine.check()
            absent = "" if view.refresh == "lazy" else self.absent(view.name)
        except UNDEFINED as error:
            absent = str(error)
        if absent:
            raise QueryError(
                f"{view.name} cannot be computed from the rows that are there: {absent}", hint=EXCLUDE
            )

    def define(self, view: ViewDef, remembered: dict[str, Any] | None = None) -> None:
        """Compile ``view`` as far as it goes; where it cannot be maintained, note why.

        What is ``remembered`` of how it was stored stays so.
        """
        self.views[view.name] = view
        plan = partial(self._plan, view, remembered) if view.store != "none" else None
        compiled = compile_view(view.query, EMBEDDED, plan, partial(self._plan_guard, view.name))
        if compiled.may_have_no_value:
            self.undefined[view.name] = compiled.undefined
        if compiled.guard is not None:
            self.guards[view.name] = compiled.guard
        if compiled.reason:
            self.reasons[view.name], self.codes[view.name] = compiled.reason, compiled.code
        elif plan is None:
            self.reasons[view.name], self.codes[view.name] = NOTHING_KEPT, KNOB

    def _plan(self, view: ViewDef, remembered: dict[str, Any] | None, flat: FlatView) -> Program | None:
        decision = decide(self, view, flat, remembered)
        self._keep(view.name, decision)
        return decision.program

    def _plan_guard(self, name: str, guard: FlatView) -> Program | None:
        return by_rows(self.declarations(), self._guarded_by(name))(guard)

    def _keep(self, name: str, decision: Decision) -> None:
        self.decisions[name] = replace(decision, program=None)
        if decision.storing is not None:
            self.flat[name] = decision.view
        else:
            self.flat.pop(name, None)
            self.reasons[name], self.codes[name] = decision.why, decision.code

    def decided(self, name: str, decision: Decision) -> None:
        """Store a view in another way from now on."""
        with self.whole():
            if name in self.watched:
                self.before_unlogged(name)  # what somebody holds is read while it can be
            self._keep(name, decision)
            self.lazy.pop(name, None)
            if name in self.watched and decision.storing is None:
                self.watched[name], self.compared[name] = Levels(), self.evaluate(name)
            self._install()
            if name in self.watched and self.is_apart(name):
                self.logging.keep(name, self.watched[name])

    def absent(self, name: str) -> str:
        """Where a view has no value now: one of the terms, or nothing."""
        if name not in self.undefined:
            return ""
        lazy = self.views[name].refresh == "lazy"
        engine = self.engine_of(name) if lazy else self.engine
        if guard_of(name) in engine.program.views and not engine.is_torn:
            texts = engine.texts(guard_of(name))
        else:
            texts = list(evaluate(self.undefined[name], self.nested_tables()))
        return f"{min(texts)} has no value" if texts else ""

    def refused(self) -> tuple[str, str] | None:
        """A view that is kept eagerly and has no value now, and the term that has none."""
        for name in self.undefined:
            if self.views[name].refresh != "lazy" and (absent := self.absent(name)):
                return name, absent
        return None

    def is_apart(self, name: str) -> bool:
        """Whether a view has an engine of its own."""
        return name in self.flat and self.views[name].refresh == "lazy"

    def _eager(self) -> dict[str, FlatView]:
        return {name: view for name, view in self.flat.items() if not self.is_apart(name)}

    def _program(self) -> Program:
        watched = [levels for name, levels in self.watched.items() if not self.is_apart(name)]
        logs = {level.name: level.query for levels in watched for level in levels}
        eager = {name for name, view in self.views.items() if view.refresh != "lazy"}
        guards = {guard_of(name): view for name, view in self.guards.items() if name in eager}
        program = compile_views(self.declarations(), self._eager() | guards, logs, self._stored())
        patient = {name for name in self.flat if self.views[name].refresh == "hybrid"}
        return replace(program, deferred=deferred(program, patient))

    def _stored(self) -> dict[str, Storing]:
        """How each view is stored."""
        found = {name: self.decisions[name].storing for name in self.flat}
        guards = {guard_of(name): self._guarded_by(name) for name in self.guards}
        return {name: storing for name, storing in found.items() if storing is not None} | guards

    def _guarded_by(self, name: str) -> Storing:
        """How the guard of a view is stored: by the same rule, so that the two share their maps."""
        decision = self.decisions.get(name)
        chosen = decision.storing if decision else None
        return replace(chosen, rows=False, bags=frozenset()) if chosen else BY_KEYS

    def engine_of(self, name: str) -> LocalEngine:
        """The engine that answers for a view, up to date."""
        if not self.is_apart(name):
            return self.engine
        return self.later(name).fresh()

    def later(self, name: str) -> LazyView:
        """A view that has an engine of its own."""
        if name not in self.lazy or self.lazy[name].torn:
            made = self.started_later(name)
            made.load(self._rows_of(made.reads))
            # It is told of the changes of an open transaction when that is committed.
            made.note(Event(table, row, -times) for table, row, times in self.uncommitted)
            if name in self.watched:
                made.watch({level.name: level.query for level in self.watched[name]})
            self.lazy[name] = made
        return self.lazy[name]

    def started_later(self, name: str) -> LazyView:
        """Such a view, with nothing in it."""
        guards = {guard_of(name): self.guards[name]} if name in self.guards else {}
        return LazyView(name, self.flat[name], self.declarations(), self._stored()[name], guards)

    def _rows_of(self, tables: Iterable[str]) -> dict[str, dict[Row, int]]:
        return {name: self.engine.table(name) for name in tables}

    def restore_later(self, name: str, maps: Mapping[str, Mapping[Row, Row]], pending: Pending) -> None:
        """Go on with a view that has an engine of its own where it was."""
        made = self.started_later(name)
        made.restore(self._rows_of(made.reads), maps, pending)
        self.lazy[name] = made

    def committed(self, events: Sequence[Event]) -> None:
        """Tell the views that are refreshed later."""
        for view in self.lazy.values():
            view.note(events)

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
        self.undefined.pop(name, None)
        self.guards.pop(name, None)
        self.decisions.pop(name, None)
        self.watched.pop(name, None)
        self.compared.pop(name, None)
        self.lazy.pop(name, None)

    def statements_of(self, table: str) -> int:
        """How many maintenance statements one row of ``table`` sets off."""
        if table not in self._statements:
            self._statements[table] = len(list(trigger_statements(self.engine.program.triggers[table])))
        return self._statements[table]

    def find(self, name: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        try:
            leaf = element_value(first_type(self.views[name].element), first_leaf(first))
        except ChangeError:
            return EMPTY  # a value of another type is in no row
        with self.computing(name):
            rows = self._found(name, leaf)
        return ZBag((row, n) for row, n in rows.items() if starts(row, first))

    def _found(self, name: str, leaf: Any) -> ZBag:
        if not self._reads_tables(name):
            engine = self.engine_of(name)
            if engine.program.views[name].lookup is not None:
                return engine.find(name, leaf)
        return self.read(name)

    def _reads_tables(self, name: str) -> bool:
        """Whether the reference answers for a view: nothing is kept of it, or not yet of the open transaction."""
        return name not in self.flat or (bool(self.uncommitted) and self.is_apart(name))

    def drop_table(self, name: str) -> None:
        del self.tables[name]
        self._install()

    def _install(self) -> None:
        """A new engine for what is defined now; maps that stay keep their contents."""
        # A row that cannot be computed leaves the old engine as it is.
        self.engine = filled(self._program(), self.engine)
        self._statements = {}

    def _inner_first(self) -> list[str]:
        """The flat tables, a row's inner bags before the row."""
        return [name for table in self.tables.values() for name in reversed(table.declarations)]

    def events(self) -> Iterable[Event]:
        """All stored rows, as the events that would bring them here."""
        for name in self._inner_first():
            for row, times in self.engine.table(name).items():
                yield Event(name, row, times)

    def rebuild(self) -> None:
        """Compute every map anew from the tables."""
        self.restore({})

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
        self.engine = computed(self.engine.program, tables)
        # A lazy view that was told of some events starts anew; what somebody listens to, from here.
        self.uncommitted, self.lazy = [], {}
        for name in self.watched:
            if self.is_apart(name):
                self.later(name)
        for name in self.compared:
            self.compared[name] = self.read(name)

    def read(self, name: str) -> ZBag:
        """The answer of a view, nested."""
        if self._reads_tables(name):
            return self.evaluate(name)
        with self.computing(name):
            return self.engine_of(name).read(name)

    def explain(self, name: str, format: str, code: bool) -> str:
        """How a view is kept, and what that costs."""
        from nestling.database.explain import explain

        return explain(self, name, format, code)

    def verify(self, name: str, maps: bool) -> None:
        """Compute a view anew and compare."""
        from nestling.database.inspect import verify

        verify(self, name, maps)

    @contextmanager
    def computing(self, name: str) -> Iterator[None]:
        """What is read of a view that has no value is not its answer."""
        with computing(name):
            if absent := self.absent(name):
                raise NestlingError(f"{name} cannot be computed: {absent}", hint=EXCLUDE)
            yield

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

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag of a table."""
        return self.engine.under(dictionary, label)


@contextmanager
def computing(name: str) -> Iterator[None]:
    """Say of an error inside which view it happened in."""
    try:
        yield
    except UNDEFINED as error:
        raise NestlingError(f"{name} cannot be computed: {error}", hint=EXCLUDE) from error


def guard_of(name: str) -> str:
    """What the query that says where a view has no value is called in programs."""
    return f"·undefined {name}"
