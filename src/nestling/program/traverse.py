"""Recursion over flat queries, written once: substitution, variables, inputs, and names up to renaming."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, assert_never

from nestling.calculus.build import leaves
from nestling.calculus.terms import Call, Const, Field, Term, Tuple, Var
from nestling.calculus.traverse import free_vars, map_children, walk
from nestling.calculus.types import UNIT, Scalar
from nestling.program.flat import Atom, Bound, Factor, Lift, Monomial, Pointwise, Query, Test, Unnest

Substitution = Mapping[str, Term]


def term_vars(*terms: Term) -> frozenset[str]:
    """The variables of some terms."""
    return frozenset(_names_in(terms))


def is_known(term: Term, names: Set[str]) -> bool:
    """Whether the variables of ``term`` are among ``names``."""
    return term.name in names if isinstance(term, Var) else term_vars(term) <= names


def factor_vars(*factors: Factor) -> frozenset[str]:
    """The variables of some factors."""
    names: set[str] = set()
    for factor in factors:
        names |= _names_in(factor_terms(factor))
    return frozenset(names)


def _names_in(terms: Iterable[Term]) -> set[str]:
    # Nearly all columns of a row are variables, and this is asked at every step of a compilation.
    names: set[str] = set()
    for term in terms:
        if isinstance(term, Var):
            names.add(term.name)
        elif not isinstance(term, Const):
            names.update(free_vars(term))
    return names


def factor_terms(factor: Factor) -> tuple[Term, ...]:
    """The terms of a factor, binders included."""
    match factor:
        case Atom(_, args) | Pointwise(_, _, args):
            return args
        case Test(test):
            return (test,)
        case Unnest(bag, pattern):
            return (bag, pattern)
        case Lift(var, _, _, args, bounds):
            return (var, *args, *(bound.term for bound in bounds))
        case _:
            assert_never(factor)


def substitute_term(term: Term, by: Substitution) -> Any:
    """``term`` with variables replaced; a field of a tuple is its component."""
    match term:
        case Var():
            return by.get(term.name, term)
        case Const():
            return term
        case Field(record, name):
            inner = substitute_term(record, by)
            return dict(inner.fields)[name] if isinstance(inner, Tuple) else Field(inner, name)
        case Call() if by.keys().isdisjoint(free_vars(term)):
            return term
    return map_children(term, lambda child: substitute_term(child, by))


def substitute_factor(factor: Factor, by: Substitution) -> Factor:
    """``factor`` with variables replaced. What a lift binds is replaced by variables only."""

    def all_of(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(substitute_term(term, by) for term in terms)

    match factor:
        case Atom(name, args):
            return Atom(name, all_of(args))
        case Pointwise(operator, query, args):
            return Pointwise(operator, query, all_of(args))
        case Test(test):
            return Test(substitute_term(test, by))
        case Unnest(bag, pattern):
            return Unnest(substitute_term(bag, by), substitute_term(pattern, by))
        case Lift(var, aggregate, query, args, bounds):
            inner = substitute_bounds(bounds, by)
            return Lift(substitute_term(var, by), aggregate, query, all_of(args), inner)
        case _:
            assert_never(factor)


def substitute_bounds(bounds: tuple[Bound, ...], by: Substitution) -> tuple[Bound, ...]:
    """``bounds`` with variables replaced."""
    return tuple(Bound(bound.operator, substitute_term(bound.term, by)) for bound in bounds)


def substitute(monomial: Monomial, by: Substitution) -> Monomial:
    """``monomial`` with variables replaced."""
    return Monomial(
        tuple(substitute_term(term, by) for term in monomial.keys),
        tuple(substitute_term(term, by) for term in monomial.weights),
        tuple(substitute_factor(factor, by) for factor in monomial.factors),
    )


def nested_factors(query: Query) -> Iterator[Lift | Pointwise]:
    """The lifts and count-wise operators of ``query``, outermost first."""
    for monomial in query.monomials:
        for factor in monomial.factors:
            if isinstance(factor, Lift | Pointwise):
                yield factor
                yield from nested_factors(factor.query)


def subqueries(query: Query) -> Iterator[Query]:
    """The queries that these read."""
    return (factor.query for factor in nested_factors(query))


def inputs(query: Query) -> frozenset[str]:
    """The tables and dictionaries ``query`` reads, also through its subqueries."""
    return frozenset(
        factor.name
        for each in (query, *subqueries(query))
        for monomial in each.monomials
        for factor in monomial.factors
        if isinstance(factor, Atom)
    )


def is_ready(factor: Factor, bound: Set[str]) -> bool:
    """Whether ``factor`` can be solved once ``bound`` are known: what it does not bind itself is bound."""
    match factor:
        case Test():
            return factor_vars(factor) <= bound
        case Unnest(bag, pattern):
            computed = (leaf for leaf in leaves(pattern) if not isinstance(leaf, Var))
            return term_vars(bag, *computed) <= bound
        case Lift(var):
            return factor_vars(factor) - {var.name} <= bound
        case Atom(_, args) | Pointwise(_, _, args):
            return all(isinstance(arg, Var) or term_vars(arg) <= bound for arg in args)
        case _:
            assert_never(factor)


def is_safe(query: Query, given: Set[str] = frozenset()) -> bool:
    """Whether some order of every monomial's factors binds all its variables, from ``given`` alone."""
    return all(_is_safe(monomial, given) for monomial in query.monomials) and all(
        is_safe(inner.query) or is_local(inner) for monomial in query.monomials for inner in _inner(monomial)
    )


