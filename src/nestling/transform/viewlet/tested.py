"""Queries that test sums over ranges.

One row changes many such sums, so a map of the query would change at many keys; a reading computes it in logarithmic
time (``Where``). The keys of such a query are among those of the query without its tests.

Law: every key of a query without negative counts is a key of ``untested`` of it.
"""

from __future__ import annotations

from nestling.program.flat import Factor, Lift, Monomial, Query, Test
from nestling.program.traverse import factor_vars


def tests_ranges(query: Query) -> bool:
    """Whether ``query`` reads an aggregate of what lies beyond a bound."""
    return any(isinstance(f, Lift) and bool(f.bounds) for m in query.monomials for f in m.factors)


def untested(query: Query) -> Query:
    """``query`` without its aggregates and the tests of them."""
    monomials = tuple(Monomial(m.keys, m.weights, tuple(_without(m.factors))) for m in query.monomials)
    return Query(query.keys, monomials, query.width)


def _without(factors: tuple[Factor, ...]) -> list[Factor]:
    lifted = frozenset(f.var.name for f in factors if isinstance(f, Lift))
    return [
        factor
        for factor in factors
        if not isinstance(factor, Lift) and not (isinstance(factor, Test) and factor_vars(factor) & lifted)
    ]
