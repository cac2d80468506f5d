"""Comparisons as bounds: of what a query sums over, by what surrounds it.

``x - y > 10`` bounds ``x`` by ``> 10 + y`` where ``x`` is summed over and ``y`` is known. Integers only are moved from
one side to the other: the sums of floats and decimals are rounded.

Law: ``bound_of`` says ``column operator term`` where, and only where, the test is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from nestling.calculus.build import call, const
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Term
from nestling.calculus.traverse import walk
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Bound
from nestling.program.traverse import term_vars

#: What holds of two sides, and the same seen from the other.
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

Names = frozenset[str]
Signed = tuple[int, Term]


def bound_of(test: Term, inside: Names) -> tuple[Term, Bound] | None:
    """``test`` as a column in variables of ``inside`` alone, and its bound, which has none of them."""
    match test:
        case Call(name, (left, right)) if name in MIRRORED and is_total(test):
            return _bound(name, left, right, inside) or _isolated(name, left, right, inside)
    return None


def one_range(bounds: Sequence[Bound]) -> tuple[Bound, ...] | None:
    """``bounds`` in a fixed order, if they are at most one from below and one from above."""
    found = sorted(dict.fromkeys(bounds), key=lambda bound: bound.operator)
    sides = {bound.operator[0] for bound in found}
    return tuple(found) if len(sides) == len(found) else None


def _bound(name: str, left: Term, right: Term, inside: Names) -> tuple[Term, Bound] | None:
    for operator, column, other in ((name, left, right), (MIRRORED[name], right, left)):
        used = term_vars(column)
        if used and used <= inside and inside.isdisjoint(term_vars(other)):
            return column, Bound(operator, other)
    return None


def _isolated(name: str, left: Term, right: Term, inside: Names) -> tuple[Term, Bound] | None:
    """``a + x < b - y`` with what is inside brought to one side."""
    if not _is_integral(left) or not _is_integral(right):
        return None
    summands = [*_summands(left, 1), *_summands(right, -1)]
    own = [(sign, term) for sign, term in summands if term_vars(term) & inside]
    rest = [(-sign, term) for sign, term in summands if not term_vars(term) & inside]
    if not own or any(not term_vars(term) <= inside for _, term in own):
        return None
    if all(sign < 0 for sign, _ in own):
        name = MIRRORED[name]
        own, rest = _negated(own), _negated(rest)
    return _total(own), Bound(name, _total(rest))


def _is_integral(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.name == "int" and not _divides(term)


def _divides(term: Term) -> bool:
    return any(isinstance(node, Call) and node.function in ("/", "//", "%") for node in walk(term))


def _summands(term: Term, sign: int) -> list[Signed]:
    match term:
        case Call("+", (left, right)):
            return [*_summands(left, sign), *_summands(right, sign)]
        case Call("-", (left, right)):
            return [*_summands(left, sign), *_summands(right, -sign)]
        case Call("neg", (inner,)):
            return _summands(inner, -sign)
    return [(sign, term)]


def _negated(summands: list[Signed]) -> list[Signed]:
    return [(-sign, term) for sign, term in summands]


def _total(summands: list[Signed]) -> Term:
    """The sum, what is added before what is taken away."""
    ordered = sorted(summands, key=lambda summand: -summand[0])
    if not ordered:
        return const(0)
    first = ordered[0][1] if ordered[0][0] > 0 else call("-", const(0), ordered[0][1])
    return reduce(lambda sum_, s: call("+" if s[0] > 0 else "-", sum_, s[1]), ordered[1:], first)