def is_local(factor: Factor) -> bool:
    """Whether ``factor`` is an aggregate of what its arguments alone say: a function of them, which no table changes.

    ``max`` of the parts of a text is one. No map has it, since it has a value for every argument.
    """
    if not isinstance(factor, Lift) or factor.bounds or is_safe(factor.query) or inputs(factor.query):
        return False
    number = len(factor.args)
    return all(
        _is_safe(monomial, term_vars(*(key for key in monomial.keys[:number] if isinstance(key, Var))))
        and all(is_safe(inner.query) or is_local(inner) for inner in _inner(monomial))
        for monomial in factor.query.monomials
    )


def _inner(monomial: Monomial) -> list[Lift | Pointwise]:
    return [factor for factor in monomial.factors if isinstance(factor, Lift | Pointwise)]


def _is_safe(monomial: Monomial, given: Set[str]) -> bool:
    bound, pending = set(given), list(monomial.factors)
    while ready := [factor for factor in pending if is_ready(factor, bound)]:
        bound |= factor_vars(*ready)
        pending = [factor for factor in pending if factor not in ready]
    return not pending and term_vars(*monomial.keys, *monomial.weights) <= bound


def canonical(query: Query) -> Query:
    """``query`` under names that do not depend on how its variables were called, factors in a fixed order.

    Law: ``canonical(q) == canonical(r)`` implies that q and r differ in names and order only.
    """
    keys = tuple(Var(f"k{i}", key.type) for i, key in enumerate(query.keys))
    monomials = sorted((_canonical_monomial(m) for m in query.monomials), key=repr)
    return Query(keys, tuple(monomials), query.width)


@dataclass(frozen=True)
class Parts:
    """A query as what it sums over and what it sums: queries of one ``body`` can share a map.

    ``measures`` has, for every measure, its weight in each monomial; ``names`` gives, for each monomial, the
    variables as the query calls them. The order of the monomials is the body's.
    """

    body: tuple[Monomial, ...]
    measures: tuple[tuple[Term, ...], ...]
    names: tuple[Mapping[str, Term], ...]
    monomials: tuple[Monomial, ...]

    def with_measures(self, measures: Iterable[tuple[Term, ...]]) -> tuple[Monomial, ...]:
        """The monomials of the query, with other ``measures`` of its body."""
        return tuple(
            Monomial(m.keys, tuple(substitute_term(w[i], self.names[i]) for w in measures), m.factors)
            for i, m in enumerate(self.monomials)
        )


