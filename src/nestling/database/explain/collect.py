"""What is known of a view, collected from its query, its program and its engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nestling.calculus.show import brief, show
from nestling.calculus.terms import CountWise, Expr, Fold, Group, SingBag
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import Bag, show_type
from nestling.database.explain.code import functions
from nestling.database.explain.columns import columns_of, last, measures
from nestling.database.explain.readings import readings
from nestling.database.explain.report import Construct, Map, Part, Report, Table, Trigger
from nestling.database.explain.sizes import entries, rough_bytes
from nestling.database.explain.work import Workbook
from nestling.engine.local.storage import Positions
from nestling.program.show import show_query
from nestling.program.statements import Find, MapDecl, Statement, ViewPlan
from nestling.program.steps import needed, plans, reads, trigger_statements
from nestling.transform.classify import THEOREM
from nestling.transform.cost import show_cost, tcost
from nestling.transform.degree import TOP, degree
from nestling.transform.derive import Derivation, derive
from nestling.transform.derive import Part as Derived

if TYPE_CHECKING:
    from nestling.database.state import State

WIDTH = 92
PURPOSES = {
    "rows": "part of the answer",
    "aux": "partner of a change",
    "lift": "read by an aggregate",
    "count": "counts, read by a count-wise operator",
    "watch": "what changed, for those who asked to be told",
}


def collect(state: State, name: str, code: bool = False) -> Report:
    """The report on the view ``name``."""
    deep = {(t.name, path) for t in state.tables.values() for path in t.levels}
    view = state.views[name]
    derivation = derive(name, view.query, frozenset(deep))
    facts = _Facts(state, name) if name in state.flat else None
    return Report(
        view=name,
        type=show_type(Bag(view.element)),
        query=show(view.query, WIDTH),
        reads=sorted(relations(view.query)),
        refresh=view.refresh,
        store=view.store,
        verdict=derivation.classification.verdict.value,
        maintained=facts is not None,
        reason=_without_dump(state.reasons.get(name, "")),
        warnings=_warnings(derivation, facts),
        degree=_degree(max(part.degree for part in derivation.parts)),
        degree_because=_responsible(derivation),
        cost=show_cost(derivation.cost),
        time=str(tcost(derivation.cost)),
        constructs=_constructs(derivation),
        parts=[_part(part) for part in derivation.parts],
        maps=facts.map_reports if facts else [],
        tables=facts.table_reports if facts else [],
        readings=readings(facts.book, facts.view) if facts else [],
        triggers=facts.triggers if facts else [],
        code=functions(state.engine, name, facts.tables) if facts and code else [],
    )


def _constructs(derivation: Derivation) -> list[Construct]:
    classification = derivation.classification
    return [
        Construct(c.class_.code, c.text, c.class_.cost, c.class_.reason, c in classification.obstacles)
        for c in classification.constructs
    ]


def _part(part: Derived) -> Part:
    params = [param.name for param in part.definition.params] if part.definition else []
    return Part(
        part.name, params, show(part.query, WIDTH), show(part.change, WIDTH), _degree(part.degree),
        _not_polynomial(part.query), show_cost(part.cost), show_cost(part.cost_of_change),
    )  # fmt: skip


def _degree(number: float) -> str:
    return "⊤" if number == TOP else str(int(number))


def _not_polynomial(query: Expr) -> str:
    """The first construct of ``query`` that has no degree of its own."""
    for node in walk(query):
        match node:
            case Fold(_, _, source, _) | Group(_, source, _, _, _, _) if degree(source):
                return brief(node, 60)
            case CountWise() | SingBag() if degree(node):
                return brief(node, 60)
    return ""


def _responsible(derivation: Derivation) -> str:
    if all(part.degree < TOP for part in derivation.parts):
        return ""
    outside = [c for c in derivation.classification.constructs if c.class_ not in THEOREM]
    return f"{outside[0].class_.code}: {outside[0].text}" if outside else ""


def _without_dump(reason: str) -> str:
    """``reason`` without the nodes that it may have been raised with."""
    return re.sub(r":? *\[?\b[A-Z][A-Za-z]*\(.*", "", reason, flags=re.DOTALL)


def _warnings(derivation: Derivation, facts: _Facts | None) -> list[str]:
    found = [f"{c.class_.code}: {c.class_.reason}: {c.text}" for c in derivation.classification.obstacles]
    for trigger in facts.triggers if facts else ():
        steps = [s for batch in trigger.batches for work in batch.statements for s in work.steps]
        scanned = dict.fromkeys(step.source for step in steps if step.access == "scan")
        found += [f"a change of {trigger.table} scans {source}" for source in scanned]
    return found


@dataclass(frozen=True)
class _Facts:
    """What a running program does for one view."""

    state: State
    name: str

    @cached_property
    def book(self) -> Workbook:
        return Workbook(self.state.engine)

    @cached_property
    def view(self) -> ViewPlan:
        return self.state.engine.program.views[self.name]

    @cached_property
    def sources(self) -> list[str]:
        """The maps and tables that the view needs, those it is read from first."""
        return self.sources_of(self.name)

    def sources_of(self, name: str) -> list[str]:
        program = self.state.engine.program
        read = [source for plan in plans(program.views[name]) for s in plan.statements for source in reads(s)]
        watches = [level.name for level in self.state.watched.get(name, [])]
        return needed(program, list(dict.fromkeys([*read, *watches])))

    @cached_property
    def maps(self) -> list[str]:
        return [source for source in self.sources if source in self.state.engine.program.maps]

    @cached_property
    def tables(self) -> list[str]:
        """The flat tables that the view reads or that change what it reads, in order of declaration."""
        program = self.state.engine.program
        targets = set(self.maps)
        return [
            name
            for name, trigger in program.triggers.items()
            if name in self.sources or any(s.target in targets for s in trigger_statements(trigger))
        ]

    @cached_property
    def triggers(self) -> list[Trigger]:
        return [self.book.trigger(table, set(self.maps)) for table in self.tables]

    @cached_property
    def uses(self) -> list[tuple[str, Statement]]:
        """Every statement that serves the view, with where it runs."""
        program, targets = self.state.engine.program, set(self.maps)
        found = [("reading", s) for plan in plans(self.view) for s in plan.statements]
        for table in self.tables:
            for statement in trigger_statements(program.triggers[table]):
                if statement.target in targets:
                    found.append((f"on {table}", statement))
        return found

    def read_by(self, source: str) -> list[str]:
        return list(dict.fromkeys(where for where, s in self.uses if source in reads(s)))

    def indexes(self, source: str) -> list[Positions]:
        patterns = self.state.engine.stores[source].patterns
        steps = [step for _, s in self.uses for step in s.steps if isinstance(step, Find)]
        return sorted({step.known for step in steps if step.source == source and step.known in patterns})

    def index_names(self, source: str) -> list[list[str]]:
        return [self.book.attributes(source, known) for known in self.indexes(source)]

    @cached_property
    def map_reports(self) -> list[Map]:
        return [self.map(self.state.engine.program.maps[name]) for name in self.maps]

    def map(self, decl: MapDecl) -> Map:
        engine, name = self.state.engine, decl.name
        others = [other for other in self.state.flat if other != self.name]
        return Map(
            name, columns_of(engine.program, name), measures(decl, engine.program.tables),
            decl.role, PURPOSES.get(decl.role, decl.role), decl.why, show_query(decl.query, WIDTH),
            self.read_by(name), [other for other in others if name in self.sources_of(other)],
            self.index_names(name), entries(engine, name), rough_bytes(engine, name, self.indexes(name)),
        )  # fmt: skip

    @cached_property
    def table_reports(self) -> list[Table]:
        return [self.table(name) for name in self.tables]

    def table(self, name: str) -> Table:
        engine, decl = self.state.engine, self.state.engine.program.tables[name]
        columns = [last(column.name) for column in decl.columns]
        return Table(
            name, columns, [columns[i] for i in decl.key], self.index_names(name), self.read_by(name),
            entries(engine, name), rough_bytes(engine, name, self.indexes(name)),
        )  # fmt: skip
