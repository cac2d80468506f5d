"""Functions that are written with others, and those that take words: units, bits, defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, call, const
from nestling.calculus.library.moments import UNITS
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.frontend.sql.casts import cast
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import (
    applied,
    as_text,
    is_nullable,
    is_text,
    operands,
    scalar_of,
    scalar_type,
    widened,
)
from nestling.frontend.sql.scalars import arithmetic
from nestling.frontend.sql.time_windows import length
from nestling.frontend.values import Null, One, Row, Value

Builder = Callable[[list[Value], Any, SqlEnv], Value]
FLOAT = Scalar("float")


def _arguments(values: list[Value], number: int, node: Any, env: SqlEnv) -> list[Value]:
    if len(values) != number:
        raise env.error(node, f"{node.name} takes {number} argument{'s' * (number != 1)}, not {len(values)}")
    return values


def _as_float(value: Value, node: Any, env: SqlEnv) -> Term:
    term = scalar_of(value, node, env)
    type_ = scalar_type(term)
    return term if type_.name == "float" else widened(term, Scalar("float", type_.nullable), node, env)


def _isnan(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """Whether it is no number; a null is not."""
    (value,) = _arguments(values, 1, node, env)
    if isinstance(value, Null):
        return One(FALSE)
    found = call("is_nan", _as_float(value, node, env))
    return One(call("coalesce", found, FALSE) if is_nullable(found) else found)


def _nanvl(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """The first, or the second where that is no number."""
    _arguments(values, 2, node, env)
    if isinstance(values[0], Null):
        return values[0]
    one, two = (_as_float(value, node, env) for value in values)
    return chosen([call("is_nan", one)], [One(two), One(one)], node, env)


def _joined(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``concat_ws(by, …)``: the texts with ``by`` between them; nulls are passed over."""
    if not values:
        raise env.error(node, "concat_ws takes what stands between the texts", "write concat_ws(',', a, b)")
    if isinstance(values[0], Null):
        return One(Const(None, Scalar("str", True)))
    by = as_text(scalar_of(values[0], node, env), node, env, "concat_ws")
    found = joined_texts(by, values[1:], node, env)
    return One(
        call("if", call("is_null", by), Const(None, Scalar("str", True)), found) if is_nullable(by) else found
    )


def joined_texts(by: Term, values: Sequence[Value], node: Any, env: SqlEnv) -> Term:
    """The texts with ``by`` between them; nulls are passed over."""
    found: Term = const("")
    before: Term = FALSE  # whether there is a text before
    for value in values:
        if isinstance(value, Null):
            continue
        text = as_text(scalar_of(value, node, env), node, env, "concat_ws")
        if not is_nullable(text):
            found = call("+", call("if", before, call("+", found, by), _like(found, by)), text)
            before = const(True)
            continue
        there = call("not", call("is_null", text))
        plain = call("coalesce", text, const(""))
        longer = call("+", call("if", before, call("+", found, by), _like(found, by)), plain)
        found = call("if", there, longer, _like(found, longer))
        before = call("or", before, there)
    return found


def _like(term: Term, other: Term) -> Term:
    return call("nullable", term) if is_nullable(other) and not is_nullable(term) else term


