"""Where a call has no value: the one place that says which functions are partial, and of what."""

from __future__ import annotations

from nestling.calculus.build import call, const
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.traverse import children
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type


def undefined_where(term: Call) -> Term | None:
    """The condition, total itself, under which ``term`` has no value though its arguments have one.

    A division has none by zero; of any other partial function ``f``, ``no_f`` says it. Of a null there is a value,
    which is null. That a number is too large for Python's floats is not foreseen here.
    """
    match term:
        case Call("/" | "//" | "%" | "quotient", (_, Const(value))) if value is None or value:
            return None
        case Call("/" | "//" | "%" | "quotient", (left, right)):
            return _and_not_null(call("==", right, const(0)), left)
        case Call("mean" | "ratio", (left, right, _, _)) if term.function == "mean" or _has_room(term):
            return _and_not_null(call("==", right, const(0)), left)
        case Call("to_int" | "floor" | "ceil", (number,)) if _scalar(number).name == "int":
            return None
        case Call(name, args) if FUNCTIONS[name].partial:
            return Call(f"no_{name}", args)
    return None


def is_total(term: Term) -> bool:
    """Whether ``term`` has a value whatever its variables are.

    ``if(undefined, x, t)`` is total where ``undefined`` is exactly what ``undefined_where`` says of ``t``.
    """
    match term:
        case Call("if", (test, instead, Call() as inner)) if test == undefined_where(inner):
            return is_total(test) and is_total(instead) and all(map(is_total, inner.args))
        case Call() if undefined_where(term) is not None:
            return False
    return all(map(is_total, children(term)))


def _has_room(term: Call) -> bool:
    """Whether no quotient of such decimals is too long: the dividend is sized, and so is the divisor, or an int."""
    left, right = (_scalar(arg) for arg in term.args[:2])
    *_, digits, places = term.args
    if left.name != "decimal" or not left.size or not (right.name == "int" or right.size):
        return False
    assert isinstance(digits, Const) and isinstance(places, Const)
    below = 0 if right.name == "int" else right.size[1]
    room = digits.value - places.value >= left.size[0] - left.size[1] + below
    return bool(room and places.value > left.size[1] - below)


def _and_not_null(test: Term, term: Term) -> Term:
    if not _scalar(term).nullable:
        return test
    return call("and", test, call("not", call("is_null", term)))


def _scalar(term: Term) -> Scalar:
    type_ = term_type(term)
    assert isinstance(type_, Scalar)
    return type_
