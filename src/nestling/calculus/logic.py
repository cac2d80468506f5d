"""Conditions and their equations: what ``and`` joins, and negations pushed to the comparisons."""

from __future__ import annotations

from nestling.calculus.terms import Call, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def conjuncts(test: Term) -> list[Term]:
    """What ``and`` joins in ``test``, from left to right."""
    return joined(test, "and")


def joined(test: Term, name: str) -> list[Term]:
    """What ``name``, an ``and`` or ``or``, joins in ``test``, in order."""
    found, pending = [], [test]
    while pending:
        here = pending.pop()
        if isinstance(here, Call) and here.function == name:
            pending.extend(reversed(here.args))
        else:
            found.append(here)
    return found


def inward(test: Term) -> Term:
    """``test`` with ``not`` pushed inward where a comparison or its opposite holds."""
    match test:
        case Call("not", (Call("not", (inner,)),)):
            return inward(inner)
        case Call("not", (Call("and" | "or" as name, (left, right)),)):
            other = "or" if name == "and" else "and"
            return Call(other, (inward(Call("not", (left,))), inward(Call("not", (right,)))))
        case Call("not", (Call(name, args) as inner,)) if name in _OPPOSITE and _is_one_or_other(inner):
            return Call(_OPPOSITE[name], args)
        case Call("and" | "or" as name, (left, right)):
            return Call(name, (inward(left), inward(right)))
    return test


def _is_one_or_other(test: Call) -> bool:
    """Whether a comparison or its opposite holds: of a null neither does, nor of NaN, which stands in no order."""
    if not is_two_valued(test):
        return False
    return test.function in ("==", "!=") or not any(map(_is_float, test.args))


def _is_float(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.name == "float"


def is_two_valued(test: Term) -> bool:
    """Whether ``test`` is never null."""
    type_ = term_type(test)
    return isinstance(type_, Scalar) and not type_.nullable
