"""How the rows of a view and its inner bags are found when they are read: stored, or put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from nestling.calculus.terms import Const, InL, Term
from nestling.calculus.types import Bag, Path, Type, leaf_types
from nestling.database.explain.columns import last
from nestling.database.explain.report import ReadingReport, WorkReport
from nestling.database.explain.work import Workbook
from nestling.program.flat import Atom, Monomial, Shape
from nestling.program.statements import Find, Plan, Program, Statement, ViewPlan
from nestling.program.steps import reads
from nestling.transform.lower.view import shape_of

TABLE = "an index of {sources} finds them: stored once more, they would cost more on every change"
WHOLE = "they are the rows of {sources} themselves"
LOOKED_UP = (
    "they are found in {first}, what goes with them in {rest}: a change of one leaves the others alone"
)
WHOLE_BAGS = (
    "{map} holds the elements of all bags in use: one look-up finds them, a change costs the bags it reaches"
)
ASSEMBLED = "each part is kept by itself: stored as one, every change would have to be multiplied out"
OVERLAP = "; what several parts have in common is counted once, by taking it away again"


def readings(book: Workbook, view: ViewPlan, otherwise: Callable[[Shape], str]) -> list[ReadingReport]:
    """The rows, the rows of a given first column, and every inner bag."""
    found = [_reading(book, "rows", "", view.rows)]
    if view.lookup is not None:
        found.append(_reading(book, "rows by first column", "", view.lookup))
    for where, inner in _bags(book.program, view, view.rows, view.element, ()):
        if isinstance(inner, str):
            found.append(
                ReadingReport(f"inner bag {where}", where, [], "input", f"it is the bag {inner} itself", [])
            )
        else:
            reading = _reading(book, f"inner bag {where}", where, view.definitions[inner])
            found.append(replace(reading, keyed=_keyed(reading), otherwise=otherwise(inner)))
    return found


def paths(program: Program, view: ViewPlan) -> dict[Shape, str]:
    """Where the inner bags of each shape stand."""
    bags = _bags(program, view, view.rows, view.element, ())
    return {inner: where for where, inner in bags if not isinstance(inner, str)}


def _bags(
    program: Program, view: ViewPlan, plan: Plan, element: Type, path: Path
) -> Iterator[tuple[str, Shape | str]]:
    """Every inner bag by its path, outer ones first: the shape of its labels, or the column that it is read from."""
    for position, (inner, type_) in enumerate(leaf_types(element, path)):
        if isinstance(type_, Bag) and not type_.opaque:
            where = ".".join(inner) or "*"
            keys = [(s, s.keys[plan.skipped + position]) for s in plan.statements]
            held = dict.fromkeys(each for s, key in keys for each in _held(program, s, key))
            for each in held:
                yield where, each
                if not isinstance(each, str):
                    yield from _bags(program, view, view.definitions[each], type_.element, inner)


def _held(program: Program, statement: Statement, key: Term) -> Iterator[Shape | str]:
    """What the label ``key`` may be: of a shape that the query makes, or read from a column."""
    if isinstance(key, InL):
        yield shape_of(key)
        return
    for step in statement.steps:
        if isinstance(step, Find) and key in step.args:
            position = step.args.index(key)
            if step.source in program.tables:
                yield program.tables[step.source].columns[position].name
                return
            for monomial in program.maps[step.source].query.monomials:
                yield from _made(program, monomial, monomial.keys[position])
            return


def _made(program: Program, monomial: Monomial, label: Term) -> Iterator[Shape | str]:
    """What a label is that a map holds."""
    if isinstance(label, InL):
        yield shape_of(label)
    for factor in monomial.factors:
        if isinstance(factor, Atom) and label in factor.args:
            yield program.tables[factor.name].columns[factor.args.index(label)].name
            return


def _keyed(reading: ReadingReport) -> list[str]:
    """Where the parts of an inner bag are, and what they are found by."""
    if reading.kind == "whole":
        return []
    steps = [step for work in reading.parts for step in work.steps if step.source]
    by = (f"{step.source} by {', '.join(step.by)}" if step.by else step.source for step in steps)
    return list(dict.fromkeys(by))


def _reading(book: Workbook, what: str, path: str, plan: Plan) -> ReadingReport:
    parts = [book.statement(s, plan.params, skipped=plan.skipped) for s in plan.statements]
    given = [last(param.name).strip("·") for param in plan.params]
    kind, why = _kind(book.program, plan, parts)
    return ReadingReport(what, path, given, kind, why, parts)


def _kind(program: Program, plan: Plan, parts: list[WorkReport]) -> tuple[str, str]:
    sources = list(dict.fromkeys(name for statement in plan.statements for name in reads(statement)))
    names = ", ".join(sources)
    if len(parts) == 1 and len(sources) == 1:
        if sources[0] in program.maps and program.maps[sources[0]].role == "bags":
            return "whole", WHOLE_BAGS.format(map=names)
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
