"""Why there is no program, in the words of the calculus.

Law: what is said not to be bound is a variable that no order of the factors binds.
"""

from __future__ import annotations

from collections.abc import Set

from nestling.program.flat import Monomial, Query
from nestling.program.show import show_query
from nestling.program.traverse import factor_vars, is_ready, subqueries, term_vars

#: A query in one line, and no more of it than a reader takes in.
LONGEST = 160


def in_a_line(query: Query) -> str:
    """``query`` as text, cut where it is long."""
    text = show_query(query, 10**9)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def unbound(query: Query, given: Set[str] = frozenset()) -> str:
    """Which variables no row binds, in which query, and what would."""
    for each, known in ((query, given), *((inner, frozenset[str]()) for inner in subqueries(query))):
        names = sorted(set[str]().union(*(_unbound(monomial, known) for monomial in each.monomials)))
        if names:
            listed = ", ".join(names)
            return (
                f"no row binds {listed} in {in_a_line(each)}: "
                "compare it with a column by ==, or let it range over the rows of a table"
            )
    raise AssertionError(f"everything is bound in {show_query(query)}")


def _unbound(monomial: Monomial, given: Set[str]) -> set[str]:
    bound, pending = set(given), list(monomial.factors)
    while ready := [factor for factor in pending if is_ready(factor, bound)]:
        bound |= factor_vars(*ready)
        pending = [factor for factor in pending if factor not in ready]
    return set(term_vars(*monomial.keys, *monomial.weights) | factor_vars(*pending)) - bound
