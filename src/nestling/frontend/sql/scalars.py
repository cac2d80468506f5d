"""Scalar expressions: literals, arithmetic, comparisons, CASE and casts, with SQL's nulls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from nestling.calculus.build import FALSE, TRUE, balanced, call, const
from nestling.calculus.sizes import MOST, decimal_size, is_exact, of_product, of_quotient, of_sum
from nestling.calculus.standard import like
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.sql.comparing import compared, identical
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import (
    applied,
    as_text,
    condition,
    is_nullable,
    operands,
    scalar,
    scalar_of,
    scalar_type,
)
from nestling.frontend.sql.intervals import interval_of
from nestling.frontend.values import Null, One, Value, there

FLOAT = Scalar("float")


def of_literal(node: Any, env: SqlEnv) -> Value:
    """A number or a string; a number with a point is a DECIMAL, one with an exponent a DOUBLE."""
    text = str(node.this)
    if node.is_string:
        return One(const(text))
    if "e" in text.lower():
        return One(Const(float(text), FLOAT))
    bits = 32 if "." not in text and int(text) < 1 << 31 else 64
    if "." not in text and int(text) < 1 << 63:
        return One(Const(int(text), Scalar("int", size=(bits,))))
    return One(written_decimal(Decimal(text)))


def written_decimal(number: Decimal) -> Const:
    """A DECIMAL that is written out: it has the digits that are written."""
    places = max(0, -int(number.as_tuple().exponent))
    digits = max(len(number.as_tuple().digits), places, 1)
    return Const(number, Scalar("decimal", size=(digits, places) if digits <= MOST else ()))


def of_raw_string(node: Any, env: SqlEnv) -> Value:
    """``r'…'``."""
    return One(const(str(node.this)))


def of_boolean(node: Any, env: SqlEnv) -> Value:
    """``TRUE`` or ``FALSE``."""
    return One(TRUE if node.this else FALSE)


def of_null(node: Any, env: SqlEnv) -> Value:
    """``NULL``."""
    return Null()


def of_paren(node: Any, env: SqlEnv) -> Value:
    """``(…)``."""
    return env.value(node.this)


def of_neg(node: Any, env: SqlEnv) -> Value:
    """``-x``."""
    value = env.value(node.this)
    if isinstance(value, Null):
        return value
    term = scalar_of(value, node, env)
    if isinstance(term, Const) and isinstance(term.value, int | float | Decimal):
        return One(Const(-term.value, term.type))
    return One(applied("neg", [term], node, env, "-"))


def of_arithmetic(operator: str) -> Callable[[Any, SqlEnv], Value]:
    """``+``, ``-`` or ``*`` of numbers; ``+`` and ``-`` move dates, too."""

    def of(node: Any, env: SqlEnv) -> Value:
        left, right = node.this, node.expression
        if operator != "*":
            for moment, interval, sign in ((left, right, operator), (right, left, "+")):
                if (span := interval_of(interval, env)) is not None and (sign == operator):
                    return One(moved(scalar(moment, env), span, operator, node, env))
        return arithmetic(operator, env.value(left), env.value(right), node, env)

    return of


def arithmetic(operator: str, left: Value, right: Value, node: Any, env: SqlEnv) -> Value:
    """``left operator right``, null where a side is."""
    if isinstance(left, Null) and isinstance(right, Null):
        return Null()
    if not isinstance(left, Null) and not isinstance(right, Null):
        terms = [scalar_of(left, node, env), scalar_of(right, node, env)]
        names = [scalar_type(term).name for term in terms]
        if names == ["date", "int"]:
            return One(call("add_days", terms[0], terms[1] if operator == "+" else call("neg", terms[1])))
        if names == ["date", "date"] and operator == "-":
            return One(call("-", *terms))
        if names == ["time", "time"] and operator == "-":
            return One(call("time_minus", *terms))
        if "str" in names:
            raise env.error(
                node, f"{operator} takes numbers, not strings", "write a CAST; join strings with ||"
            )
        if "decimal" in names and set(names) <= {"int", "decimal"}:
            return One(exact_arithmetic(operator, *(_written(term) for term in terms)))
    return One(applied(operator, operands([left, right], node, env), node, env))


def _written(term: Term) -> Term:
    """A whole number that is written out, as a DECIMAL of its digits."""
    if isinstance(term, Const) and isinstance(term.value, int):
        return written_decimal(Decimal(term.value))
    return term


def exact_arithmetic(operator: str, left: Term, right: Term) -> Term:
    """Arithmetic on DECIMALs, to the places that their digits and places have it."""
    sizes = [decimal_size(scalar_type(term)) for term in (left, right)]
    if not all(sizes):
        return call(operator, left, right)
    if operator == "/":
        return call("ratio", left, right, *map(const, of_quotient(*sizes)))
    found = call(operator, left, right)
    if is_exact(operator, *sizes):
        return found
    size = of_product(*sizes) if operator == "*" else of_sum(*sizes)
    return call("round", found, const(size[1]))


def of_divide(node: Any, env: SqlEnv) -> Value:
    """``a / b``: a DOUBLE of BIGINTs. A division by zero is an error, as it is in Spark's ANSI mode."""
    return arithmetic("/", env.value(node.this), env.value(node.expression), node, env)


