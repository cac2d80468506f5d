"""Which counts cannot be negative.

Law: while the tables are bags, no count of a query that ``is_nonnegative`` is below zero, and where the count of one
that ``is_positive`` is zero there are no rows.
"""

from __future__ import annotations

from nestling.calculus.terms import Const
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Lift, Monomial, Pointwise, Query
from nestling.program.statements import Order

#: Count-wise operators that may answer less than zero where an argument is.
SIGNED = ("min", "max", "restrict")


def is_nonnegative(query: Query) -> bool:
    """Whether no count of ``query`` is negative while the tables are bags."""
    return all(
        all(_is_count(weight) for weight in monomial.weights) and _has_nonnegative_factors(monomial)
        for monomial in query.monomials
    )


def can_be_ordered(query: Query, order: Order) -> bool:
    """Whether an ordered map holds ``query``: a value counts or is not there, and so is a sum that was rounded."""
    match order:
        case "":
            return True
        case "values":
            return is_nonnegative(query)
        case "sums":
            return all(
                is_exact(monomial) or (_is_count(monomial.weights[0]) and _has_nonnegative_factors(monomial))
                for monomial in query.monomials
            )


def is_positive(query: Query) -> bool:
    """Whether a count of zero means that there are no rows, also between two statements of one trigger.

    Every monomial adds to the count, and what one row adds comes in one piece: no table twice, no nested map.
    """
    return all(_is_plain(monomial) for monomial in query.monomials)


def _is_count(weight: object) -> bool:
    return isinstance(weight, Const) and weight.value >= 0


def _has_nonnegative_factors(monomial: Monomial) -> bool:
    return all(
        factor.operator not in SIGNED or is_nonnegative(factor.query)
        for factor in monomial.factors
        if isinstance(factor, Pointwise)
    )


def is_exact(monomial: Monomial) -> bool:
    """Whether what ``monomial`` sums is not rounded."""
    types = [term_type(weight) for weight in monomial.weights]
    return all(isinstance(type_, Scalar) and type_.name in ("int", "decimal") for type_ in types)


def _is_plain(monomial: Monomial) -> bool:
    tables = [factor.name for factor in monomial.factors if isinstance(factor, Atom)]
    nested = any(isinstance(factor, Lift | Pointwise) for factor in monomial.factors)
    counts = isinstance(monomial.weights[0], Const) and monomial.weights[0].value > 0
    return counts and not nested and len(tables) == len(set(tables))