def _decode(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``decode(x, a, r, b, s, …, default)``: as CASE has it, but a null is a null."""
    subject, rest = values[0], values[1:]
    tests, results = [], []
    while len(rest) >= 2:
        wanted, result, *rest = rest
        if isinstance(wanted, Null) or isinstance(subject, Null):
            both = isinstance(wanted, Null) and isinstance(subject, Null)
            other = subject if isinstance(wanted, Null) else wanted
            test = const(True) if both else call("is_null", scalar_of(other, node, env))
        else:
            test = call("==", *operands([subject, wanted], node, env))
        tests.append(test)
        results.append(result)
    if not tests:
        raise env.error(node, "decode takes a value, and pairs of one to compare and a result")
    return chosen(tests, [*results, *(rest or [Null()])], node, env)


def _try(operator: str) -> Builder:
    """``try_add(a, b)``, …: what ``a + b`` is, and null where a division is by zero."""

    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        left, right = _arguments(values, 2, node, env)
        if operator not in ("/", "remainder"):
            return arithmetic(operator, left, right, node, env)
        if isinstance(left, Null) or isinstance(right, Null):
            return One(Const(None, Scalar("float", True)))
        zero = compared("=", right, One(const(0)), node, env)
        if operator == "/":
            return chosen([zero], [Null(), arithmetic("/", left, right, node, env)], node, env)
        found = applied("remainder", operands([left, right], node, env), node, env, node.name)
        return chosen([zero], [Null(), One(found)], node, env)

    return build


def _nullifzero(values: list[Value], node: Any, env: SqlEnv) -> Value:
    (value,) = _arguments(values, 1, node, env)
    return (
        value
        if isinstance(value, Null)
        else chosen([compared("=", value, One(const(0)), node, env)], [Null(), value], node, env)
    )


def _zeroifnull(values: list[Value], node: Any, env: SqlEnv) -> Value:
    (value,) = _arguments(values, 1, node, env)
    if isinstance(value, Null):
        return One(const(0))
    return chosen([call("is_null", scalar_of(value, node, env))], [One(const(0)), value], node, env)


def _equal_null(values: list[Value], node: Any, env: SqlEnv) -> Value:
    left, right = _arguments(values, 2, node, env)
    if isinstance(left, Null) and isinstance(right, Null):
        return One(const(True))
    return One(call("==", *operands([left, right], node, env)))


def _constant(value: float) -> Builder:
    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        _arguments(values, 0, node, env)
        return One(Const(value, FLOAT))

    return build


def _positive(values: list[Value], node: Any, env: SqlEnv) -> Value:
    return _arguments(values, 1, node, env)[0]


# -- bits


def of_bits(function: str, name: str) -> Callable[[Any, SqlEnv], Value]:
    """``a & b``, ``a | b``, ``a ^ b``."""

    def of(node: Any, env: SqlEnv) -> Value:
        left, right = env.value(node.this), env.value(node.expression)
        if isinstance(left, Null) or isinstance(right, Null):
            return One(Const(None, Scalar("int", True)))
        return One(applied(function, [scalar_of(v, node, env) for v in (left, right)], node, env, name))

    return of


def of_bit_not(node: Any, env: SqlEnv) -> Value:
    """``~a``."""
    value = env.value(node.this)
    return (
        value
        if isinstance(value, Null)
        else One(applied("bit_not", [scalar_of(value, node, env)], node, env, "~"))
    )


# -- moments

_WORDS = {
    "year": "year", "years": "year", "quarter": "quarter", "month": "month", "months": "month", "week": "week",
    "weeks": "week", "day": "day", "days": "day", "dayofyear": "day", "hour": "hour", "hours": "hour",
    "minute": "minute", "minutes": "minute", "second": "second", "seconds": "second",
}  # fmt: skip
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def with_unit(name: str, node: Any, env: SqlEnv) -> Value | None:
    """``timestampdiff(UNIT, a, b)``, ``timestampadd(UNIT, n, t)``: calls whose first argument is a word."""
    parts = node.expressions
    if name not in _WITH_UNIT or len(parts) != 3:
        return None
    unit = _WORDS.get(_word(parts[0]))
    if unit is None:
        units = ", ".join(u.upper() for u in UNITS)
        raise env.error(parts[0], f"{node.name} takes the name of a unit first", f"one of {units}")
    build = _WITH_UNIT[name]
    return build(unit, env.value(parts[1]), env.value(parts[2]), node, env)


def _word(node: Any) -> str:
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        return str(node.name).lower()
    return str(node.this).lower() if isinstance(node, exp.Var) else ""


def _moment(value: Value, node: Any, env: SqlEnv) -> Term:
    term = scalar_of(value, node, env)
    if scalar_type(term).name == "datetime":
        return term
    if scalar_type(term).name == "date" or is_text(value):
        return scalar_of(cast(value, "datetime", (), node, env), node, env)
    raise env.error(node, f"{node.name} takes timestamps", "write a CAST")


def _difference(unit: str, start: Value, end: Value, node: Any, env: SqlEnv) -> Value:
    if isinstance(start, Null) or isinstance(end, Null):
        return One(Const(None, Scalar("int", True)))
    return One(call(f"{unit}s_apart", _moment(start, node, env), _moment(end, node, env)))


def _added(unit: str, number: Value, moment: Value, node: Any, env: SqlEnv) -> Value:
    if isinstance(number, Null) or isinstance(moment, Null):
        return One(Const(None, Scalar("datetime", True)))
    count, at = scalar_of(number, node, env), _moment(moment, node, env)
    if scalar_type(count).name != "int":
        raise env.error(node, f"{node.name} takes a whole number of units", "write a CAST")
    if unit in _MONTHS:
        return One(call("add_months", at, call("*", count, const(_MONTHS[unit]))))
    if not isinstance(count, Const):
        raise env.error(node, f"{node.name} by {unit.upper()} takes a number that is written out",
                        "write t + INTERVAL '1' HOUR, or move a DATE by a column of days")  # fmt: skip
    span = Const(_span(count.value * _SECONDS[unit]), Scalar("timedelta"))
    return One(applied("+", [at, span], node, env, node.name))


def _span(seconds: int) -> timedelta:
    return timedelta(seconds=seconds)


_WITH_UNIT: dict[str, Callable[[str, Value, Value, Any, SqlEnv], Value]] = {
    "timestampdiff": _difference, "datediff": _difference, "date_diff": _difference, "timestampadd": _added,
    "dateadd": _added, "date_add": _added,
}  # fmt: skip


def _window(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``window(t, '10 minutes')``: the start and the end of the window that ``t`` lies in; one follows the other.

    With a slide and a step (``time_windows``), that of those which overlap that begins so far before the last one.
    """
    lengths = [
        length(str(v.term.value)) for v in values[1:3] if isinstance(v, One) and isinstance(v.term, Const)
    ]
    if len(values) not in (2, 4) or not is_text(values[1]) or not all(lengths):
        hint = "write window(t, '10 minutes'), or GROUP BY window(t, '10 minutes', '5 minutes')"
        raise env.error(node, "window takes a timestamp and a length", hint)
    moment = _moment(values[0], node, env)
    if len(values) == 2:
        ends = [call(name, moment, const(lengths[0])) for name in ("tumbled", "tumbled_end")]
    else:
        start = call("-", call("tumbled", moment, const(lengths[1])), scalar_of(values[3], node, env))
        ends = [start, call("+", start, Const(timedelta(microseconds=lengths[0]), Scalar("timedelta")))]
    return Row(tuple(zip(("start", "end"), map(One, ends), strict=True)))


COMPOSED: dict[str, Builder] = {
    "isnan": _isnan, "nanvl": _nanvl, "concat_ws": _joined, "decode": _decode, "try_add": _try("+"),
    "try_subtract": _try("-"), "try_multiply": _try("*"), "try_divide": _try("/"), "try_mod": _try("remainder"),
    "nullifzero": _nullifzero, "zeroifnull": _zeroifnull, "equal_null": _equal_null, "pi": _constant(math.pi),
    "e": _constant(math.e), "positive": _positive, "window": _window,
}  # fmt: skip
