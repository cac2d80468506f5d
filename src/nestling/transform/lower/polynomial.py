"""Weights as sums: ``Σ (x − y) = Σ x − Σ y`` where x and y are read from different rows.

Apart, each summand is a product over the atoms, so what one row contributes is looked up in a sum over the other's.
Exact numbers only: floats would be rounded otherwise.

Law: the monomials of ``expanded`` add up to the monomial.
"""

from __future__ import annotations

from itertools import zip_longest

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.program.flat import Atom, Monomial
from nestling.program.traverse import factor_vars, term_vars

Places = frozenset[int]

#: Beyond this many summands a weight is left whole.
MOST = 8


def expanded(monomial: Monomial) -> list[Monomial]:
    """``monomial`` with the sums in its weights taken apart, where their parts come from different atoms."""
    atoms = [factor_vars(factor) for factor in monomial.factors if isinstance(factor, Atom)]
    if len(atoms) < 2:
        return [monomial]
    sums = [_summands(weight, atoms) for weight in monomial.weights]
    if all(len(summands) == 1 for summands in sums) or any(len(summands) > MOST for summands in sums):
        return [monomial]
    columns = zip_longest(*sums, fillvalue=const(0))
    return [Monomial(monomial.keys, tuple(weights), monomial.factors) for weights in columns]


def _summands(weight: Term, atoms: list[frozenset[str]]) -> list[Term]:
    match weight:
        case Call("*", (left, right)):
            a, b = _summands(left, atoms), _summands(right, atoms)
            return [call("*", x, y) for x in a for y in b] if len(a) * len(b) > 1 else [weight]
        case Call("+", (left, right)) if _splits(weight, left, right, atoms):
            return [*_summands(left, atoms), *_summands(right, atoms)]
        case Call("-", (left, right)) if _splits(weight, left, right, atoms):
            negated = [call("*", const(-1), term) for term in _summands(right, atoms)]
            return [*_summands(left, atoms), *negated]
    return [weight]


def _splits(whole: Term, left: Term, right: Term, atoms: list[frozenset[str]]) -> bool:
    type_ = term_type(whole)
    exact = isinstance(type_, Scalar) and type_.name in ("int", "decimal") and not type_.nullable
    one, other = _places(left, atoms), _places(right, atoms)
    # What one row alone decides, ``1 - x``, is a factor of its own.
    return exact and one != other and len(one | other) > 1


def _places(term: Term, atoms: list[frozenset[str]]) -> Places:
    used = term_vars(term)
    return frozenset(i for i, own in enumerate(atoms) if used & own)
