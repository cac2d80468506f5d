"""Nested queries on their own: keyed by what they share with their surroundings.

Law: read at those terms, within those bounds, the query has the measures that its monomials have where they stand;
and what is ``added_up`` is the aggregate of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from nestling.calculus.build import call
from nestling.calculus.terms import Term, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import INT
from nestling.calculus.typing import term_type
from nestling.program.flat import Factor, Lift, Monomial, Query, Test
from nestling.program.traverse import factor_vars, is_safe, term_vars
from nestling.transform.lower.filters import filtered
from nestling.transform.lower.keyed import equated, within
from nestling.transform.lower.nulls import without_nulls, without_unused
from nestling.transform.lower.polynomial import expanded
from nestling.transform.lower.unify import unify

Outer = Mapping[str, Var]


def added_up(lift: Lift, monomials: list[Monomial], outer: Outer, names: Names) -> tuple[list[Lift], Term]:
    """``lift``, whose query no rows bind, in aggregates that rows do bind, and its value from theirs.

    That is itself with comparisons as bounds; or the sum of one for each set of surroundings that its monomials use:
    those with my key, plus those with my name, less those with both.
    """
    whole = bounded(lift, monomials, outer, names)
    kinds: dict[frozenset[str], list[Monomial]] = {}
    for monomial in monomials:
        kinds.setdefault(_used(monomial) & frozenset(outer), []).append(monomial)
    if (
        is_safe(whole.query)
        or len(kinds) == 1
        or lift.var.type != INT
        or lift.aggregate not in ("count", "sum")
    ):
        return [whole], lift.var
    found = []
    for kind in kinds.values():
        query, args = closed(kind, outer, lift.query.width, (), names)
        part = Lift(Var(names.fresh(lift.var.name), INT), lift.aggregate, query, args)
        found.append(part if is_safe(query) else bounded(part, kind, outer, names))
    if not all(is_safe(part.query) for part in found):
        return [whole], lift.var
    parts: list[Term] = [part.var for part in found]
    return found, reduce(lambda one, other: call("+", one, other), parts)


def bounded(lift: Lift, monomials: list[Monomial], outer: Outer, names: Names) -> Lift:
    """``lift`` with the comparisons to its surroundings as bounds, if these are all that leaves it open."""
    found = [within(monomial, frozenset(outer)) for monomial in monomials]
    if not found or None in found or len({bounds for _, bounds in filter(None, found)}) > 1:
        return lift
    inner = [monomial for monomial, _ in filter(None, found)]
    bounds = next(bounds for _, bounds in filter(None, found))
    at = Var(names.fresh("at"), term_type(inner[0].keys[-1]))
    query, args = closed(inner, outer, lift.query.width, (at,), names)
    return Lift(lift.var, lift.aggregate, query, args, bounds) if is_safe(query) else lift


def closed(
    monomials: list[Monomial], outer: Outer, width: int, columns: tuple[Var, ...], names: Names
) -> tuple[Query, tuple[Term, ...]]:
    """A query of its own, keyed by the outer terms it uses and then by ``columns``; and those terms.

    These are variables; where no row binds them, what the rows are compared with: ``x % 2`` of ``y % 2 == x % 2``.
    """
    query, args = _keyed(monomials, outer, width, columns)
    if is_safe(query):
        return query, args
    computed: dict[Term, Var] = {}
    by_terms = [_by_terms(monomial, frozenset(outer), computed, names) for monomial in monomials]
    keys = {var.name: var for var in computed.values()}
    other, used = _keyed(by_terms, {**outer, **keys}, width, columns)
    if not is_safe(other):
        return query, args
    meant = {var.name: term for term, var in computed.items()}
    return other, tuple(meant.get(var.name, var) for var in used)


def _by_terms(monomial: Monomial, outer: frozenset[str], computed: dict[Term, Var], names: Names) -> Monomial:
    """``monomial`` with a variable for every term of ``outer`` variables that something inside equals."""
    factors: list[Factor] = []
    for factor in monomial.factors:
        if isinstance(factor, Test) and (sides := equated(factor.test, outer)) is not None:
            name, inside, outside = sides
            if outside not in computed:
                computed[outside] = Var(names.fresh("key"), term_type(outside))
            factor = Test(call(name, inside, computed[outside]))
        factors.append(factor)
    return Monomial(monomial.keys, monomial.weights, tuple(factors))


def _keyed(
    monomials: list[Monomial], outer: Outer, width: int, columns: tuple[Var, ...]
) -> tuple[Query, tuple[Var, ...]]:
    """``monomials`` keyed by the ``outer`` variables they use, and then by ``columns``."""
    used = {name: outer[name] for m in monomials for name in sorted(_used(m)) if name in outer}
    keyed = [Monomial((*used.values(), *m.keys), m.weights, m.factors) for m in monomials]
    query = Query((*used.values(), *columns), unified(keyed, frozenset()), width)
    return query, tuple(used.values())


def _used(monomial: Monomial) -> frozenset[str]:
    return factor_vars(*monomial.factors) | term_vars(*monomial.keys, *monomial.weights)


def unified(monomials: list[Monomial], fixed: frozenset[str]) -> tuple[Monomial, ...]:
    """``monomials`` with their equations solved, but for variables that are ``fixed``."""
    solved = (unify(monomial, fixed) for monomial in monomials)
    plain = (without_unused(without_nulls(monomial)) for monomial in solved if monomial is not None)
    return tuple(part for monomial in plain for part in expanded(filtered(monomial)))
