"""The reference meaning of flat queries: slow and obvious. Every map is compared with it.

A database is a mapping from table and dictionary names to ``{row: multiplicity}``; rows are flat tuples, those
of a dictionary start with the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nestling.calculus.aggregates import EVERY
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.evaluate import evaluate_term
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.terms import Term, Tuple, Var
from nestling.program.flat import (
    Atom,
    Bound,
    Factor,
    Lift,
    Pointwise,
    Query,
    Test,
    Unnest,
    first_of,
    is_ordered,
)
from nestling.program.show import show_query
from nestling.program.traverse import is_local, is_ready, is_safe
from nestling.values.bag import ZBag
from nestling.values.exact import exactly
from nestling.values.order import first

Rows = Mapping[tuple[Any, ...], int]
Tables = Mapping[str, Rows]
Cells = dict[tuple[Any, ...], tuple[Any, ...]]
Env = dict[str, Any]


class UnsafeQuery(Exception):
    """No order of the factors binds every variable before it is used."""


@exactly
def meaning(query: Query, tables: Tables) -> Cells:
    """The measures of ``query`` under each key that has any."""
    if not is_safe(query):
        raise UnsafeQuery(f"no order binds the variables of {show_query(query)}")
    return _meaning(query, tables, ())


def _meaning(query: Query, tables: Tables, args: tuple[Any, ...]) -> Cells:
    """The same of the keys that begin with ``args``, and of others."""
    cells: Cells = {}
    for monomial in query.monomials:
        given = {key.name: arg for key, arg in zip(monomial.keys, args, strict=False) if isinstance(key, Var)}
        for env, times in _solve(list(monomial.factors), given, 1, tables):
            key = tuple(evaluate_term(term, env) for term in monomial.keys)
            amounts = tuple(evaluate_term(weight, env) * times for weight in monomial.weights)
            old = cells.get(key, (0,) * query.width)
            cells[key] = tuple(a + b for a, b in zip(old, amounts, strict=True))
    return {key: cell for key, cell in cells.items() if any(cell)}


def _solve(factors: list[Factor], env: Env, times: int, tables: Tables) -> Iterator[tuple[Env, int]]:
    if not factors:
        yield env, times
        return
    ready = [factor for factor in factors if is_ready(factor, env.keys())]
    first = min(ready, key=lambda factor: isinstance(factor, Atom | Pointwise | Unnest))
    rest = [factor for factor in factors if factor is not first]
    for extended, count in _extend(first, env, tables):
        yield from _solve(rest, extended, times * count, tables)


def _extend(factor: Factor, env: Env, tables: Tables) -> Iterator[tuple[Env, int]]:
    match factor:
        case Test(test):
            if evaluate_term(test, env) is True:
                yield env, 1
        case Unnest(bag, pattern):
            for element, times in evaluate_term(bag, env).items():
                yield from _matched((pattern,), (element,), times, env)
        case Lift():
            yield from _matched((factor.var,), (_lifted(factor, env, tables),), 1, env)
        case Atom(name, args):
            for row, times in tables[name].items():
                yield from _matched(args, row, times, env)
        case Pointwise(operator, query, args):
            for row, cell in meaning(query, tables).items():
                yield from _matched(args, row, OPERATORS[operator].apply(*cell), env)


def _matched(
    patterns: tuple[Term, ...], values: tuple[Any, ...], times: int, env: Env
) -> Iterator[tuple[Env, int]]:
    extended = dict(env)
    if times and all(matches(p, v, extended) for p, v in zip(patterns, values, strict=True)):
        yield extended, times


def matches(pattern: Term, value: Any, env: Env) -> bool:
    """Whether ``value`` is of the form of ``pattern``; ``env`` is given the variables that are new."""
    match pattern:
        case Var(name):
            known = env.setdefault(name, value)
            return known is value or bool(
                known == value
            )  # NaN, which equals nothing, is what it was bound to
        case Tuple(items):
            return all(matches(item, v, env) for (_, item), v in zip(items, value, strict=True))
    return bool(evaluate_term(pattern, env) == value)


def _lifted(lift: Lift, env: Env, tables: Tables) -> Any:
    args = tuple(evaluate_term(arg, env) for arg in lift.args)
    cells = _meaning(lift.query, tables, args) if is_local(lift) else meaning(lift.query, tables)
    if is_ordered(lift.aggregate):
        values = ZBag((key[-1], cell[0]) for key, cell in cells.items() if key[:-1] == args)
        taken = first_of(lift.aggregate)
        return EVERY[lift.aggregate].of(values) if taken is None else first(values, *taken)
    aggregate = EVERY[lift.aggregate]
    if lift.bounds:
        within = [
            cell
            for key, cell in cells.items()
            if key[:-1] == args and all(_holds(bound, key[-1], env) for bound in lift.bounds)
        ]
        return aggregate.read(tuple(map(sum, zip(*within, strict=True))) or (0,) * lift.query.width)
    return aggregate.read(cells.get(args, (0,) * lift.query.width))


def _holds(bound: Bound, key: Any, env: Env) -> bool:
    return apply_function(FUNCTIONS[bound.operator], (key, evaluate_term(bound.term, env))) is True
