"""Terms of the calculus as Spark SQL.

Law: the expression of a term, with its variables' values, evaluates to what ``evaluate_term`` says, or fails where
that has no value. Beyond 64 bits, or 38 decimal digits, it fails where Python does not. Sessions are in ANSI mode.

This module computes types from the columns' real types: a program declares every measure an int, also a sum of
floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isinf, isnan
from typing import Any, assert_never

from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.partial import disjuncts, undefined_where
from nestling.calculus.terms import Call, Const, Field, InL, Term, Tuple, Var
from nestling.calculus.traverse import walk
from nestling.calculus.types import INT, LABEL, Bag, LabelType, Record, Scalar, Type
from nestling.engine.spark.functions import call_sql
from nestling.engine.spark.labels import MICROSECOND
from nestling.engine.spark.types import fits_decimal, sql_type
from nestling.errors import QueryError
from nestling.quoting import is_utf8, sql_text
from nestling.values.clock import micros_of

#: The record without fields.
UNIT_VALUE = "'u', 0L"


@dataclass(frozen=True, slots=True)
class Sql:
    """An expression, and the type of its values."""

    text: str
    type: Type

    @property
    def nullable(self) -> bool:
        return not isinstance(self.type, Scalar) or self.type.nullable


Scope = Mapping[str, Sql]


def is_partial(*terms: Term) -> bool:
    """Whether some term may be undefined: it is then evaluated only where the conditions before it hold."""
    return any(isinstance(n, Call) and _may_be_absent(n) for term in terms for n in walk(term))


#: Functions that seldom have no value: their types and constants say whether they may.
_SELDOM = ("+", "-", "*", "neg", "round", "like", "to_float", "to_str", "to_text")
#: What holds of no int of 64 bits.
_NEVER = ("no_to_float", "no_to_str", "no_to_text")


def _may_be_absent(term: Call) -> bool:
    if term.function not in _SELDOM:
        return FUNCTIONS[term.function].partial
    absent = undefined_where(term)
    return absent is not None and not all(map(_is_false_here, disjuncts(absent)))


def _is_false_here(condition: Term) -> bool:
    """Whether a condition asks, beside others that must hold, for an int that Spark does not have."""
    return any(isinstance(node, Call) and node.function in _NEVER for node in walk(condition))


def sql(term: Term, scope: Scope) -> Sql:
    """``term`` as SQL."""
    match term:
        case Var(name):
            return scope[name]
        case Const(value, type_):
            return Sql(literal(value, type_), type_)
        case Call(name, args):
            return _call(name, [sql(arg, scope) for arg in args], args)
        case InL(site, args):
            inner = ", ".join(_in_label(arg, scope) for arg in args)
            start = sql_text(f"i{site};(")
            return Sql(f"concat({start}, {inner + ', ' if inner else ''}')')", LABEL)
        case Tuple(fields):
            found = [(name, sql(item, scope)) for name, item in fields]
            inner = ", ".join(f"{sql_text(f'f{i}')}, {value.text}" for i, (_, value) in enumerate(found))
            fields_of = tuple((name, value.type) for name, value in found)
            return Sql(f"named_struct({inner or UNIT_VALUE})", Record(fields_of))
        case Field(of, name):
            return _field(sql(of, scope), name)
        case _:
            assert_never(term)


def _field(of: Sql, name: str) -> Sql:
    assert isinstance(of.type, Record)
    position = of.type.index(name)
    assert position is not None
    return Sql(f"{of.text}.f{position}", of.type.types[position])


def _call(name: str, args: list[Sql], terms: tuple[Term, ...]) -> Sql:
    if any(isinstance(arg.type, LabelType) for arg in args):
        if name in ("==", "!="):
            return Sql(equal(*args) if name == "==" else f"(NOT {equal(*args)})", Scalar("bool"))
        raise QueryError(f"{name} of labels", hint="compare the bags' elements")
    types = [arg.type for arg in args if isinstance(arg.type, Scalar)]
    result = FUNCTIONS[name].result(types)
    if result is None:
        shown = ", ".join(type_.name for type_ in types)
        raise QueryError(f"{name} of {shown} is not supported on Spark", hint="keep the view embedded")
    lazy = name in ("and", "or") and is_partial(terms[1])
    text = call_sql(name, [arg.text for arg in args], types, result, terms, lazy)
    return Sql(text, Bag(result, opaque=True) if FUNCTIONS[name].bag else result)


def equal(left: Sql, right: Sql) -> str:
    """The total equality: a null equals a null."""
    operator = "<=>" if left.nullable and right.nullable else "="
    text = f"({left.text} {operator} {right.text})"
    if operator == "=" and (left.nullable or right.nullable):
        return f"coalesce({text}, false)"
    return text


def joins(left: Sql, right: Sql) -> str:
    """``left`` and ``right`` are the same, where they are matched in a join: a null there is not true."""
    operator = "<=>" if left.nullable and right.nullable else "="
    return f"{left.text} {operator} {right.text}"


def _in_label(arg: Term, scope: Scope) -> str:
    """A value as it is written in a label."""
    if isinstance(arg, Tuple):
        inner = ", ".join(_in_label(item, scope) for _, item in arg.fields)
        return ", ".join(["'('", *([inner] if inner else []), "')'"])
    value = sql(arg, scope)
    text = value.text
    match value.type:
        case LabelType():
            return f"'l', CAST(length({text}) AS STRING), ':', {text}"
        case Scalar(name, null):
            written = {
                "bool": f"CASE WHEN {text} THEN 'b1' ELSE 'b0' END",
                "int": f"concat('i', CAST({text} AS STRING), ';')",
                "time": f"concat('c', CAST({text} AS STRING), ';')",
                "timedelta": f"concat('t', CAST({text} AS STRING), ';')",
                "float": f"concat('f', CAST({text} + 0.0D AS STRING), ';')",
                "decimal": f"concat('d', CAST({text} AS STRING), ';')",
                "str": f"concat('s', CAST(length({text}) AS STRING), ':', {text})",
                "bytes": f"concat('x', hex({text}), ';')",
                "date": f"concat('D', date_format({text}, 'yyyy-MM-dd'), ';')",
                "datetime": f"concat('T', CAST(unix_micros(CAST({text} AS TIMESTAMP)) AS STRING), ';')",
            }[name]
            return f"CASE WHEN {text} IS NULL THEN 'n' ELSE {written} END" if null else written
    raise QueryError(f"Spark keeps no {value.type} in a label")


def literal(value: Any, type_: Type = INT) -> str:  # noqa: C901 - one arm per type
    """A constant."""
    match value:
        case None:
            return f"CAST(NULL AS {sql_type(type_)})"
        case bool():
            return "true" if value else "false"
        case int():
            if not -(2**63) <= value < 2**63:
                raise QueryError(f"{value} does not fit Spark's 64 bits", hint="use a smaller constant")
            if isinstance(type_, Scalar) and type_.name in ("float", "decimal"):
                return _cast(int.__repr__(value), sql_type(type_))
            return _cast(int.__repr__(value), "BIGINT")
        case float():
            if isnan(value) or isinf(value):
                return _cast("NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity", "DOUBLE")
            return _cast(float.__repr__(value), "DOUBLE")
        case Decimal():
            if not value.is_finite() or not fits_decimal(value):
                raise QueryError(f"{value} does not fit Spark's DECIMAL(37,18)", hint="use fewer digits")
            return _cast(f"{value:f}", "DECIMAL(37,18)")
        case str():
            if not is_utf8(value):
                raise QueryError(f"Spark has no string {value!r:.60}", hint="it has a lone surrogate in it")
            return sql_text(value)
        case bytes():
            return f"X{sql_text(value.hex())}"
        case datetime():
            return f"TIMESTAMP_NTZ{sql_text(value.isoformat(sep=' '))}"
        case date():
            return f"DATE{sql_text(value.isoformat())}"
        case timedelta():
            return f"{value // MICROSECOND}L"
        case time():
            return f"{micros_of(value)}L"
    raise QueryError(f"Spark has no constant {value!r}")


def _cast(text: str, type_: str) -> str:
    return f"CAST({sql_text(text)} AS {type_})"