def of_binary(function: str, name: str) -> Callable[[Any, SqlEnv], Value]:
    """A function of two numbers written as an operator."""

    def of(node: Any, env: SqlEnv) -> Value:
        left, right = env.value(node.this), env.value(node.expression)
        if isinstance(left, Null) and isinstance(right, Null):
            return Null()
        return One(applied(function, operands([left, right], node, env), node, env, name))

    return of


def of_concatenation(node: Any, env: SqlEnv) -> Value:
    """``a || b``: null where a side is."""
    terms = [_text(env.value(part), part, env) for part in (node.this, node.expression)]
    return One(call("+", *terms))


def _text(value: Value, node: Any, env: SqlEnv) -> Term:
    if isinstance(value, Null):
        return Const(None, Scalar("str", True))
    return as_text(scalar_of(value, node, env), node, env, "||")


def of_interval(node: Any, env: SqlEnv) -> Value:
    """``INTERVAL '3' DAY`` as a value."""
    span = interval_of(node, env)
    if not isinstance(span, timedelta):
        raise env.error(node, "months are only added to a date", "write d + INTERVAL '1' MONTH")
    return One(Const(span, Scalar("timedelta")))


def moved(moment: Term, span: int | timedelta, operator: str, node: Any, env: SqlEnv) -> Term:
    """``moment ± span``; a date that moves by whole days stays a date."""
    sign = 1 if operator == "+" else -1
    type_ = scalar_type(moment)
    if isinstance(moment, Const) and type_.name == "str":
        raise env.error(node, "a string is not moved by an interval", "write DATE '…'")
    if isinstance(span, int):
        return applied("add_months", [moment, const(sign * span)], node, env, operator)
    if type_.name == "time":
        return call("time_plus", moment, Const(sign * span, Scalar("timedelta")))
    if type_.name == "date":
        if span % timedelta(days=1):
            return call("+", call("to_datetime", moment), Const(sign * span, Scalar("timedelta")))
        return call("add_days", moment, const(sign * span.days))
    return applied("+", [moment, Const(sign * span, Scalar("timedelta"))], node, env, operator)


def of_null_safe(node: Any, env: SqlEnv) -> Value:
    """``a <=> b``: a null equals a null and nothing else."""
    return One(identical(env.value(node.this), env.value(node.expression), node, env))


def of_null_safe_differ(node: Any, env: SqlEnv) -> Value:
    """``a IS DISTINCT FROM b``."""
    found = of_null_safe(node, env)
    assert isinstance(found, One)
    return One(call("not", found.term))


def of_is(node: Any, env: SqlEnv) -> Value:
    """``x IS NULL``, ``x IS TRUE``."""
    if isinstance(node.expression, exp.Null):
        value = env.value(node.this)
        if isinstance(value, Null):
            return One(TRUE)
        if isinstance(value, One) and isinstance(scalar_or_none(value), Scalar):
            return One(call("is_null", value.term) if is_nullable(value.term) else FALSE)
        is_there = there(value)
        return One(FALSE if is_there is None else call("not", is_there))
    if isinstance(node.expression, exp.Boolean):
        wanted = TRUE if node.expression.this else FALSE
        return One(call("==", condition(node.this, env), wanted))
    raise env.error(node, "IS is followed by NULL, TRUE or FALSE")


