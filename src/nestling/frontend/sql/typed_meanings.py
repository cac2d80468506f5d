"""What another dialect means by a word where that depends on types: hidden functions that ``meanings`` writes."""

from __future__ import annotations

from typing import Any

from nestling.calculus.build import call
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import scalar_of, scalar_type
from nestling.frontend.sql.scalars import arithmetic
from nestling.frontend.values import One, Value

#: A number before it is cast to a whole one; a number before it is rounded; a difference; a date before it moves.
WHOLE, HALF_UP, DAYS_APART, MOMENT = "·whole", "·half_up", "·minus", "·moment"


def _kind(value: Value, node: Any, env: SqlEnv) -> str:
    return scalar_type(scalar_of(value, node, env)).name if isinstance(value, One) else ""


def whole(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """What is no fraction: a cast of one is rounded there, and cut by Spark."""
    if _kind(values[0], node, env) in ("float", "decimal"):
        hint = "write CAST(round(x) AS INT), or CAST(floor(x) AS INT)"
        raise env.error(node, "a cast to a whole number rounds in this dialect, and cuts in Spark", hint)
    return values[0]


def half_up(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """What is no DOUBLE: a half of one is rounded to even there, and up by Spark."""
    if _kind(values[0], node, env) == "float":
        hint = "write round(CAST(x AS DECIMAL(18, 6)), 2)"
        raise env.error(node, "round of a DOUBLE takes halves to even in this dialect", hint)
    return values[0]


def days_apart(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``a - b``, of dates the number of days."""
    if [_kind(value, node, env) for value in values] == ["date", "date"]:
        left, right = (scalar_of(value, node, env) for value in values)
        return One(call("days_between", left, right))
    return arithmetic("-", values[0], values[1], node, env)


def moment(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """A date as a timestamp, which is what it becomes when it moves."""
    if _kind(values[0], node, env) != "date":
        return values[0]
    return One(call("to_datetime", scalar_of(values[0], node, env)))


TYPED = {WHOLE: whole, HALF_UP: half_up, DAYS_APART: days_apart, MOMENT: moment}
