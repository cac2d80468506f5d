"""What a running program stores and does for one view, among all it does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from nestling.database.explain.columns import columns_of, last, measures
from nestling.database.explain.report import MapReport, TableReport, TriggerReport
from nestling.database.explain.work import Workbook
from nestling.database.state import State
from nestling.engine.described import Described, Places
from nestling.program.show import show_query
from nestling.program.statements import Find, MapDecl, Statement, ViewPlan
from nestling.program.steps import needed, plans, reads, trigger_statements

WIDTH = 92
PURPOSES = {
    "rows": "part of the answer",
    "bags": "inner bags, whole",
    "aux": "partner of a change",
    "lift": "what an aggregate is read from",
    "count": "the counts behind a count-wise operator",
    "watch": "what changed, for those who asked to be told",
}


@dataclass(frozen=True)
class Facts:
    """What a running program does for one view."""

    state: State
    name: str

    @cached_property
    def engine(self) -> Described:
        """What the engine says that answers for the view; a lazy one has its own."""
        return self.state.described(self.name)

    @cached_property
    def book(self) -> Workbook:
        return Workbook(self.engine)

    @cached_property
    def view(self) -> ViewPlan:
        return self.engine.program.views[self.name]

    @cached_property
    def sources(self) -> list[str]:
        """The maps and tables that the view needs, those it is read from first."""
        return self.sources_of(self.name)

    @cached_property
    def others(self) -> dict[str, list[str]]:
        """What the other views need."""
        return {other: self.sources_of(other) for other in self.engine.program.views if other != self.name}

    def sources_of(self, name: str) -> list[str]:
        program = self.engine.program
        read = [source for plan in plans(program.views[name]) for s in plan.statements for source in reads(s)]
        watches = [level.name for level in self.state.views.watched.get(name, ())]
        return needed(program, list(dict.fromkeys([*read, *watches])))

    @cached_property
    def maps(self) -> list[str]:
        return [source for source in self.sources if source in self.engine.program.maps]

    @cached_property
    def tables(self) -> list[str]:
        """The flat tables that the view reads or that change what it reads, in order of declaration."""
        program = self.engine.program
        targets = set(self.maps)
        return [
            name
            for name in dict.fromkeys([*program.triggers, *program.tables])
            if name in program.tables
            and (name in self.sources or any(s.target in targets for s in self.statements(name)))
        ]

    def statements(self, table: str) -> list[Statement]:
        """What a change of a table runs: nothing where the view is computed by whoever reads it."""
        triggers = self.engine.program.triggers
        return list(trigger_statements(triggers[table])) if table in triggers else []

    @cached_property
    def triggers(self) -> list[TriggerReport]:
        return [self.book.trigger(table, set(self.maps)) for table in self.tables]

    @cached_property
    def uses(self) -> list[tuple[str, Statement]]:
        """Every statement that serves the view, with where it runs."""
        targets = set(self.maps)
        found = [("the view", s) for plan in plans(self.view) for s in plan.statements]
        for table in self.tables:
            for statement in self.statements(table):
                if statement.target in targets:
                    found.append((f"on {table}", statement))
        return found

    def read_by(self, source: str) -> list[str]:
        return list(dict.fromkeys(where for where, s in self.uses if source in reads(s)))

    def indexes(self, source: str) -> list[Places]:
        patterns = self.engine.indexes(source)
        steps = [step for _, s in self.uses for step in s.steps if isinstance(step, Find)]
        return sorted({step.known for step in steps if step.source == source and step.known in patterns})

    def index_names(self, source: str) -> list[list[str]]:
        return [self.book.attributes(source, known) for known in self.indexes(source)]

    def map_reports(self) -> list[MapReport]:
        """What is stored for the view."""
        return [self.map(self.engine.program.maps[name]) for name in self.maps]

    def map(self, decl: MapDecl) -> MapReport:
        engine, name = self.engine, decl.name
        shared = [other for other, sources in self.others.items() if name in sources]
        return MapReport(
            name, columns_of(engine.program, name), measures(decl, engine.program.tables),
            decl.role, PURPOSES.get(decl.role, decl.role), decl.why, show_query(decl.query, WIDTH),
            self.read_by(name), shared, self.index_names(name),
            engine.entries(name), engine.bytes(name, self.indexes(name)),
        )  # fmt: skip

    def table_reports(self) -> list[TableReport]:
        """The tables that it reads, or that change what it reads."""
        return [self.table(name) for name in self.tables]

    def table(self, name: str) -> TableReport:
        engine, decl = self.engine, self.engine.program.tables[name]
        columns = [last(column.name) for column in decl.columns]
        return TableReport(
            name, columns, [columns[i] for i in decl.key], self.index_names(name), self.read_by(name),
            engine.entries(name), engine.bytes(name, self.indexes(name)),
        )  # fmt: skip