def scalar_or_none(value: One) -> Scalar | None:
    """The type of ``value`` if it is a scalar."""
    type_ = term_type(value.term)
    return type_ if isinstance(type_, Scalar) else None


def of_between(node: Any, env: SqlEnv) -> Value:
    """``x BETWEEN a AND b``."""
    only(node, env, "this", "low", "high")
    value = env.value(node.this)
    low = compared(">=", value, env.value(node.args["low"]), node, env)
    return One(call("and", low, compared("<=", value, env.value(node.args["high"]), node, env)))


def of_connective(name: str) -> Callable[[Any, SqlEnv], Value]:
    """``AND`` and ``OR`` after Kleene."""

    def of(node: Any, env: SqlEnv) -> Value:
        return One(call(name, condition(node.this, env), condition(node.expression, env)))

    return of


def negated(node: Any, env: SqlEnv) -> Value:
    """``NOT x``."""
    term = condition(node.this, env)
    return One(
        Const(not term.value, term.type)
        if isinstance(term, Const) and term.value is not None
        else call("not", term)
    )


def of_like(node: Any, env: SqlEnv) -> Value:
    """``x LIKE pattern``, in which a backslash takes the next sign as it is."""
    return _like(node, "\\", env)


def of_escape(node: Any, env: SqlEnv) -> Value:
    """``x LIKE pattern ESCAPE sign``."""
    sign = node.expression
    if not isinstance(node.this, exp.Like | exp.ILike) or not sign.is_string or len(sign.this) != 1:
        raise env.error(node, "ESCAPE takes one sign after LIKE", "write LIKE '…' ESCAPE '!'")
    if isinstance(node.this.expression, exp.Any | exp.All):
        raise env.error(node, "LIKE ANY and LIKE ALL have no ESCAPE", "write … LIKE … ESCAPE … OR …")
    return _like(node.this, str(sign.this), env)


def _like(node: Any, escape: str, env: SqlEnv) -> Value:
    only(node, env, "this", "expression", "negate")
    if isinstance(node.expression, exp.Any | exp.All):
        return _like_several(node, env)
    return One(_matched(node, node.expression, escape, env))


def _matched(node: Any, pattern_: Any, escape: str, env: SqlEnv) -> Term:
    """``x [NOT] LIKE pattern`` of one pattern."""
    text, pattern = (_string(env.value(part), part, env) for part in (node.this, pattern_))
    if isinstance(node, exp.ILike):
        text, pattern = call("lower", text), call("lower", pattern)
    if any(isinstance(part, Const) and part.value is None for part in (text, pattern)):
        return Const(None, Scalar("bool", True))
    if isinstance(pattern, Const) and isinstance(pattern.value, str):
        _check_pattern(pattern.value, escape, node, env)
    found = applied("like", [text, pattern, const(escape)], node, env, "LIKE")
    return call("not", found) if node.args.get("negate") else found


def _like_several(node: Any, env: SqlEnv) -> Value:
    """``x [NOT] LIKE ANY (p, …)``: for one of the patterns; ``ALL``: for each."""
    patterns = node.expression.this
    if isinstance(patterns, exp.Query) or not isinstance(patterns, exp.Tuple | exp.Paren):
        what = "LIKE ANY and LIKE ALL take patterns in parentheses"
        raise env.error(node, what, "write LIKE ANY ('a%', 'b%')")
    found = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns.this]
    each = [_matched(node, pattern, "\\", env) for pattern in found]
    return One(balanced("or" if isinstance(node.expression, exp.Any) else "and", each))


def _string(value: Value, node: Any, env: SqlEnv) -> Term:
    return Const(None, Scalar("str", True)) if isinstance(value, Null) else scalar_of(value, node, env)


def _check_pattern(pattern: str, escape: str, node: Any, env: SqlEnv) -> None:
    try:
        like("", pattern, escape)
    except ValueError as error:
        raise env.error(node, str(error), "an escape sign stands before %, _ or itself") from None
