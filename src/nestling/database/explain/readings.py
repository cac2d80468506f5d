"""How the rows of a view and its inner bags are found when they are read: stored, or put together."""

from __future__ import annotations

from collections.abc import Iterator

from nestling.calculus.terms import Const, InL, Term, Var
from nestling.calculus.types import Bag, Path, Record, Type
from nestling.database.explain.columns import columns_of, last
from nestling.database.explain.report import Reading, Work
from nestling.database.explain.work import Workbook
from nestling.program.statements import Find, Plan, Program, Statement, ViewPlan
from nestling.program.steps import reads
from nestling.transform.lower.view import shape_of

TABLE = "an index of {sources} finds them: stored once more, they would cost more on every change"
WHOLE = "they are the rows of {sources} themselves"
LOOKED_UP = (
    "they are found in {first}, what goes with them in {rest}: a change of one leaves the others alone"
)
ASSEMBLED = "each part is kept by itself: stored as one, every change would have to be multiplied out"
OVERLAP = "; what several parts have in common is counted once, by taking it away again"


def readings(book: Workbook, view: ViewPlan) -> list[Reading]:
    """The rows, the rows of a given first column, and every inner bag."""
    found = [_reading(book, "rows", "", view.rows)]
    if view.lookup is not None:
        found.append(_reading(book, "rows by first column", "", view.lookup))
    return found + list(_bags(book, view, view.rows, view.element, ()))


def _bags(book: Workbook, view: ViewPlan, plan: Plan, element: Type, path: Path) -> Iterator[Reading]:
    for position, (inner, type_) in enumerate(_leaves(element, path)):
        if isinstance(type_, Bag) and not type_.opaque:
            where = ".".join(inner) or "*"
            keys = [(s, s.keys[plan.skipped + position]) for s in plan.statements]
            for shape in dict.fromkeys(shape_of(key) for _, key in keys if isinstance(key, InL)):
                below = view.definitions[shape]
                yield _reading(book, f"inner bag {where}", where, below)
                yield from _bags(book, view, below, type_.element, inner)
            for source in dict.fromkeys(_column(book.program, s, key) for s, key in keys):
                if source:
                    yield Reading(
                        f"inner bag {where}", where, [], "input", f"it is the bag {source} itself", []
                    )


def _leaves(type_: Type, path: Path) -> Iterator[tuple[Path, Type]]:
    if isinstance(type_, Record):
        for name, inner in type_.fields:
            yield from _leaves(inner, (*path, name))
    else:
        yield path, type_


def _column(program: Program, statement: Statement, key: Term) -> str:
    """The column that the label ``key`` was read from; nothing where the query made it."""
    for step in statement.steps:
        if isinstance(key, Var) and isinstance(step, Find) and key in step.args:
            return columns_of(program, step.source)[step.args.index(key)]
    return ""


def _reading(book: Workbook, what: str, path: str, plan: Plan) -> Reading:
    parts = [book.statement(s, plan.params, skipped=plan.skipped) for s in plan.statements]
    given = [last(param.name) for param in plan.params]
    kind, why = _kind(book.program, plan, parts)
    return Reading(what, path, given, kind, why, parts)


def _kind(program: Program, plan: Plan, parts: list[Work]) -> tuple[str, str]:
    sources = list(dict.fromkeys(name for statement in plan.statements for name in reads(statement)))
    names = ", ".join(sources)
    if len(parts) == 1 and len(sources) == 1:
        if sources[0] in program.maps:
            return "stored", f"{names} holds them: {program.maps[sources[0]].why}"
        scan = any(step.access == "scan" for step in parts[0].steps)
        return "table", (WHOLE if scan else TABLE).format(sources=names)
    if not sources:
        return "stored", "they depend on no table"
    if len(parts) == 1:
        first = next((step.source for step in parts[0].steps if step.access in ("slice", "scan")), sources[0])
        rest = " and ".join(source for source in sources if source != first)
        return "assembled", LOOKED_UP.format(first=first, rest=rest)
    return "assembled", ASSEMBLED + OVERLAP * any(map(_takes_away, plan.statements))


def _takes_away(statement: Statement) -> bool:
    return any(isinstance(amount, Const) and amount.value < 0 for amount in statement.amounts)
