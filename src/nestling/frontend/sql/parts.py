"""Parts of moments and of times of the day, and moments made of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.library import LIBRARY
from nestling.calculus.terms import Const
from nestling.calculus.types import Scalar
from nestling.frontend.sql.casts import cast
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import applied, is_text, scalar_of
from nestling.frontend.sql.library import library_call
from nestling.frontend.sql.scalars import arithmetic
from nestling.frontend.values import Null, One, Value, type_of

PARTS = {
    "year": "year", "month": "month", "day": "day", "dayofmonth": "day", "hour": "hour", "minute": "minute",
    "second": "second", "quarter": "quarter", "dayofweek": "day_of_week", "dow": "day_of_week", "weekday": "weekday",
    "dayofyear": "day_of_year", "doy": "day_of_year",
}  # fmt: skip


def part_of(function: str, value: Value, node: Any, env: SqlEnv) -> Value:
    """A part of a moment."""
    if isinstance(value, Null):
        return value
    if _is_time(value) and function in _OF_TIMES:
        return One(call(_OF_TIMES[function], scalar_of(value, node, env)))
    if is_text(value):
        value = cast(value, "datetime" if function in ("hour", "minute", "second") else "date", (), node, env)
    return One(applied(function, [scalar_of(value, node, env)], node, env, function.replace("_", "")))


_OF_TIMES = {"hour": "hour_of", "minute": "minute_of", "second": "second_of"}


def _is_time(value: Value) -> bool:
    return isinstance(value, One) and type_of(value) in (Scalar("time"), Scalar("time", True))


def of_extract(node: Any, env: SqlEnv) -> Value:
    """``EXTRACT(part FROM moment)``."""
    only(node, env, "this", "expression")
    return part_named(str(node.this.this), env.value(node.expression), node, env)


_ENTRIES = {"week": "weekofyear", "weeks": "weekofyear", "yearofweek": "yearofweek"}


def part_named(word: str, value: Value, node: Any, env: SqlEnv) -> Value:
    """The part of a moment that ``word`` names; the seconds have places."""
    name = word.lower()
    if name in ("dayofweek_iso", "dow_iso") and not isinstance(value, Null):
        from_monday = part_of("weekday", value, node, env)
        return arithmetic("+", from_monday, One(const(1)), node, env)
    if name in ("second", "seconds"):
        if isinstance(value, Null):
            return One(Const(None, Scalar("decimal", True, (8, 6))))
        if _is_time(value):
            return One(
                call("to_decimal", call("clock_seconds", scalar_of(value, node, env)), const(8), const(6))
            )
        moment = scalar_of(cast(value, "datetime", (), node, env), node, env)
        return One(call("to_decimal", call("seconds_of", moment), const(8), const(6)))
    if name in _ENTRIES:
        if isinstance(value, Null):
            return One(Const(None, Scalar("int", True)))
        day = scalar_of(cast(value, "date", (), node, env), node, env)
        return One(call(_ENTRIES[name], day))
    known = PARTS.get(name) or PARTS.get(name.removesuffix("s"))
    if known is None:
        known_words = ", ".join((*PARTS, "week", "yearofweek", "dayofweek_iso"))
        raise env.error(node, f"there is no part {word.upper()} of a moment", f"one of {known_words}".upper())
    return part_of(known, value, node, env)


def _entry(name: str, values: list[Value], node: Any, env: SqlEnv) -> Value:
    return library_call(LIBRARY[name], values, node, env)


def timestamp_of(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``make_timestamp(date, time)``, or of year, month, day, hour, minute and seconds."""
    if len(values) != 2:
        found = _all(values, 6, node, env)
        values = [_entry("make_date", found[:3], node, env), _entry("make_time", found[3:], node, env)]
    return _entry("at_time", values, node, env)


def unit_last(name: str, number: int) -> Callable[[list[Value], Any, SqlEnv], Value]:
    """A function of times whose unit is written first."""

    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        found = _all(values, number, node, env)
        return _entry(name, [*found[1:], found[0]], node, env)

    return build


def _all(values: list[Value], number: int, node: Any, env: SqlEnv) -> list[Value]:
    if len(values) != number:
        raise env.error(node, f"{node.name} takes {number} arguments, not {len(values)}")
    return values
