"""Why there is no program, in words of the query: its tables, and how their rows are found.

Law: what is said not to be found are rows of a query in which some variable is bound by no order of the factors.
"""

from __future__ import annotations

from collections.abc import Set

from nestling.program.flat import Atom, Monomial, Query
from nestling.program.show import show_query
from nestling.program.traverse import factor_vars, inputs, is_ready, subqueries, term_vars


def rows_of(query: Query) -> str:
    """Whose rows ``query`` goes through, as a reader knows them."""
    own = {f.name for monomial in query.monomials for f in monomial.factors if isinstance(f, Atom)}
    tables = sorted(own or inputs(query))
    return f"the rows of {' and '.join(tables)}" if tables else "its rows"


def unbound(query: Query, given: Set[str] = frozenset()) -> str:
    """Which rows nothing finds, and what would."""
    for each, known in ((query, given), *((inner, frozenset[str]()) for inner in subqueries(query))):
        if any(_unbound(monomial, known) for monomial in each.monomials):
            return f"nothing finds {rows_of(each)} that belong to a row around them"
    raise AssertionError(f"everything is bound in {show_query(query)}")


def _unbound(monomial: Monomial, given: Set[str]) -> set[str]:
    bound, pending = set(given), list(monomial.factors)
    while ready := [factor for factor in pending if is_ready(factor, bound)]:
        bound |= factor_vars(*ready)
        pending = [factor for factor in pending if factor not in ready]
    return set(term_vars(*monomial.keys, *monomial.weights) | factor_vars(*pending)) - bound
