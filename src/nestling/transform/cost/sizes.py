"""How many entries a flat query has, and how many of them agree: from statistics of its tables.

An estimate, never a bound. Factors are joined smallest slice first; each multiplies what was found so far by the
rows that agree in what is bound. There are no more entries than solutions, nor than values of the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from nestling.calculus.terms import Call, Const, Term
from nestling.program.flat import Atom, Factor, Lift, Monomial, Pointwise, Query, Test, Unnest
from nestling.program.statements import TableDecl
from nestling.program.traverse import factor_vars, is_known, term_vars
from nestling.transform.cost.statistics import FEW, VALUES, Positions, Statistics

#: The share of what is found that passes a test: an equation picks a value, other tests half.
PASSED = {"==": 1 / VALUES, "=": 1 / VALUES, "!=": 1.0}
HALF = 0.5


def passed(test: Term) -> float:
    """The share of solutions for which ``test`` is true."""
    return PASSED.get(test.function, HALF) if isinstance(test, Call) else HALF


@dataclass(frozen=True)
class Sizes:
    """Estimates over ``tables``; what was estimated once is kept."""

    tables: Mapping[str, TableDecl]
    statistics: Statistics
    _known: dict[Query, float] = field(default_factory=dict)

    def entries(self, query: Query) -> float:
        """How many keys ``query`` has."""
        if query not in self._known:
            self._known[query] = sum(self._keys(m) for m in query.monomials if not _takes_away(m))
        return self._known[query]

    def distinct(self, query: Query, columns: Positions) -> float:
        """How many different values stand in some ``columns`` of ``query``."""
        # Summands mostly have the same values there: those of the rows that they belong to.
        return max([1.0, *map(self._keys, _projected(query, columns).monomials)])

    def slice(self, query: Query, columns: Positions) -> float:
        """How many entries of ``query`` agree with an entry in ``columns``."""
        return self.entries(query) / self.distinct(query, columns) if columns else self.entries(query)

    def group(self, query: Query) -> float:
        """How many solutions there are to an entry of ``query``."""
        return max(1.0, sum(map(self.solutions, query.monomials)) / max(self.entries(query), 1.0))

    def solutions(self, monomial: Monomial) -> float:
        """How many assignments satisfy the factors of ``monomial``."""
        found, bound = 1.0, frozenset[str]()
        pending = [f for f in monomial.factors if isinstance(f, Atom | Pointwise)]
        while pending:
            slices = [(self._rows(factor, _known(factor, bound)), i) for i, factor in enumerate(pending)]
            rows, best = min(slices)
            found *= rows
            bound |= factor_vars(pending.pop(best))
        return found * prod(map(_share, monomial.factors))

    def _keys(self, monomial: Monomial) -> float:
        return min(self.solutions(monomial), self._values(monomial))

    def _rows(self, factor: Atom | Pointwise, columns: Positions) -> float:
        if isinstance(factor, Atom):
            return self.statistics.slice(self.tables[factor.name], columns)
        return self.slice(factor.query, columns)

    def _values(self, monomial: Monomial) -> float:
        """How many values the keys of ``monomial`` have, each factor's columns for themselves."""
        wanted, found = term_vars(*monomial.keys), 1.0
        for factor in monomial.factors:
            if isinstance(factor, Atom | Pointwise):
                columns = tuple(i for i, arg in enumerate(factor.args) if wanted & term_vars(arg))
                wanted -= factor_vars(factor)
                if isinstance(factor, Atom):
                    found *= self.statistics.distinct(self.tables[factor.name], columns)
                elif columns:
                    found *= self.distinct(factor.query, columns)
            elif isinstance(factor, Unnest):
                found *= FEW if wanted & term_vars(factor.pattern) else 1.0
        return found


def _projected(query: Query, columns: Positions) -> Query:
    monomials = (Monomial(tuple(m.keys[i] for i in columns), m.weights, m.factors) for m in query.monomials)
    return Query(tuple(query.keys[i] for i in columns), tuple(monomials), query.width)


def _takes_away(monomial: Monomial) -> bool:
    """Whether ``monomial`` is there to count once what others have in common."""
    return all(isinstance(weight, Const) and weight.value < 0 for weight in monomial.weights)


def _known(factor: Atom | Pointwise, bound: frozenset[str]) -> Positions:
    return tuple(i for i, arg in enumerate(factor.args) if is_known(arg, bound))


def _share(factor: Factor) -> float:
    match factor:
        case Test(test):
            return passed(test)
        case Unnest():
            return float(FEW)
        case Atom() | Pointwise() | Lift():
            return 1.0
