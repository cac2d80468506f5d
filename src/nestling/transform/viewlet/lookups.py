"""Rows asked for by some of their columns.

Law: the rows of ``asked`` are those of the query whose columns at the positions are the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nestling.calculus.build import call
from nestling.calculus.terms import Var
from nestling.program.flat import Monomial, Query, Test
from nestling.transform.lower.unify import unify


def asked(rows: Query, params: Sequence[Var], positions: Sequence[int]) -> Query:
    """``rows`` where the columns at ``positions`` are ``params``."""
    fixed = frozenset(param.name for param in params)
    monomials = []
    for m in rows.monomials:
        tests = [Test(call("==", m.keys[i], p)) for i, p in zip(positions, params, strict=True)]
        bound = unify(Monomial(m.keys, m.weights, (*m.factors, *tests)), fixed)
        monomials += [bound] if bound is not None else []
    return Query(rows.keys, tuple(monomials))


def around(watched: Mapping[str, Query]) -> dict[str, Query]:
    """Those of the ``watched`` queries whose rows have bags in them that are watched too."""
    inside = {query.keys[:n] for query in watched.values() for n in range(len(query.keys))}
    return {name: query for name, query in watched.items() if query.keys in inside}
