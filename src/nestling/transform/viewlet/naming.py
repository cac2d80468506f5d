"""Names for the variables of a statement: by what they were read from.

Law: renaming keeps what a statement adds. Two statements with the same steps then have the same text, and an engine
can run the steps once for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from nestling.calculus.terms import Term, Var
from nestling.calculus.traverse import Names, walk
from nestling.program.flat import Monomial
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
from nestling.program.traverse import factor_terms, substitute, substitute_bounds, substitute_term

#: The columns of every table and map, by name.
Columns = Mapping[str, Sequence[Var]]


def rename_apart(monomial: Monomial, given: Sequence[Var], names: Names) -> Monomial:
    """``monomial`` with every variable but those ``given`` under a name that nothing else has.

    A row, an event and the counts of a statement have variables of their own, which must not be captured.
    """
    inner = (term for factor in monomial.factors for term in factor_terms(factor))
    found = {var.name: var for term in (*inner, *monomial.keys, *monomial.weights) for var in _vars(term)}
    kept = {var.name for var in given}
    fresh = {n: Var(names.fresh(n), var.type) for n, var in found.items() if n not in kept}
    return substitute(monomial, fresh)


def renamed(
    statement: Statement, given: Sequence[Var], columns: Columns, values: Mapping[str, Term] | None = None
) -> Statement:
    """``statement`` with each variable called after the column, measure or aggregate it holds.

    Those that have ``values`` are these values; what is ``given`` keeps its name.
    """
    names = Names(frozenset(var.name for var in given))
    return _statement(statement, dict(values or {}), names, columns)


def _statement(statement: Statement, by: dict[str, Term], names: Names, columns: Columns) -> Statement:
    steps: list[Step] = []
    for step in statement.steps:
        if isinstance(step, Assign) and isinstance(step.term, Var) and step.var.name not in by:
            by[step.var.name] = substitute_term(step.term, by)  # a second name for what has one
        else:
            steps.append(_step(step, by, names, columns))
    return replace(
        statement,
        steps=tuple(steps),
        keys=tuple(substitute_term(term, by) for term in statement.keys),
        amounts=tuple(substitute_term(term, by) for term in statement.amounts),
    )


def _step(step: Step, by: dict[str, Term], names: Names, columns: Columns) -> Step:  # noqa: C901 - one arm per step
    def new(var: Var, like: str) -> Any:
        if var.name not in by:
            by[var.name] = Var(names.fresh(like.lstrip("·")), var.type)
        return by[var.name]

    def all_of(terms: Sequence[Term]) -> tuple[Term, ...]:
        return tuple(substitute_term(term, by) for term in terms)

    match step:
        case Find(source, args, known, counts):
            for i, arg in enumerate(args):
                if i not in known and isinstance(arg, Var):
                    new(arg, columns[source][i].name)
            return Find(
                source, all_of(args), known, tuple(new(c, f"{source}.n{i}") for i, c in enumerate(counts))
            )
        case Range(source, args, bounds, counts):
            inner = substitute_bounds(bounds, by)
            named = tuple(new(c, f"{source}.n{i}") for i, c in enumerate(counts))
            return Range(source, all_of(args), inner, named)
        case Measure(var, aggregate, source, args, measures, bounds):
            inner, all_args = substitute_bounds(bounds, by), all_of(args)
            return Measure(new(var, f"{source}.{aggregate}"), aggregate, source, all_args, measures, inner)
        case Where(source, args, counts, key, measure, test):
            named, key = tuple(new(c, f"{source}.n{i}") for i, c in enumerate(counts)), new(key, "at")
            inner_measure = _step(measure, by, names, columns)
            return Where(source, all_of(args), named, key, inner_measure, substitute_term(test, by))  # type: ignore[arg-type]
        case Total(var, aggregate, statements):
            parts = tuple(_statement(statement, by, names, columns) for statement in statements)
            return Total(new(var, aggregate), aggregate, parts)
        case Combine(var, operator, counts, minus):
            return Combine(new(var, operator), operator, all_of(counts), all_of(minus))
        case NewAndOld(var, sign, aggregate, now, before):
            return NewAndOld(new(var, aggregate), new(sign, "sign"), aggregate, all_of(now), all_of(before))
        case Each(bag, pattern, count):
            for node in _vars(pattern):
                new(node, "element")
            return Each(substitute_term(bag, by), substitute_term(pattern, by), new(count, "copies"))
        case Assign(var, term):
            value = substitute_term(term, by)
            return Assign(new(var, var.name), value)
        case Check(test):
            return Check(substitute_term(test, by))
        case _:
            assert_never(step)


def _vars(pattern: Term) -> list[Var]:
    return [pattern] if isinstance(pattern, Var) else [n for n in walk(pattern) if isinstance(n, Var)]
