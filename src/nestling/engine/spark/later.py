"""A program that is run later than the one beside it: what its tables gained since then waits.

Both have their relations in one lake. The later program has maps of its own, and for every table that these follow a
relation of the rows that it has not seen, which a batch adds to with all else that it stores. Tables are sums of what
came and went, so a table as the program last saw it is the table as it is, less what waits: no copy is kept. What waits
is summed when it is run, as one batch, and what came and went in between is not run.

Law (9): when it is read, it answers what it would had it seen every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus.lex import word
from nestling.engine.spark.columns import Layout, layouts, table_layout
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.state import Moment, Part, register_frame
from nestling.program.batches import change_of
from nestling.program.statements import Program
from nestling.program.steps import needed


def waiting_for(view: str, program: Program) -> dict[str, str]:
    """What the relations of rows that ``view`` has not seen are called, by table."""
    found = set(needed(program, sorted(program.maps)))
    return {
        table: f"·{word(table)} waiting for {word(view)}"
        for table in program.tables
        if table in found or change_of(table) in found
    }


def later_layouts(view: str, program: Program) -> dict[str, Layout]:
    """The relations of a program that is run later, besides its tables."""
    waiting = waiting_for(view, program)
    own = {name: layout for name, layout in layouts(program).items() if name not in program.tables}
    return own | {name: table_layout(program.tables[table]) for table, name in waiting.items()}


class Later:
    """The program of one view, run when somebody reads it. ``keys``: under which names the lake has its relations.

    Until it is first run nothing waits: it then starts from the tables as they are.
    """

    def __init__(self, view: str, program: Program, engine: SparkEngine, keys: Mapping[str, str]) -> None:
        self.program, self.engine, self.keys = program, engine, keys
        self.relations = waiting_for(view, program)
        #: Sees what a run leads to before it is stored, and may add to it.
        self.accept: Callable[[Moment], None] = lambda moment: None

    @property
    def is_started(self) -> bool:
        """Whether its maps are there; what a batch changes has to wait then."""
        assert self.engine.durable is not None
        return self.keys.keys() <= self.engine.durable.keys.keys()

    @property
    def waiting(self) -> int:
        """How many rows wait, those that came and went among them."""
        return sum(self.engine.now.stored[name].rows for name in self.relations.values())

    def note(self, moment: Moment, before: Moment) -> None:
        """Let what a batch added to tables wait."""
        if not self.is_started:
            return
        for table, name in self.relations.items():
            for part in moment.stored[table].files:
                if part not in before.stored[table].files:
                    moment.add(name, part)
            for rows in moment.added.get(table, ()):
                moment.add(name, rows)

    def fresh(self) -> SparkEngine:
        """An engine that reads it, all changes seen."""
        if not self.is_started:
            self._start()
        elif self.waiting:
            self._run()
        return self.engine.beside(self.program)

    def _start(self) -> None:
        """Compute its maps from the tables as they are."""
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
        """Run what waits, as one batch."""
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


def without(now: Moment, changes: Mapping[str, Any]) -> Moment:
    """The moment before ``changes`` of its tables."""
    import pyarrow.compute as pc

    then = now.next()
    for table, rows in changes.items():
        if isinstance(rows, Part):
            columns = ", ".join([*now.layouts[table].key_names, "-m0 AS m0"])
            negated = now.session.sql(f"SELECT {columns} FROM {rows.view}")
            then.add(table, register_frame(negated, rows.rows))
        else:
            place = rows.schema.get_field_index("m0")
            then.add(table, rows.set_column(place, "m0", pc.negate_checked(rows.column("m0"))))
    return then
