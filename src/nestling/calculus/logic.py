"""Conditions and their equations: what ``and`` joins, and negations pushed to the comparisons."""

from __future__ import annotations

from nestling.calculus.terms import Call, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def conjuncts(test: Term) -> list[Term]:
    """What ``and`` joins in ``test``, from left to right."""
    match test:
        case Call("and", (left, right)):
            return [*conjuncts(left), *conjuncts(right)]
    return [test]


def inward(test: Term) -> Term:
    """``test`` with ``not`` pushed inward where two-valued logic allows it: a null is neither way round."""
    match test:
        case Call("not", (Call("not", (inner,)),)):
            return inward(inner)
        case Call("not", (Call("and" | "or" as name, (left, right)),)):
            other = "or" if name == "and" else "and"
            return Call(other, (inward(Call("not", (left,))), inward(Call("not", (right,)))))
        case Call("not", (Call(name, args),)) if name in _OPPOSITE and is_two_valued(Call(name, args)):
            return Call(_OPPOSITE[name], args)
        case Call("and" | "or" as name, (left, right)):
            return Call(name, (inward(left), inward(right)))
    return test


def is_two_valued(test: Term) -> bool:
    """Whether ``test`` is never null."""
    type_ = term_type(test)
    return isinstance(type_, Scalar) and not type_.nullable