def parts(query: Query) -> Parts:
    """``query`` in parts, under canonical names.

    Law: ``query`` is the sum over ``body`` of ``measures``, variables renamed by ``names``.
    """
    found = []
    for monomial in query.monomials:
        plain = _canonical_monomial(monomial)
        found.append(
            (Monomial(plain.keys, (), plain.factors), plain.weights, _names_back(monomial), monomial)
        )
    if len(found) > 1:
        found.sort(key=lambda entry: repr(entry[0]))
    measures = tuple(tuple(weights[i] for _, weights, _, _ in found) for i in range(query.width))
    return Parts(
        tuple(body for body, *_ in found), measures,
        tuple(back for _, _, back, _ in found), tuple(monomial for *_, monomial in found),
    )  # fmt: skip


def in_order(query: Query, last_stays: bool) -> tuple[Query, tuple[int, ...]]:
    """``query`` with its keys in an order that does not depend on how it was written, and that order.

    ``last_stays``: the last key is the value of an ordered map, and stays last.
    """
    if not query.monomials:
        return query, tuple(range(len(query.keys)))
    plain = _canonical_monomial(query.monomials[0])
    if len(query.monomials) > 1:
        canonical_ones = map(_canonical_monomial, query.monomials)
        plain = min(canonical_ones, key=lambda m: repr((m.factors, m.keys)))
    movable = range(len(query.keys) - last_stays)
    order = (*sorted(movable, key=lambda i: repr(plain.keys[i])), *range(len(movable), len(query.keys)))
    monomials = tuple(
        Monomial(tuple(m.keys[i] for i in order), m.weights, m.factors) for m in query.monomials
    )
    return Query(tuple(query.keys[i] for i in order), monomials, query.width), order


def _names_back(monomial: Monomial) -> dict[str, Term]:
    """Canonical names to the variables of ``monomial``."""
    return {var.name: Var(name, var.type) for name, var in _canonical_names(monomial).items()}


def _canonical_monomial(monomial: Monomial) -> Monomial:
    ordered, names = _ordered(monomial.factors), _canonical_names(monomial)
    return substitute(Monomial(monomial.keys, monomial.weights, ordered.factors), names)


def _canonical_names(monomial: Monomial) -> Mapping[str, Var]:
    """Names by first use: in the factors, so that what is summed does not matter, then in keys and weights."""
    names = dict(_ordered(monomial.factors).names)
    _name(names, (*monomial.keys, *monomial.weights))
    return names


@dataclass(frozen=True)
class _Ordered:
    """Factors in an order that names do not decide, and canonical names for their variables."""

    factors: tuple[Factor, ...]
    names: Mapping[str, Var]


# The same factors are asked for many times while a program is made: their order is remembered.
@lru_cache(maxsize=8192)
def _ordered(factors: tuple[Factor, ...]) -> _Ordered:
    ordered = tuple(sorted((_canonical_inner(factor) for factor in factors), key=_shape))
    names: dict[str, Var] = {}
    for factor in ordered:
        _name(names, factor_terms(factor))
    return _Ordered(ordered, names)


def _name(names: dict[str, Var], terms: Iterable[Term]) -> None:
    """Add the variables of ``terms`` to ``names``, in order of appearance."""
    for term in terms:
        for node in walk(term):
            if isinstance(node, Var) and node.name not in names:
                names[node.name] = Var(f"v{len(names)}", node.type)


def _canonical_inner(factor: Factor) -> Factor:
    match factor:
        case Lift(var, aggregate, query, args, bounds):
            return Lift(var, aggregate, canonical(query), args, bounds)
        case Pointwise(operator, query, args):
            return Pointwise(operator, canonical(query), args)
    return factor


@lru_cache(maxsize=8192)
def _shape(factor: Factor) -> str:
    blank = {name: Var("_", UNIT) for name in factor_vars(factor)}
    return repr(substitute_factor(factor, blank))


def exact_columns(query: Query) -> tuple[int, ...]:
    """The columns of ``query`` in which equal values are one value: scalars, and not NaN."""
    types = [key.type for key in query.keys]
    return tuple(
        i for i, t in enumerate(types) if isinstance(t, Scalar) and t.name not in ("float", "decimal")
    )
