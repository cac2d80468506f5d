"""Atomic values of XQuery as Python values, and their arithmetic: what the plain meaning uses."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from nestling.database.xml.reading import lexical
from nestling.frontend.xquery.branches import BOOLEAN, DATE, DATETIME, DECIMAL, DOUBLE, INTEGER, STRING

_DOUBLE = re.compile(r"[ \t\r\n]*([+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF))[ \t\r\n]*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(_DAY.pattern + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CALCULATE: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class Untyped(str):
    """The value of a node of a document without a schema."""

    __slots__ = ()


def number(value: Any) -> float:
    """A value as a double."""
    if isinstance(value, str):
        found = _DOUBLE.fullmatch(value)
        if found is None:
            raise ValueError(f"{value!r:.40} is not a number")
        return float(found[1])
    return float(value)


def type_of(value: Any) -> str:
    """The type of an atom."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    if isinstance(value, date):
        return DATETIME if isinstance(value, datetime) else DATE
    return INTEGER if isinstance(value, int) else DECIMAL if isinstance(value, Decimal) else DOUBLE


def atom_text(value: Any) -> str:
    """An atom as a text."""
    return lexical(value, type_of(value))


def effective(value: Any) -> bool:
    """The effective boolean value of one atom."""
    return value == value and bool(value)  # noqa: PLR0124 (NaN is false)


def compare(sign: str, left: Any, right: Any) -> bool:
    """A comparison of two atoms; an untyped one becomes what the other is."""
    kinds = type_of(left), type_of(right)
    numeric = [kind in (INTEGER, DECIMAL, DOUBLE) for kind in kinds]
    if any(numeric):
        if not all(n or isinstance(v, Untyped) for n, v in zip(numeric, (left, right), strict=True)):
            raise TypeError(f"{kinds[0]} and {kinds[1]} are not compared")
        left, right = _promoted(left, right)
    elif moments := {DATE, DATETIME}.intersection(kinds):
        moment = min(moments)
        if any(
            kind != moment and not isinstance(v, Untyped)
            for kind, v in zip(kinds, (left, right), strict=True)
        ):
            raise TypeError(f"{kinds[0]} and {kinds[1]} are not compared")
        left, right = (cast(f"xs:{moment}", value) for value in (left, right))
    elif (kinds[0] == BOOLEAN) != (kinds[1] == BOOLEAN):
        raise TypeError("a boolean is compared with a boolean")
    return bool(_COMPARE[sign](left, right))


def _promoted(left: Any, right: Any) -> tuple[Any, Any]:
    if any(isinstance(value, str | float) for value in (left, right)):
        return number(left), number(right)
    return left, right


def arithmetic(sign: str, left: Any, right: Any) -> Any:
    """``left sign right``; exact on integers and decimals."""
    for value in (left, right):
        if isinstance(value, bool | date) or (isinstance(value, str) and not isinstance(value, Untyped)):
            raise TypeError(f"{sign} takes numbers")
    left, right = _promoted(left, right)
    if sign in _CALCULATE:
        with localcontext() as context:
            context.prec = 80
            return _CALCULATE[sign](left, right)
    if isinstance(left, float):
        if sign != "div":
            raise TypeError(f"{sign} takes integers here")
        return left / right
    if sign == "div":
        with localcontext() as context:
            context.prec = 400
            return (Decimal(left) / Decimal(right)).quantize(Decimal("1E-18"), ROUND_HALF_UP)
    whole = abs(left) // abs(right)
    whole = whole if (left < 0) == (right < 0) else -whole
    return whole if sign == "idiv" else left - right * whole


def same_case(left: Any, right: Any) -> bool:
    """Whether a value is that of a case; nothing is nothing, and values that do not compare are not the same."""
    if left is None or right is None:
        return left is right
    left, right = (str(value) if isinstance(value, Untyped) else value for value in (left, right))
    try:
        return compare("=", left, right)
    except TypeError:
        return False


def _moment(value: Any, pattern: re.Pattern[str], type_: str) -> date:
    """A day, or a moment without a time zone."""
    if isinstance(value, date):
        is_moment = isinstance(value, datetime)
        if is_moment and type_ == DATE:
            return value.date()  # type: ignore[attr-defined,no-any-return]
        if is_moment != (type_ == DATETIME):
            raise TypeError(f"a date as {type_} is not supported")
        return value
    if not isinstance(value, str) or not pattern.fullmatch(value.strip(" \t\r\n")):
        raise ValueError(f"{value!r:.40} is no {type_} without a time zone")
    text = value.strip(" \t\r\n")
    return date.fromisoformat(text) if type_ == DATE else datetime.fromisoformat(text)


def cast(type_: str, value: Any) -> Any:
    """``xs:type(value)``"""
    match type_:
        case "xs:double" | "xs:float":
            return number(value)
        case "xs:decimal":
            return Decimal(value.strip() if isinstance(value, str) else value)
        case "xs:integer" | "xs:int":
            return int(value)
        case "xs:date":
            return _moment(value, _DAY, DATE)
        case "xs:dateTime":
            return _moment(value, _MOMENT, DATETIME)
        case "xs:string":
            return str(value) if isinstance(value, str) else atom_text(value)
    return value
