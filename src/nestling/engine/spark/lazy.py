"""The program of a lazy view: the changes of its tables are pending until it is read.

It shares a lake with the eager program. It has its own maps, and for every table that they depend on a relation of
pending rows, to which each batch appends in its own epoch. Tables are sums of changes, so the state that the lazy
program last saw is the table minus its pending rows: no copy is stored. A reading sums the pending rows and applies
them as one batch; a row that was inserted and deleted in between costs nothing.

Law (9): when it is read, it answers what it would had it seen every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus.lex import word
from nestling.engine.spark.columns import Layout, layouts, table_layout
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.state import LakeState, TempView, register_frame
from nestling.program.batches import change_of
from nestling.program.statements import Program
from nestling.program.steps import needed


def pending_names(view: str, program: Program) -> dict[str, str]:
    """The names of the relations of pending rows of ``view``, by table."""
    found = set(needed(program, sorted(program.maps)))
    return {
        table: f"·{word(table)} waiting for {word(view)}"
        for table in program.tables
        if table in found or change_of(table) in found
    }


def lazy_layouts(view: str, program: Program) -> dict[str, Layout]:
    """The layouts of a lazy program's relations, besides its tables."""
    waiting = pending_names(view, program)
    own = {name: layout for name, layout in layouts(program).items() if name not in program.tables}
    return own | {name: table_layout(program.tables[table]) for table, name in waiting.items()}


class LazyProgram:
    """The program of one lazy view. ``keys`` maps its relations to those of the lake.

    Until it is first read nothing is pending: the first reading computes its maps from the tables.
    """

    def __init__(self, view: str, program: Program, engine: SparkEngine, keys: Mapping[str, str]) -> None:
        self.program, self.engine, self.keys = program, engine, keys
        self.relations = pending_names(view, program)
        #: Sees what a run leads to before it is stored, and may add to it.
        self.accept: Callable[[LakeState], None] = lambda moment: None

    @property
    def is_started(self) -> bool:
        """Whether its maps exist; from then on, batches add pending rows."""
        assert self.engine.durable is not None
        return self.keys.keys() <= self.engine.durable.keys.keys()

    @property
    def waiting(self) -> int:
        """How many rows are pending, including those that cancel."""
        return sum(self.engine.now.stored[name].rows for name in self.relations.values())

    def note(self, moment: LakeState, before: LakeState) -> None:
        """Add the rows of a batch to the pending ones."""
        if not self.is_started:
            return
        for table, name in self.relations.items():
            for part in moment.stored[table].files:
                if part not in before.stored[table].files:
                    moment.add(name, part)
            for rows in moment.added.get(table, ()):
                moment.add(name, rows)

    def fresh(self) -> SparkEngine:
        """An engine for reading, after all pending rows are applied."""
        if not self.is_started:
            self._start()
        elif self.waiting:
            self._run()
        return self.engine.beside(self.program)

    def _start(self) -> None:
        """Compute its maps from the current tables."""
        engine = self.engine
        assert engine.durable is not None
        there = dict(engine.durable.keys)
        missing = {name for name in self.program.maps if name in self.keys}
        if not self.waiting:
            missing -= there.keys()
        engine.durable.keys |= self.keys
        try:
            scratch = engine.beside(self.program).computed(engine.now, missing)
            after = engine.now.next()
            after.stored |= {name: scratch.stored[name] for name in missing}
            for name in self.relations.values():
                after.empty(name)
            engine.store(after, engine.durable.note, large=True)
        except BaseException:
            engine.durable.keys = there
            raise

    def _run(self) -> None:
        """Apply the pending rows as one batch."""
        engine = self.engine
        assert engine.durable is not None
        some = {table: name for table, name in self.relations.items() if engine.now.stored[name].rows}
        changes = {table: engine.gathered(name) for table, name in some.items()}
        then = without(engine.now, changes)
        try:
            moment, large = engine.beside(self.program, then).after(changes)
            after = engine.now.next()
            for name in self.program.maps:
                after.stored[name] = moment.stored[name]
                if name in moment.added:
                    after.added[name] = moment.added[name]
            for name in self.relations.values():
                after.empty(name)
            self.accept(after)
            engine.store(after, engine.durable.note, large)
            moment.drop_views(engine.now, files=True)
        finally:
            then.drop_views(engine.now)


def without(now: LakeState, changes: Mapping[str, Any]) -> LakeState:
    """The state before ``changes`` of its tables."""
    import pyarrow.compute as pc

    then = now.next()
    for table, rows in changes.items():
        if isinstance(rows, TempView):
            columns = ", ".join([*now.layouts[table].key_names, "-m0 AS m0"])
            negated = now.session.sql(f"SELECT {columns} FROM {rows.view}")
            then.add(table, register_frame(negated, rows.rows))
        else:
            place = rows.schema.get_field_index("m0")
            then.add(table, rows.set_column(place, "m0", pc.negate_checked(rows.column("m0"))))
    return then
