"""The running state on Spark: one program for batches, its engine, and the lake that keeps both.

What has no program is refused when it is defined: the reference would bring all tables to the driver at every read.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from typing import Any

from nestling.database.change import Change
from nestling.database.definitions import ViewDef
from nestling.database.durable import map_name, read_table, read_view, table_text, view_text
from nestling.database.spark.arriving import kept
from nestling.database.spark.buffer import Buffer
from nestling.database.spark.explain import explain
from nestling.database.state import UNDEFINED, State, computing
from nestling.database.watching import Answer
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.refuse import check_program
from nestling.errors import NestlingError, QueryError
from nestling.program.statements import Program
from nestling.program.steps import needed, plans, reads, trigger_statements
from nestling.storage.lake import Lake
from nestling.transform.lower import lower
from nestling.transform.lower.view import CannotLower
from nestling.transform.normalize import normalize
from nestling.transform.shred import shred
from nestling.transform.simplify import simplify
from nestling.transform.viewlet.batch import compile_batches
from nestling.transform.viewlet.compile import CannotCompile
from nestling.transform.viewlet.storing import Store
from nestling.values.bag import ZBag
from nestling.values.label import Label


class SparkState(State):
    """Tables and views in a lake."""

    def __init__(self, spark: Any, lake: Lake) -> None:
        super().__init__()
        self.spark, self.lake = spark, lake
        #: Changes and readings are one at a time: streams bring changes from threads of their own.
        self.lock = RLock()
        for kind, name, text in lake.manifest.definitions:
            if kind == "table":
                self.tables[name] = read_table(name, text)
            else:
                self.define(*read_view(name, text, self))
        self.running = self._started(compile_batches(self.declarations(), self.flat, store=self._knobs()))
        self.buffer = Buffer(self.running)
        self.engine: Any = self.buffer  # all that a transaction asks of an engine

    def _knobs(self) -> dict[str, Any]:
        return {name: knob(self.views[name]) for name in self.flat}

    def _started(self, program: Program) -> SparkEngine:
        keys = {name: f"table {name}" for name in program.tables}
        keys |= {name: map_name(decl) for name, decl in program.maps.items() if decl.role != "watch"}
        return SparkEngine(program, self.spark, self.lake, keys)

    @property
    def note(self) -> dict[str, Any]:
        """What was stored with the last change."""
        durable = self.running.durable
        return dict(durable.note) if durable is not None else {}

    # -- definitions

    def define(self, view: ViewDef, remembered: dict[str, Any] | None = None) -> None:
        if view.refresh != "eager" or view.store == "none":
            raise QueryError(
                f"{view.name}: refresh={view.refresh!r}, store={view.store!r} is not on Spark yet",
                hint="leave both out",
            )
        try:
            flat = lower(shred(normalize(simplify(normalize(view.query)))))
            program = compile_batches(self.declarations(), {view.name: flat}, store={view.name: knob(view)})
        except (CannotLower, CannotCompile) as reason:
            raise QueryError(
                f"{view.name} cannot be maintained: {reason}",
                hint="on Spark a view is not evaluated when read",
            ) from reason
        check_program(program, layouts(program))
        self.views[view.name], self.flat[view.name] = view, flat

    def add_view(self, view: ViewDef) -> None:
        self.define(view)
        try:
            self._install()
        except QueryError:
            self._forget(view.name)
            raise
        except UNDEFINED as error:
            self._forget(view.name)
            raise QueryError(
                f"{view.name} cannot be computed from the rows that are there: {error}",
                hint="exclude the value in the view, or delete the row first",
            ) from error

    def _install(self) -> None:
        """A new engine over what is stored; maps that stay keep their files, new ones are computed in bulk."""
        if not hasattr(self, "running"):
            return
        before = self.running
        program = compile_batches(self.declarations(), self.flat, store=self._knobs())
        if before.durable is not None:
            before.now = before.durable.tidy(before.now)
        engine = self._started(program)
        if engine.durable is not None:
            engine.durable.note = self.note
            engine.now = engine.durable.tidy(engine.now, self._definitions())
        self.running, self._statements = engine, {}
        self.buffer.stored = engine
        self.buffer.clear()

    def _definitions(self) -> tuple[tuple[str, str, str], ...]:
        tables = [("table", name, table_text(table)) for name, table in self.tables.items()]
        return (*tables, *(("view", name, view_text(view, self)) for name, view in self.views.items()))

    # -- reading

    def read(self, name: str) -> ZBag:
        with self.lock, computing(name):
            self.check_committed()
            return self.running.read(name)

    def find(self, name: str, first: Any) -> ZBag:
        with self.lock, computing(name):
            self.check_committed()
            plan = self.running.program.views[name]
            if plan.lookup is not None and not isinstance(first, tuple):
                return self.running.find(name, first)
        return ZBag((row, n) for row, n in self.read(name).items() if _starts(row, first))

    def check_committed(self) -> None:
        if self.buffer.pending:
            raise NestlingError(
                "a view on Spark is brought up to date when its transaction ends", hint="read it after that"
            )

    def rows(self, name: str) -> ZBag:
        with self.lock:
            self.check_committed()
            return self.running.nested_table(name, self.tables[name].record)

    def rows_where(self, name: str, where: Any) -> Any:
        """The rows of a table for which ``where`` holds, as a DataFrame."""
        record = self.table(name).record
        return kept(self.running.table_frame(name, record), record, where)

    def under(self, dictionary: str, label: Label) -> dict[Any, int]:
        return self.buffer.under(dictionary, label)

    def statements_of(self, table: str) -> int:
        return 0  # statements are counted per batch

    def batch_statements(self, tables: Iterable[str]) -> int:
        """How many statements a batch of changes of ``tables`` runs."""
        triggers = self.running.program.triggers
        return sum(len(list(trigger_statements(triggers[table]))) for table in tables)

    def stats(self, name: str) -> dict[str, Any]:
        program = self.running.program
        read = [s for plan in plans(program.views[name]) for st in plan.statements for s in reads(st)]
        maps = [source for source in needed(program, read) if source in program.maps]
        statements = {
            table: count
            for table, trigger in program.triggers.items()
            if (count := sum(s.target in maps for s in trigger_statements(trigger)))
        }
        stored = {source: self.running.now.stored[source].rows for source in maps}
        return {"rows": self.read(name).total, "maps": stored, "statements": statements, "waiting": 0}

    def explain(self, name: str, format: str, code: bool) -> str:
        if format != "text" or code:
            raise QueryError("on Spark, explain writes plain text", hint="leave format and code out")
        return explain(self, name)

    # -- what is not on Spark

    def watch(self, name: str) -> None:
        raise NestlingError(
            "changes of a view are not told on Spark yet", hint="read the view after a change"
        )

    def change(self, name: str, version: int, answer: Answer) -> Change:
        raise NestlingError("changes of a view are not told on Spark yet")

    def committed(self, events: Any) -> None:
        """No view is refreshed later."""


def knob(view: ViewDef) -> Store:
    """The materialisation knob of a view."""
    store: Store = view.store  # type: ignore[assignment]  # "none" is refused before
    return store


def _starts(row: Any, first: Any) -> bool:
    if not isinstance(row, tuple) or row == first:
        return bool(row == first)
    return bool(row[:1] == (first,) or (isinstance(first, tuple) and row[: len(first)] == first))
