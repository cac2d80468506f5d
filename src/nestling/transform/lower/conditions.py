"""Conditions as sums of products.

``[a ∨ b] = [a] + [b] − [a]·[b]``: with the disjuncts apart, each summand is bound by its own equalities, and a
change meets the rows that match it instead of all. What is put in order has no minus: there it is ``[a] + [b]·[¬a]``,
whose second summand is bound as well. Negations are pushed to the comparisons first. Beyond ``MOST``
summands a condition is left whole: a test on rows found otherwise. So is a condition that may be undefined: what
stands before it says where it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.build import FALSE, balanced, call
from nestling.calculus.logic import inward, is_two_valued, joined
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, Const, Term, Var
from nestling.calculus.traverse import walk

MOST = 16
#: So many constants that a term is compared with are a set.
MANY = 8

#: A product of conditions with its sign.
Signed = tuple[int, tuple[Term, ...]]


def summands(test: Term, apart: bool = False) -> list[Signed]:
    """``[test]`` as a signed sum of conjunctions; ``apart``: of such as never hold together, with no minus.

    Law: for every assignment, the signs of the conjunctions that hold add up to 1 where ``test`` is true, else 0.
    """
    pushed = inward(test)
    # Counted before they are made: of n disjuncts there are 2ⁿ − 1.
    found = [(1, tuple(_conjuncts(pushed)))] if _count(pushed) > MOST else _expand(pushed, apart)
    return [(sign, tuple(map(gathered, _fewer(tests)))) for sign, tests in found]


def gathered(test: Term) -> Term:
    """``test`` with what a long ``and`` or ``or`` joins in a balanced tree, comparisons of one term side by side.

    Law: ``test`` where it has a value. Only what is total changes its place.
    """
    match test:
        case Call("and" | "or" as name, _):
            parts = joined(test, name)
            if len(parts) <= MOST:
                return test
            found = [gathered(part) for part in parts]
            if all(map(is_total, found)):
                found = _beside(found, name)
            return balanced(name, found)
        case Call("not", (inner,)):
            new = gathered(inner)
            return test if new is inner else Call("not", (new,))
    return test


def _fewer(tests: tuple[Term, ...]) -> Sequence[Term]:
    """``tests`` with comparisons of one term with many constants as one."""
    return _beside(tests, "and") if len(tests) > MOST and all(map(is_total, tests)) else tests


def _beside(parts: Sequence[Term], name: str) -> list[Term]:
    """``parts``, joined by ``name``, with comparisons of one term with ``MANY`` constants as a membership."""
    groups: dict[Any, list[tuple[Term, Const | None]]] = {}
    for part in parts:
        found = _compared(part, name)
        key = part if found is None else (found[0], is_two_valued(part))
        groups.setdefault(key, []).append((part, found and found[1]))
    return [each for key, group in groups.items() for each in _membership(key, group, name)]


def _membership(key: Any, group: list[tuple[Term, Const | None]], name: str) -> list[Term]:
    values = dict.fromkeys(value for _, value in group if value is not None)
    if len(values) < MANY:
        return list(dict.fromkeys(part for part, _ in group))
    term, never_null = key
    found = Call("among", (term, *values))
    if never_null and not is_two_valued(found):
        found = call("coalesce", found, FALSE)  # of the total equality, which a null does not make null
    return [found if name == "or" else call("not", found)]


def _compared(test: Term, name: str) -> tuple[Term, Const] | None:
    """The term that an equality compares with a constant, or, under ``and``, the opposite of one does."""
    match test:
        case Call("=" | "==", sides) if name == "or":
            pass
        case Call("!=", sides) | Call("not", (Call("=" | "==", sides),)) if name == "and":
            pass
        case _:
            return None
    term, other = sides if isinstance(sides[1], Const) else sides[::-1]
    if isinstance(other, Const) and other.value is not None and not isinstance(term, Const):
        return term, other
    return None


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


def _expand(test: Term, apart: bool) -> list[Signed]:
    match test:
        case Call("and", (left, right)) if is_total(right):
            return _times(_expand(left, apart), _expand(right, apart))
        case Call("and", (left, _)):
            return [(sign, (*tests, test)) for sign, tests in _expand(left, apart)]
        case Call("or", (left, right)) if _finds(left) and _finds(right) and is_total(right):
            a, b = _expand(left, apart), _expand(right, apart)
            if apart and is_total(left):
                fails = call("not", left if is_two_valued(left) else call("coalesce", left, FALSE))
                return [*a, *((sign, (*tests, fails)) for sign, tests in b)]
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
