"""The meaning of statements: slow and obvious, a loop through everything a step may find.

A source is a relation ``{key: measures}``; a table's rows have their multiplicity as their one measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

from nestling.calculus.aggregates import EVERY
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.terms import Term
from nestling.program.flat import Bound, first_of, is_ordered
from nestling.program.meaning import Cells, Env, matches
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.values.bag import ZBag
from nestling.values.order import first

Sources = Callable[[str], Cells]


def added(statement: Statement, sources: Sources, env: Env | None = None) -> Iterator[tuple[Any, Any]]:
    """Keys and amounts that ``statement`` adds, one pair per solution."""
    for solution in solutions(statement.steps, dict(env or {}), sources):
        key = tuple(evaluate_term(term, solution) for term in statement.keys)
        yield key, tuple(evaluate_term(term, solution) for term in statement.amounts)


def solutions(steps: Sequence[Step], env: Env, sources: Sources) -> Iterator[Env]:
    """The assignments that satisfy ``steps``, from those of ``env``."""
    if not steps:
        yield env
        return
    for extended in _taken(steps[0], env, sources):
        yield from solutions(steps[1:], extended, sources)


def _taken(step: Step, env: Env, sources: Sources) -> Iterator[Env]:  # noqa: C901 - one arm per step
    def value(term: Term) -> Any:
        return evaluate_term(term, env)

    match step:
        case Find(source, args, _, counts):
            for key, cell in sources(source).items():
                found = _matched(args, key, env)
                if found is not None:
                    yield found | {count.name: n for count, n in zip(counts, cell, strict=False)}
        case Check(test):
            if value(test) is True:
                yield env
        case Each(bag, pattern, count):
            for element, times in value(bag).items():
                found = _matched((pattern,), (element,), env)
                if found is not None:
                    yield found | {count.name: times}
        case Range(source, args, bounds, counts):
            found_cells = _within(sources(source), tuple(map(value, args)), bounds, env).values()
            sums = tuple(map(sum, zip(*found_cells, strict=True))) or (0,) * len(counts)
            yield env | {count.name: n for count, n in zip(counts, sums, strict=True)}
        case Measure(var, aggregate, source, args, measures, bounds):
            group, cells = tuple(map(value, args)), sources(source)
            if bounds:
                found_cells = _within(cells, group, bounds, env).values()
                cells = {group: tuple(map(sum, zip(*found_cells, strict=True)))} if found_cells else {}
            yield env | {var.name: measured(aggregate, cells, group, measures)}
        case Where(source, args, counts, key, measure, test):
            sums_where = [0] * len(counts)
            for entry, cell in _within(sources(source), tuple(map(value, args)), (), env).items():
                for found in _taken(measure, env | {key.name: entry[-1]}, sources):
                    if evaluate_term(test, found) is True:
                        sums_where = [a + b for a, b in zip(sums_where, cell, strict=True)]
            yield env | {count.name: n for count, n in zip(counts, sums_where, strict=True)}
        case Total(var, aggregate, statements):
            pairs = [pair for statement in statements for pair in added(statement, sources, env)]
            width = len(statements[0].amounts) if statements else 1
            yield env | {var.name: _of_total(aggregate, pairs, width)}
        case Combine(var, operator, counts, minus):
            apply = OPERATORS[operator].apply
            total = apply(*map(value, counts)) - (apply(*map(value, minus)) if minus else 0)
            if total:
                yield env | {var.name: total}
        case Assign(var, term):
            yield env | {var.name: value(term)}
        case NewAndOld(var, sign, aggregate, new, old):
            now, before = (_read(aggregate, tuple(map(value, cell))) for cell in (new, old))
            if now != before:
                yield env | {var.name: now, sign.name: 1}
                yield env | {var.name: before, sign.name: -1}
        case _:
            assert_never(step)


def measured(aggregate: str, cells: Cells, group: tuple[Any, ...], measures: Sequence[int] = (0,)) -> Any:
    """``aggregate`` of one group of a map, whether or not it has rows."""
    if is_ordered(aggregate):
        values = ZBag((key[-1], cell[0]) for key, cell in cells.items() if key[:-1] == group)
        return _of_values(aggregate, values)
    cell = cells.get(group)
    return _read(aggregate, tuple(cell[i] if cell else 0 for i in measures))


def _within(cells: Cells, group: tuple[Any, ...], bounds: Sequence[Bound], env: Env) -> Cells:
    """The entries of a group whose last key is within bounds."""

    def holds(bound: Bound, last: Any) -> bool:
        return apply_function(FUNCTIONS[bound.operator], (last, evaluate_term(bound.term, env))) is True

    return {k: c for k, c in cells.items() if k[:-1] == group and all(holds(b, k[-1]) for b in bounds)}


def _of_total(aggregate: str, pairs: Sequence[tuple[Any, Any]], width: int) -> Any:
    """``aggregate`` of what was added: of amounts, or of values, each so many times."""
    if is_ordered(aggregate):
        return _of_values(aggregate, ZBag((key[0], amounts[0]) for key, amounts in pairs))
    return _read(aggregate, tuple(sum(amounts[i] for _, amounts in pairs) for i in range(width)))


def _of_values(aggregate: str, values: ZBag) -> Any:
    taken = first_of(aggregate)
    return EVERY[aggregate].of(values) if taken is None else first(values, *taken)


def _read(aggregate: str, cell: tuple[Any, ...]) -> Any:
    return cell[0] if is_ordered(aggregate) else EVERY[aggregate].read(cell)


def _matched(patterns: Sequence[Term], values: Sequence[Any], env: Env) -> Env | None:
    extended = dict(env)
    same = (matches(p, v, extended) for p, v in zip(patterns, values, strict=True))
    return extended if all(same) else None
