"""Which queries have no negative counts.

Law: while the tables are bags, no count of a query that ``is_nonnegative`` is below zero.
"""

from __future__ import annotations

from nestling.calculus.terms import Const
from nestling.program.flat import Monomial, Pointwise, Query

#: Count-wise operators that may answer less than zero where an argument is.
SIGNED = ("min", "max", "restrict")


def is_nonnegative(query: Query) -> bool:
    """Whether no count of ``query`` is negative while the tables are bags."""
    return all(
        all(isinstance(weight, Const) and weight.value >= 0 for weight in monomial.weights)
        and _has_nonnegative_factors(monomial)
        for monomial in query.monomials
    )


def _has_nonnegative_factors(monomial: Monomial) -> bool:
    return all(
        factor.operator not in SIGNED or is_nonnegative(factor.query)
        for factor in monomial.factors
        if isinstance(factor, Pointwise)
    )
