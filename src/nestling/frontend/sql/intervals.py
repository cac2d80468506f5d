"""INTERVAL in every form that Spark writes: months, or a span of time."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from nestling.frontend.sql.context import SqlEnv

_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_LARGE_FIRST = ("day", "hour", "minute", "second")
_SPAN = re.compile(r"([+-]?)(\d+(?:[ :]\d+)*(?:\.\d{1,6})?)", re.ASCII)
_YEARS = re.compile(r"([+-]?)(\d+)-(\d+)", re.ASCII)
_SPANS = (exp.Interval, exp.Paren, exp.Add)
_HINT = "write INTERVAL '3' DAY, '1 02:30:00' DAY TO SECOND, '1-6' YEAR TO MONTH, or '1 day 2 hours'"


def interval_of(node: Any, env: SqlEnv) -> int | timedelta | None:
    """The months or the span of an ``INTERVAL``; ``None`` of anything else."""
    if isinstance(node, exp.Paren):
        return interval_of(node.this, env)
    if isinstance(node, exp.Add):
        # Looked at before what is in them: this is asked of every sum in a sum, and most are of columns.
        if not (isinstance(node.this, _SPANS) and isinstance(node.expression, _SPANS)):
            return None
        return _together(interval_of(node.this, env), interval_of(node.expression, env), node, env)
    if not isinstance(node, exp.Interval):
        return None
    text = str(node.this.this).strip() if isinstance(node.this, exp.Literal) else ""
    found: int | timedelta | None
    match node.unit:
        case exp.IntervalSpan():
            first, last = (str(part.this).lower() for part in (node.unit.this, node.unit.expression))
            found = _between(text, first, last)
        case exp.Var():
            found = _of_unit(text, str(node.unit.this))
        case _:
            found = _of_words(text, node, env)
    if found is None:
        raise env.error(node, "this interval is not supported", _HINT)
    return found


def _together(
    one: int | timedelta | None, two: int | timedelta | None, node: Any, env: SqlEnv
) -> int | timedelta | None:
    """``INTERVAL 1 YEAR 2 MONTHS``: parts of one kind."""
    if isinstance(one, int) and isinstance(two, int):
        return one + two
    if isinstance(one, timedelta) and isinstance(two, timedelta):
        return one + two
    if one is None or two is None:
        return None
    raise env.error(node, "months and days are two intervals", "add one after the other")


def _of_unit(text: str, word: str) -> int | timedelta | None:
    unit = word.lower().removesuffix("s")
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    whole = number == number.to_integral_value() if number.is_finite() else False
    if unit in _MONTHS and whole:
        return int(number) * _MONTHS[unit]
    micros = number * 1_000_000 * _SECONDS.get(unit, 0)
    if unit in _SECONDS and (whole or unit == "second") and micros == micros.to_integral_value():
        return timedelta(microseconds=int(micros))
    return None


def _of_words(text: str, node: Any, env: SqlEnv) -> int | timedelta | None:
    """``INTERVAL '1 day 2 hours'``."""
    words = text.split()
    if not words or len(words) % 2:
        return None
    parts = [_of_unit(number, word) for number, word in zip(words[::2], words[1::2], strict=True)]
    found = parts[0]
    for part in parts[1:]:
        found = _together(found, part, node, env)
    return found


def _between(text: str, first: str, last: str) -> int | timedelta | None:
    """``'1 02:30:00' DAY TO SECOND``, ``'1-6' YEAR TO MONTH``."""
    if (first, last) == ("year", "month"):
        years = _YEARS.fullmatch(text)
        if years is None or int(years[3]) > 11:
            return None
        return (-1 if years[1] == "-" else 1) * (int(years[2]) * 12 + int(years[3]))
    if first not in _LARGE_FIRST or last not in _LARGE_FIRST:
        return None
    units = _LARGE_FIRST[_LARGE_FIRST.index(first) : _LARGE_FIRST.index(last) + 1]
    span = _SPAN.fullmatch(text)
    numbers = re.split("[ :]", span[2]) if span is not None else []
    if span is None or len(numbers) != len(units) or ("." in text and last != "second"):
        return None
    parts = [_of_unit(number, unit) for number, unit in zip(numbers, units, strict=True)]
    most = {"hour": 23, "minute": 59, "second": 59}
    if any(Decimal(n) >= most[u] + 1 for n, u in zip(numbers[1:], units[1:], strict=True)):
        return None
    total = sum((part for part in parts if isinstance(part, timedelta)), timedelta())
    return -total if span[1] == "-" else total
