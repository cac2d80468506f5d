"""Where a call has no value: the one place that says which functions are partial, and of what."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial, reduce
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.functions import ABSENT, FUNCTIONS
from nestling.calculus.library import LIBRARY
from nestling.calculus.once import once
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.traverse import children
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.errors import NoValue


@once
def undefined_where(term: Call) -> Term | None:  # noqa: C901 - one arm per kind of function
    """The condition, total itself, under which ``term`` has no value though its arguments have one.

    A division has none by zero, and none that is done in floats has one of an int that is too large for a float; of any
    other partial function ``f``, ``no_f`` says it, but where all arguments of such types have a value. Of a null there
    is a value, which is null. Where several conditions are joined by ``or``, each is of few variables.
    """
    match term:
        case Call("+" | "-" as name, args) if any(_scalar(arg).name == "timedelta" for arg in args):
            return Call(f"no_{ABSENT[name]}", args)
        case Call("+" | "-" | "*" | "/" | "//" | "%" | "quotient" as name, args):
            return _any([*_by_zero(name, args), *_too_large(name, args)])
        case Call("ratio", (left, right, Const() as digits, Const(value) as places)) if _is_few(value):
            return _and_not_null(call("==", right, const(0)), left, digits, places)
        case Call("remainder", (left, Const(int(right)))) if right and _scalar(left).name == "int":
            return None
        case Call("matches", (_, Const())):
            return None
        case Call("like", (_, Const(), Const())) if _has_value(Call("like", (const(""), *term.args[1:]))):
            return None
        case Call("to_int" | "floor" | "ceil", (number,)) if _scalar(number).name == "int":
            return None
        case Call("to_float" | "to_str" | "to_text", (value,)) if not _is_endless(value):
            return None
        case Call("round", (_, Const(value))) if _is_few(value):
            return None
        case Call("neg", (number,)) if _scalar(number).name != "timedelta":
            return None
        case Call(name, args) if name in LIBRARY and _is_settled(name, args):
            return None
        case Call(name, args) if FUNCTIONS[name].partial:
            return Call(f"no_{name}", args)
    return None


def _is_settled(name: str, args: tuple[Term, ...]) -> bool:
    """Whether the arguments that decide are written out, and there is a value for every other."""
    entry = LIBRARY[name]
    if not entry.is_partial:
        return True
    if not all(isinstance(args[i], Const) for i in entry.deciding):
        return False
    if any(args[i] == Const(None, _scalar(args[i])) for i in entry.deciding):
        return True  # of a null it is null
    others = [arg if i in entry.deciding else _SOME[_scalar(arg).name] for i, arg in enumerate(args)]
    return _has_value(Call(name, tuple(others)))


#: A value of each type.
_SOME: dict[str, Const] = {
    name: Const(value, Scalar(name))
    for name, value in {
        "bool": False, "int": 0, "float": 0.0, "decimal": Decimal(0), "str": "", "bytes": b"",
        "date": date(2000, 1, 1), "datetime": datetime(2000, 1, 1), "time": time(), "timedelta": timedelta(0),
    }.items()
}  # fmt: skip


def _is_few(places: Any) -> bool:
    """Whether rounding to so many places has a value."""
    return places is None or abs(places) <= 1000


def disjuncts(term: Term) -> list[Term]:
    """The conditions that ``or`` joins in ``term``."""
    match term:
        case Call("or", (left, right)):
            return [*disjuncts(left), *disjuncts(right)]
    return [term]


def _any(conditions: list[Term]) -> Term | None:
    return reduce(partial(call, "or"), conditions) if conditions else None


def _by_zero(name: str, args: tuple[Term, ...]) -> list[Term]:
    left, right = args
    if name in ("+", "-", "*") or (isinstance(right, Const) and (right.value is None or right.value)):
        return []
    return [_and_not_null(call("==", right, const(0)), left)]


def _too_large(name: str, args: tuple[Term, ...]) -> list[Term]:
    """Where an int is too large for the float that it becomes."""
    kinds = {_scalar(arg).name for arg in args}
    if "float" not in kinds and not (name == "/" and "decimal" not in kinds):
        return []
    return [
        _and_not_null(call("no_to_float", arg), args[1 - i]) for i, arg in enumerate(args) if _is_endless(arg)
    ]


def _is_endless(term: Term) -> bool:
    """Whether ``term`` is an int of any length."""
    type_ = _scalar(term)
    return type_.name == "int" and not type_.size and not isinstance(term, Const)


def _has_value(term: Call) -> bool:
    try:
        FUNCTIONS[term.function].apply(*(arg.value for arg in term.args if isinstance(arg, Const)))
    except NoValue:
        return False
    return True


@once
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
    for null in dict.fromkeys(null for term in terms for null in _nulls(term)):
        test = call("and", test, call("not", call("is_null", null)))
    return test


@once
def _nulls(term: Term) -> tuple[Term, ...]:
    """What must not be null for ``term``, which has a value, not to be: what strict functions in it are asked of.

    A chain of divisions asks this at every level of all that is left of it: its variables are few, its levels many.
    """
    match term:
        case Call("if", (test, Const(value), Call() as inner)) if value is not None:
            if test == undefined_where(inner):
                return _nulls(inner)
        case Call(name, args) if FUNCTIONS[name].strict and _scalar(term).nullable:
            return tuple(dict.fromkeys(null for arg in args for null in _nulls(arg)))
    return (term,) if _scalar(term).nullable else ()


def _scalar(term: Term) -> Scalar:
    type_ = term_type(term)
    assert isinstance(type_, Scalar)
    return type_
