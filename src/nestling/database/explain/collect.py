"""What is known of a view, collected from its query, its program and its engine."""

from __future__ import annotations

from functools import partial
from typing import assert_never

from nestling.calculus.show import brief, show
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    DictInput,
    DictLit,
    DictUnion,
    Empty,
    Expr,
    Field,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InL,
    InputChange,
    Let,
    Lookup,
    Negate,
    Node,
    Product,
    Relation,
    Sing,
    SingBag,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.traverse import relations, walk
from nestling.calculus.types import Bag, show_type
from nestling.database.definitions import ViewDef
from nestling.database.explain.facts import Facts
from nestling.database.explain.readings import paths, readings
from nestling.database.explain.report import (
    ConstructReport,
    FunctionReport,
    PartReport,
    PlaceReport,
    RecursionReport,
    Report,
)
from nestling.database.explain.storage import otherwise, storage
from nestling.database.recursion import costs, recursions_of, tables_read
from nestling.database.row_state import RowState
from nestling.database.state import State
from nestling.errors import Span
from nestling.frontend.view_query import show_orders
from nestling.transform.classify import Classification
from nestling.transform.pipeline import classified, verdict_of
from nestling.transform.theory.cost import show_cost, tcost
from nestling.transform.theory.degree import TOP, degree
from nestling.transform.theory.derive import Derivation, Part, derive, show_change, show_cost_of_change

#: Texts stand indented, so that the whole is readable at a hundred columns.
WIDTH = 92
#: Of a construct, in signs: a view may be of any size.
LONGEST = 400


def collect(state: State, name: str, code: bool = False) -> Report:
    """The report on the view ``name``."""
    deep = {(t.name, path) for t in state.tables.values() for path in t.levels}
    view, on_read = state.definitions[name], state.views[name].on_read
    plain = state.views[name].plain
    derivation = derive(name, view.query, frozenset(deep), plain)
    found = classified(view.query, plain)
    is_kept = name in state.views.maintained
    facts = Facts(state, name) if is_kept or (on_read and on_read.program) else None
    return Report(
        view=name,
        engine=state.engine.name,
        type=show_type(Bag(view.element)),
        query=show(view.query, WIDTH),
        reads=_reads(state, view),
        recursions=_recursions(state, view),
        refresh=view.refresh,
        store=view.store,
        verdict=verdict_of(found, on_read.reason if on_read else "").value,
        maintained=is_kept,
        reason=on_read.reason if on_read else "",
        code_of_reason=on_read.code if on_read else "",
        waits=sorted(facts.engine.program.deferred.intersection(facts.maps)) if facts else [],
        notes=[*_costs_of_recursions(state, view), *state.notes(name), *_order(view)],
        warnings=_warnings(found, facts if is_kept else None),
        degree=_degree(max(part.degree for part in derivation.parts)),
        degree_because=_responsible(derivation, found),
        cost=show_cost(derivation.cost),
        time=str(tcost(derivation.cost)),
        constructs=_constructs(found),
        parts=[_part(part) for part in derivation.parts],
        storage=storage(state, name, paths(facts.book.program, facts.view) if facts else {}),
        maps=facts.map_reports() if facts else [],
        tables=facts.table_reports() if facts else [],
        readings=readings(facts.book, facts.view, partial(otherwise, state, name)) if facts else [],
        triggers=facts.triggers if facts and is_kept else [],
        code=functions(facts) if facts and code else [],
    )


def _reads(state: State, view: ViewDef) -> list[str]:
    """The tables that a view reads, be it through a recursion."""
    names = relations(view.query)
    return tables_read(state.recursions, names) if isinstance(state, RowState) else sorted(names)


def _recursions(state: State, view: ViewDef) -> list[RecursionReport]:
    if not isinstance(state, RowState):
        return []
    return [
        RecursionReport(
            each.name, each.text, {name: state.engine.entries(name) for name in sorted(each.reads)}
        )
        for each in recursions_of(state.recursions, relations(view.query))
    ]


def _costs_of_recursions(state: State, view: ViewDef) -> list[str]:
    if not isinstance(state, RowState):
        return []
    return costs(state.recursions, relations(view.query), state.engine.entries)


def _order(view: ViewDef) -> list[str]:
    if not view.orders:
        return []
    cost = "a reading sorts, n·log n for n rows or elements; a change finds its place for a patch in log n"
    return [f"read in order {show_orders(view.orders)}: {cost}"]


def functions(facts: Facts) -> list[FunctionReport]:
    """The generated functions that serve the view."""
    return [FunctionReport(*function) for function in facts.engine.functions(facts.name, facts.tables)]


def _constructs(found: Classification) -> list[ConstructReport]:
    return [
        ConstructReport(
            c.class_.code,
            brief(c.term, LONGEST),
            c.class_.cost,
            c.class_.reason,
            c in found.obstacles,
            _place(c.at),
        )
        for c in found.constructs
    ]


def _place(at: Span | None) -> PlaceReport | None:
    return None if at is None else PlaceReport(at.line, at.column, at.length, at.text)


def _part(part: Part) -> PartReport:
    params = [param.name for param in part.definition.params] if part.definition else []
    return PartReport(
        part.name, params, show(part.query, WIDTH), show_change(part, WIDTH), _degree(part.degree),
        _not_polynomial(part.query), show_cost(part.cost), show_cost_of_change(part),
    )  # fmt: skip


def _degree(number: float) -> str:
    return "⊤" if number == TOP else str(int(number))


def _not_polynomial(query: Expr) -> str:
    """The first construct of ``query`` that has no degree of its own."""
    return next((brief(node, 60) for node in walk(query) if _has_no_degree(node)), "")


def _has_no_degree(node: Node) -> bool:
    """Whether ``node`` is not polynomial in what it reads."""
    match node:
        case Fold(_, _, source, _) | Group(_, source, _, _, _, _):
            return bool(degree(source))
        case CountWise() | First() | SingBag():
            return bool(degree(node))
        case Relation() | InputChange() | BagVar() | Let() | Empty() | Sing() | Guard() | For() | Product():
            return False
        case Union() | Negate() | Flatten() | Lookup() | DictLit() | DictInput() | DictUnion() | DictEmpty():
            return False
        case Var() | Field() | Tuple() | Const() | Call() | InL():
            return False
        case _:
            assert_never(node)


def _responsible(derivation: Derivation, found: Classification) -> str:
    if all(part.degree < TOP for part in derivation.parts):
        return ""
    outside = found.beyond_theorem
    return f"{outside[0].class_.code}: {outside[0].text}" if outside else ""


def _warnings(classification: Classification, facts: Facts | None) -> list[str]:
    found = [] if facts else ["nothing is maintained: every read evaluates the query over whole tables"]
    obstacles = classification.obstacles
    found += [f"{c.class_.code}: {c.class_.reason}: {c.text}" for c in obstacles]
    for trigger in facts.triggers if facts else ():
        steps = [s for batch in trigger.batches for work in batch.statements for s in work.steps]
        scanned = dict.fromkeys(step.source for step in steps if step.access == "scan")
        found += [f"a change of {trigger.table} scans {source}" for source in scanned]
    return found
