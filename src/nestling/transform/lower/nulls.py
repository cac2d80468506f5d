"""Sums that are null where there is nothing to add up, without their nulls.

SQL's sum is ``if(n == 0, null, s)``, with s a sum and n the count of the same rows. Inside a condition it hides that
the condition is a bound. There it is taken apart: ``[s > x]`` with such a sum is ``[n != 0]·[s > x]`` with a plain one,
and ``coalesce(sum, 0)`` is s. ``[n != 0]`` goes where the product holds one of the rows that n counts.

Law: while the tables are bags, ``without_nulls`` keeps the meaning of a monomial; ``without_unused`` does of any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import map_children
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Factor, Lift, Monomial, Query, Test
from nestling.program.signs import is_nonnegative
from nestling.program.traverse import canonical, factor_vars, substitute_factor, substitute_term, term_vars

Names = dict[str, Term]


def without_nulls(monomial: Monomial) -> Monomial:
    """``monomial`` with the sums in it that may be null taken apart, where they are compared or have a default."""
    counts = {f.var.name: f for f in monomial.factors if isinstance(f, Lift) and _counts(f)}
    if not counts:
        return monomial
    sums = {
        f.var.name: f
        for f in monomial.factors
        if isinstance(f, Lift) and f.aggregate in ("sum", "float_sum", "parts_sum")
    }
    found = _Nulls(counts, sums)
    factors = [part for factor in monomial.factors for part in found.of_factor(factor)]
    keys, weights = (tuple(map(found.defaulted, terms)) for terms in (monomial.keys, monomial.weights))
    if (keys, weights, factors) == (monomial.keys, monomial.weights, list(monomial.factors)):
        return monomial
    kept = [f for f in dict.fromkeys(factors) if not _is_implied(f, counts, monomial.factors)]
    return Monomial(keys, weights, tuple(kept))


def without_unused(monomial: Monomial) -> Monomial:
    """``monomial`` without the aggregates that nothing uses: each has one value, whatever there is to add up."""
    others = [f for f in monomial.factors if not isinstance(f, Lift)]
    used = factor_vars(*others) | term_vars(*monomial.keys, *monomial.weights)
    used |= frozenset[str]().union(
        *(factor_vars(f) - {f.var.name} for f in monomial.factors if isinstance(f, Lift))
    )
    live = tuple(f for f in monomial.factors if not isinstance(f, Lift) or f.var.name in used)
    if len(live) == len(monomial.factors):
        return monomial
    return without_unused(Monomial(monomial.keys, monomial.weights, live))


def _counts(lift: Lift) -> bool:
    """Whether ``lift`` counts rows, and is zero where there are none and only there."""
    return lift.aggregate == "count" and is_nonnegative(lift.query)


class _Nulls:
    """The counts and sums of a monomial, by the variables that hold them."""

    def __init__(self, counts: dict[str, Lift], sums: dict[str, Lift]) -> None:
        self.counts, self.sums = counts, sums

    def of_factor(self, factor: Factor) -> list[Factor]:
        if not isinstance(factor, Test):
            return [factor]
        test, there = self.defaulted(factor.test), list[Factor]()
        for sum_ in list(dict.fromkeys(_strict_parts(test))):
            match sum_:
                case Call("if", (Call("==", (Var(name), Const(0))), Const(None), Call("nullable", (value,)))):
                    plain = _put(test, sum_, value)
                    if name in self.counts and is_total(plain):
                        test = plain
                        there.append(Test(call("!=", self.counts[name].var, const(0))))
        return [*there, Test(test)]

    def defaulted(self, term: Term) -> Any:
        """``term`` with ``s`` for every ``coalesce(if(n == 0, null, s), 0)``."""
        match term:
            case Call(
                "coalesce", (Call("if", (test, Const(None), Call("nullable", (value,)))), Const(0) as zero)
            ):
                match test:
                    case Call("==", (Var(name), Const(0))) if self.adds_up(value, name):
                        # Of numbers the sum has the narrower type: an integer beside a default that is a decimal.
                        return value if term_type(value) == term_type(zero) else call("+", value, zero)
        return map_children(term, self.defaulted)

    def adds_up(self, value: Term, name: str) -> bool:
        """Whether ``value`` is the sum of what ``name`` counts."""
        total = self.sums.get(value.name) if isinstance(value, Var) else None
        count = self.counts.get(name)
        if total is None or count is None or (total.args, total.bounds) != (count.args, count.bounds):
            return False
        return canonical(_rows(total.query)) == canonical(_rows(count.query))


def _rows(query: Query) -> Query:
    """``query`` as a count."""
    counts = tuple(Monomial(m.keys, (const(1),), m.factors) for m in query.monomials)
    return Query(query.keys, counts)


def _strict_parts(term: Term) -> Iterator[Term]:
    """The calls in ``term`` whose nulls make it null."""
    if isinstance(term, Call):
        if FUNCTIONS[term.function].strict:
            for arg in term.args:
                yield from _strict_parts(arg)
        else:
            yield term


def _put(term: Term, gone: Term, value: Term) -> Any:
    return value if term == gone else map_children(term, lambda child: _put(child, gone, value))


def _is_implied(factor: Factor, counts: dict[str, Lift], factors: tuple[Factor, ...]) -> bool:
    """Whether ``factor`` says ``n != 0`` of a count some row of which is among the ``factors``."""
    match factor:
        case Test(Call("!=", (Var(name), Const(0)))) if name in counts:
            lift = counts[name]
            return not lift.bounds and any(
                _is_among(m, lift.args, factors) for m in lift.query.monomials if m.weights[0] != const(0)
            )
    return False


def _is_among(monomial: Monomial, args: tuple[Term, ...], factors: tuple[Factor, ...]) -> bool:
    """Whether some solution of ``monomial`` with keys ``args`` is part of every solution of ``factors``."""
    start = _matched(monomial.keys, args, {})
    return start is not None and _all_among(list(monomial.factors), start, factors)


def _all_among(pending: list[Factor], names: Names, factors: tuple[Factor, ...]) -> bool:
    atoms = [f for f in pending if isinstance(f, Atom)]
    if not atoms:
        return all(isinstance(f, Test) and substitute_factor(f, names) in factors for f in pending)
    rest = [f for f in pending if f is not atoms[0]]
    for other in factors:
        if isinstance(other, Atom) and other.name == atoms[0].name:
            found = _matched(atoms[0].args, other.args, names)
            if found is not None and _all_among(rest, found, factors):
                return True
    return False


def _matched(patterns: tuple[Term, ...], terms: tuple[Term, ...], names: Names) -> Names | None:
    """``names`` extended so that ``patterns`` are ``terms``."""
    found = dict(names)
    for pattern, term in zip(patterns, terms, strict=True):
        if isinstance(pattern, Var) and pattern.name not in found:
            found[pattern.name] = term
        elif not term_vars(pattern) <= found.keys() or substitute_term(pattern, found) != term:
            return None
    return found
