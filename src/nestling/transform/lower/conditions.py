"""Conditions as sums of products.

``[a ∨ b] = [a] + [b] − [a]·[b]``: with the disjuncts apart, each summand is bound by its own equalities, and a
change meets the rows that match it instead of all. Negations are pushed to the comparisons first. Beyond ``MOST``
summands a condition is left whole: a test on rows found otherwise. So is a condition that may be undefined: what
stands before it says where it is asked.
"""

from __future__ import annotations

from nestling.calculus.logic import inward
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Term, Var
from nestling.calculus.traverse import walk

MOST = 16

#: A product of conditions with its sign.
Signed = tuple[int, tuple[Term, ...]]


def summands(test: Term) -> list[Signed]:
    """``[test]`` as a signed sum of conjunctions.

    Law: for every assignment, the signs of the conjunctions that hold add up to 1 where ``test`` is true, else 0.
    """
    pushed = inward(test)
    # Counted before they are made: of n disjuncts there are 2ⁿ − 1.
    return [(1, tuple(_conjuncts(test)))] if _count(pushed) > MOST else _expand(pushed)


def _count(test: Term) -> int:
    """How many summands ``_expand`` makes of ``test``."""
    match test:
        case Call("and", (left, right)) if is_total(right):
            return _count(left) * _count(right)
        case Call("and", (left, _)):
            return _count(left)
        case Call("or", (left, right)) if _finds(left) and _finds(right) and is_total(right):
            return (_count(left) + 1) * (_count(right) + 1) - 1
    return 1


def _expand(test: Term) -> list[Signed]:
    match test:
        case Call("and", (left, right)) if is_total(right):
            return _times(_expand(left), _expand(right))
        case Call("and", (left, _)):
            return [(sign, (*tests, test)) for sign, tests in _expand(left)]
        case Call("or", (left, right)) if _finds(left) and _finds(right) and is_total(right):
            a, b = _expand(left), _expand(right)
            return [*a, *b, *((-sign, tests) for sign, tests in _times(a, b))]
    return [(1, (test,))]


def _times(left: list[Signed], right: list[Signed]) -> list[Signed]:
    return [(s * t, tuple(dict.fromkeys((*a, *b)))) for s, a in left for t, b in right]


def _conjuncts(test: Term) -> list[Term]:
    match test:
        case Call("and", (left, right)):
            return [*_conjuncts(left), *(_conjuncts(right) if is_total(right) else [test])]
    return [test]


def _finds(test: Term) -> bool:
    """Whether splitting off ``test`` gives its summand something to be looked up by, or bounded by."""
    match test:
        case Call("==" | "=", _):
            return True
        case Call("<" | "<=" | ">" | ">=", _):
            return len({node for node in walk(test) if isinstance(node, Var)}) > 1
        case Call("and", (left, right)):
            return _finds(left) or _finds(right)
        case Call("or", (left, right)):
            return _finds(left) and _finds(right)
    return False
