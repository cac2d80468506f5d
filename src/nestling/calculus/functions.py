"""Scalar functions: their types and their meaning.

A *strict* function of a null is null. Those that look at nulls say so: ``==`` and ``!=`` are total (a
null equals a null), ``and`` / ``or`` / ``not`` follow Kleene, ``if`` takes the other branch on null,
``is_null`` and ``coalesce`` are what they say. ``=`` is the strict equality of SQL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nestling.calculus.types import BOOL, FLOAT, INT, NUMERIC, STR, Scalar, nullable

TypeRule = Callable[[Sequence[Scalar]], Scalar | None]


@dataclass(frozen=True, slots=True)
class Function:
    """``result`` is ``None`` for arguments the function does not take; ``takes`` says what it does."""

    name: str
    arity: int
    takes: str
    result: TypeRule
    apply: Callable[..., Any]
    strict: bool = True
    precedence: int = 0


def _joined(left: Scalar, right: Scalar) -> Scalar | None:
    """The type that holds values of both, if there is one."""
    null = left.nullable or right.nullable
    if left.name == right.name:
        return Scalar(left.name, null)
    if {left.name, right.name} == {"int", "float"}:
        return Scalar("float", null)
    if {left.name, right.name} == {"int", "decimal"}:
        return Scalar("decimal", null)
    return None


def _compare(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return Scalar("bool", joined.nullable) if joined else None


def _equal(args: Sequence[Scalar]) -> Scalar | None:
    return BOOL if _joined(*args) else None


def _arithmetic(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return joined if joined and joined.name in NUMERIC else None


def _plus(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    if joined and joined.name in (*NUMERIC, "str", "timedelta"):
        return joined
    return _shifted(args)


def _shifted(args: Sequence[Scalar]) -> Scalar | None:
    moment, span = args
    if moment.name in ("date", "datetime") and span.name == "timedelta":
        return Scalar(moment.name, moment.nullable or span.nullable)
    return None


def _minus(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    if joined and joined.name in ("date", "datetime", "timedelta"):
        return Scalar("timedelta", joined.nullable)
    return _arithmetic(args) or _shifted(args)


def _divide(args: Sequence[Scalar]) -> Scalar | None:
    joined = _arithmetic(args)
    return Scalar("float", joined.nullable) if joined and joined.name == "int" else joined


def _same(allowed: Sequence[str], result: Scalar | None = None) -> TypeRule:
    def rule(args: Sequence[Scalar]) -> Scalar | None:
        if any(arg.name not in allowed for arg in args):
            return None
        null = any(arg.nullable for arg in args)
        name = result.name if result else args[0].name
        return Scalar(name, null)

    return rule


def _logical(args: Sequence[Scalar]) -> Scalar | None:
    if any(arg.name != "bool" for arg in args):
        return None
    return Scalar("bool", any(arg.nullable for arg in args))


def _conditional(args: Sequence[Scalar]) -> Scalar | None:
    test, then, otherwise = args
    return _joined(then, otherwise) if test.name == "bool" else None


def _coalesce(args: Sequence[Scalar]) -> Scalar | None:
    joined = _joined(*args)
    return Scalar(joined.name, args[0].nullable and args[1].nullable) if joined else None


def _and(left: Any, right: Any) -> Any:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Any, right: Any) -> Any:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _if(test: Any, then: Any, otherwise: Any) -> Any:
    return then if test is True else otherwise


_TWO, _NUM, _TEXT, _MOMENT = "two comparable scalars", "numbers", "strings", "a date or datetime"


def _functions() -> tuple[Function, ...]:
    both = "booleans"
    return (
        Function("or", 2, both, _logical, _or, False, 1),
        Function("and", 2, both, _logical, _and, False, 2),
        Function("not", 1, "a boolean", _logical, operator.not_, True, 3),
        Function("==", 2, _TWO, _equal, operator.eq, False, 4),
        Function("!=", 2, _TWO, _equal, operator.ne, False, 4),
        Function("=", 2, _TWO, _compare, operator.eq, True, 4),
        Function("<", 2, _TWO, _compare, operator.lt, True, 4),
        Function("<=", 2, _TWO, _compare, operator.le, True, 4),
        Function(">", 2, _TWO, _compare, operator.gt, True, 4),
        Function(">=", 2, _TWO, _compare, operator.ge, True, 4),
        Function("+", 2, "numbers, strings, or a date and a span", _plus, operator.add, True, 5),
        Function("-", 2, "numbers, dates, or a date and a span", _minus, operator.sub, True, 5),
        Function("*", 2, _NUM, _arithmetic, operator.mul, True, 6),
        Function("/", 2, _NUM, _divide, operator.truediv, True, 6),
        Function("//", 2, _NUM, _arithmetic, operator.floordiv, True, 6),
        Function("%", 2, _NUM, _arithmetic, operator.mod, True, 6),
        Function("neg", 1, "a number", _same((*NUMERIC, "timedelta")), operator.neg),
        Function("abs", 1, "a number", _same((*NUMERIC, "timedelta")), abs),
        Function("is_null", 1, "a scalar", lambda args: BOOL, lambda value: value is None, False),
        Function("coalesce", 2, _TWO, _coalesce, lambda a, b: b if a is None else a, False),
        Function("nullable", 1, "a scalar", lambda args: nullable(args[0]), lambda value: value, False),
        Function("if", 3, "a boolean and two alike scalars", _conditional, _if, False),
        Function("lower", 1, "a string", _same(("str",)), str.lower),
        Function("upper", 1, "a string", _same(("str",)), str.upper),
        Function("strip", 1, "a string", _same(("str",)), str.strip),
        Function("length", 1, "a string or bytes", _same(("str", "bytes"), INT), len),
        Function("contains", 2, _TEXT, _same(("str",), BOOL), operator.contains),
        Function("starts_with", 2, _TEXT, _same(("str",), BOOL), str.startswith),
        Function("ends_with", 2, _TEXT, _same(("str",), BOOL), str.endswith),
        Function("year", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.year),
        Function("month", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.month),
        Function("day", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.day),
        Function("hour", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.hour),
        Function("minute", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.minute),
        Function("second", 1, "a datetime", _same(("datetime",), INT), lambda moment: moment.second),
        Function("weekday", 1, _MOMENT, _same(("date", "datetime"), INT), lambda day: day.weekday()),
        Function("to_date", 1, "a datetime", _same(("datetime",), Scalar("date")), lambda when: when.date()),
        Function("replace", 3, _TEXT, _same(("str",)), str.replace),
        Function("to_float", 1, "a number", _same(NUMERIC, FLOAT), float),
        Function("to_int", 1, "a number", _same(NUMERIC, INT), int),
        Function("to_str", 1, "an int, bool or string", _same(("int", "bool", "str"), STR), str),
    )


FUNCTIONS: dict[str, Function] = {function.name: function for function in _functions()}
INFIX = {function.name for function in FUNCTIONS.values() if function.precedence and function.arity == 2}


def apply_function(function: Function, args: Sequence[Any]) -> Any:
    """The value of a call; a strict function of a null is null."""
    if function.strict and any(arg is None for arg in args):
        return None
    return function.apply(*args)
