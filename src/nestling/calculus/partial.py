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
        case Call("ratio", (left, right, digits, places)):
            return _and_not_null(call("==", right, const(0)), left, digits, places)
        case Call("matches", (_, Const())):
            return None
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


def _and_not_null(test: Term, *terms: Term) -> Term:
    for term in terms:
        if _scalar(term).nullable:
            test = call("and", test, call("not", call("is_null", term)))
    return test


def _scalar(term: Term) -> Scalar:
    type_ = term_type(term)
    assert isinstance(type_, Scalar)
    return type_
