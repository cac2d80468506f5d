"""Many conditions on the columns of one row, as one.

A join finds rows by equations, and a bound by a comparison of two rows; what compares the columns of a row with each
other and with constants only filters. Some such conditions are tests of their own, each asked as early as it can be.
Many are one test: nothing is gained by going through them one by one, here or in the code.
"""

from __future__ import annotations

from nestling.calculus.build import balanced
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Term
from nestling.program.flat import Atom, Factor, Monomial, Test
from nestling.program.traverse import factor_vars
from nestling.transform.lower.conditions import MOST, gathered


def filtered(monomial: Monomial) -> Monomial:
    """``monomial`` with the conditions on each row joined, where it has more than ``MOST``.

    Law: ``filtered`` keeps the meaning of a monomial.
    """
    if sum(isinstance(factor, Test) for factor in monomial.factors) <= MOST:
        return monomial
    rows = [factor_vars(factor) for factor in monomial.factors if isinstance(factor, Atom)]
    groups: dict[int, list[Term]] = {}
    rest: list[Factor] = []
    for factor in monomial.factors:
        row = next((i for i, row in enumerate(rows) if factor_vars(factor) <= row), None)
        if isinstance(factor, Test) and row is not None and _filters(factor.test):
            groups.setdefault(row, []).append(factor.test)
        else:
            rest.append(factor)
    joined = (Test(gathered(balanced("and", tests))) for tests in groups.values())
    return Monomial(monomial.keys, monomial.weights, (*rest, *joined))


def _filters(test: Term) -> bool:
    """Whether ``test`` may be asked anywhere and nothing is looked up by it."""
    return is_total(test) and not (isinstance(test, Call) and test.function in ("==", "="))
