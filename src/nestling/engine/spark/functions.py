"""Scalar functions as Spark SQL, each with Python's meaning.

A strict function of a null is null in both worlds. Where they differ, the SQL spells the difference out: ``//`` and
``%`` round down, NaN is neither below nor above any number, ``strip`` removes all white space, a date plus an
interval counts whole days.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nestling.calculus.functions import ABSENT
from nestling.calculus.terms import Term
from nestling.calculus.types import BOOL, Scalar
from nestling.engine.spark import decimals
from nestling.engine.spark.floats import part_sql
from nestling.engine.spark.standard import DAYS, MOMENTS, Use, standard_sql, strip
from nestling.engine.spark.types import sql_type
from nestling.errors import QueryError
from nestling.quoting import sql_text

DAY = 86_400_000_000

_PLAIN = {
    "not": "(NOT {0})", "is_null": "({0} IS NULL)", "coalesce": "coalesce({0}, {1})", "nullable": "{0}",
    "lower": "lower({0})", "upper": "upper({0})", "strip": strip("{0}"),
    "length": "CAST(length({0}) AS BIGINT)", "contains": "contains({0}, {1})",
    "starts_with": "startswith({0}, {1})", "ends_with": "endswith({0}, {1})",
    "hour": "CAST(hour({0}) AS BIGINT)", "minute": "CAST(minute({0}) AS BIGINT)",
    "second": "CAST(second({0}) AS BIGINT)", "year": "CAST(year({0}) AS BIGINT)",
    "month": "CAST(month({0}) AS BIGINT)", "day": "CAST(day({0}) AS BIGINT)",
    "weekday": "CAST(weekday({0}) AS BIGINT)", "to_date": "CAST({0} AS DATE)",
    "to_float": "CAST({0} AS DOUBLE)", "neg": "(-({0}))", "abs": "abs({0})",
    # Of no bag explode makes no rows.
    "numbers": (
        "CASE WHEN {0} > 0 THEN transform(sequence(0L, {0} - 1L), e -> named_struct('v', e, 'n', 1L)) END"
    ),
    "replace": (
        "CASE WHEN {1} = '' THEN concat({2}, array_join(transform(filter(split({0}, ''), c -> c <> ''),"
        " c -> concat(c, {2})), '')) ELSE replace({0}, {1}, {2}) END"
    ),
}  # fmt: skip

#: The operators by the name of their absence.
_BY_ABSENCE = {absence: name for name, absence in ABSENT.items()}
_COMPARED = ("==", "!=", "=", "<", "<=", ">", ">=")


#: Beyond this many characters an argument that a text repeats is computed first, and named.
LONG = 80


def call_sql(
    name: str, args: list[str], types: Sequence[Scalar], result: Scalar, terms: Sequence[Term], lazy: bool
) -> str:
    """``name`` of ``args`` of these types; ``lazy``: the second is looked at only if the first leaves it open."""
    if name in ("and", "or"):
        return _logical(name, args, lazy)
    if name == "if":
        test, then, otherwise = args
        branches = [_as(then, types[1], result), _as(otherwise, types[2], result)]
        return f"CASE WHEN {test} THEN {branches[0]} ELSE {branches[1]} END"
    if name == "coalesce":
        args = [_as(arg, type_, result) for arg, type_ in zip(args, types, strict=True)]
    return _named(lambda *marks: _written(name, list(marks), types, result, terms), args)


def _named(body: Callable[..., str], args: Sequence[str]) -> str:
    """``body`` of ``args``; a long one that it repeats is computed first."""
    marks = [f"\0{i}\0" for i in range(len(args))]
    text = body(*marks)
    first = [i for i, arg in enumerate(args) if len(arg) > LONG and text.count(marks[i]) > 1]
    for i, arg in enumerate(args):
        text = text.replace(marks[i], f"t.a{i}" if i in first else arg)
    if not first:
        return text
    fields = ", ".join(f"{sql_text(f'a{i}')}, {args[i]}" for i in first)
    return f"element_at(transform(array(named_struct({fields})), t -> {text}), 1)"


def _written(
    name: str, args: list[str], types: Sequence[Scalar], result: Scalar, terms: Sequence[Term]
) -> str:
    """A function whose text repeats its arguments."""
    if name in ("no_to_float", "no_to_str", "no_to_text", "no_product", "no_neg"):
        return "false"  # an int has 64 bits here, and so has a span: it is never too large
    if name.startswith("some_"):
        return _total(name.removeprefix("some_"), args, types, result, terms)
    if name in ("no_sum", "no_difference"):
        return _nowhere("+" if name == "no_sum" else "-", args[0], args[1], types)
    if name == "to_str":
        return _to_str(args[0], types[0])
    if name in _COMPARED:
        return _compared(name, args[0], args[1], types)
    if name == "among":
        return _among(args, types)
    if name in ("+", "-", "*", "/", "//", "%"):
        return _arithmetic(name, args[0], args[1], types, result)
    if name in _PLAIN:
        return _PLAIN[name].format(*args)
    found = part_sql(name, args[0], terms) or standard_sql(Use(name, args, types, terms))
    if found is None:
        raise QueryError(
            f"{name} is not supported on Spark", hint="compute it in a column, or keep the view embedded"
        )
    return found


def _total(
    absence: str, args: list[str], types: Sequence[Scalar], result: Scalar, terms: Sequence[Term]
) -> str:
    """``some_f(d, t, …)``: the first argument where the function has no value of the others."""
    name = _BY_ABSENCE.get(absence, absence)
    default, *rest = args
    if name in ("/", "//", "%"):
        absent = f"({rest[0]}) IS NOT NULL AND ({rest[1]}) = 0"
    else:
        absent = _written(f"no_{absence}", rest, types[1:], BOOL, terms[1:])
    value = _written(name, rest, types[1:], result, terms[1:])
    unknown = f"WHEN ({default}) IS NULL THEN NULL " if types[0].nullable else ""
    return f"CASE {unknown}WHEN {absent} THEN {_as(default, types[0], result)} ELSE {value} END"


def _logical(name: str, args: list[str], lazy: bool) -> str:
    left, right = args
    if not lazy:
        return f"({left} {name.upper()} {right})"
    if name == "and":
        return f"CASE WHEN coalesce({left}, true) THEN ({left} AND {right}) ELSE false END"
    return f"CASE WHEN coalesce({left}, false) THEN true ELSE ({left} OR {right}) END"


def _as(text: str, type_: Scalar, wanted: Scalar) -> str:
    return text if type_.name == wanted.name else f"CAST({text} AS {sql_type(wanted)})"


def _to_str(text: str, type_: Scalar) -> str:
    if type_.name == "bool":
        return f"CASE {text} WHEN true THEN 'True' WHEN false THEN 'False' END"
    return f"CAST({text} AS STRING)"


def _among(args: list[str], types: Sequence[Scalar]) -> str:
    if {type_.name for type_ in types} in ({"int"}, {"str"}):
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    pairs = zip(args[1:], types[1:], strict=True)
    return f"({' OR '.join(_compared('=', args[0], arg, (types[0], type_)) for arg, type_ in pairs)})"


def _compared(name: str, left: str, right: str, types: Sequence[Scalar]) -> str:
    a, b = types
    exact = {a.name, b.name} == {"int", "decimal"}
    if exact:
        left, right = (
            f"CAST({t} AS DECIMAL(37,18))" if s.name == "int" else t for t, s in ((left, a), (right, b))
        )
    total = name in ("==", "!=")
    operator = {"==": "<=>" if a.nullable and b.nullable else "=", "!=": "="}.get(name, name)
    if name == "!=" and a.nullable and b.nullable:
        operator = "<=>"
    text = f"({left} {operator} {right})"
    if name in ("<", "<=", ">", ">=") and "float" in (a.name, b.name):
        # A null beside it makes the answer null, a NaN alone makes it false.
        sides = ((left, a, right, b), (right, b, left, a))
        numbers = " AND ".join(
            f"(NOT isnan({t}) OR {other} IS NULL)" if o.nullable else f"NOT isnan({t})"
            for t, s, other, o in sides
            if s.name == "float"
        )
        text = f"({text} AND {numbers})"
    if total and (a.nullable or b.nullable) and operator == "=":
        text = f"coalesce({text}, false)"
    return f"(NOT {text})" if name == "!=" else text


def _arithmetic(name: str, left: str, right: str, types: Sequence[Scalar], result: Scalar) -> str:
    a, b = types
    if "timedelta" in (a.name, b.name) or a.name in ("date", "datetime"):
        return _moved(name, left, right, a, b)
    if a.name == "str":
        return f"concat({left}, {right})"
    if result.name == "decimal":
        return _decimal(name, left, right, a, b)
    if name == "/":
        return f"(CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE))"
    if result.name == "float":
        left, right = _as(left, a, result), _as(right, b, result)
        if name in ("//", "%"):
            return _float_floor(name, left, right)
    if name == "//":
        return f"(({left}) div ({right}) - {_rounded(left, right)})"
    if name == "%":
        return f"(({left}) % ({right}) + ({right}) * {_rounded(left, right)})"
    return f"({left} {name} {right})"


def _rounded(left: str, right: str) -> str:
    """1 where the remainder has the other sign than the divisor: rounding to zero was one too high."""
    return f"CASE WHEN ({left}) % ({right}) <> 0 AND (({left}) % ({right}) < 0) <> (({right}) < 0) THEN 1L ELSE 0L END"


def _float_floor(name: str, left: str, right: str) -> str:
    """Python's floor division of floats, by way of the exact remainder."""
    rest = f"(({left}) % ({right}))"
    other = f"({rest} <> 0D AND ({rest} < 0D) <> (({right}) < 0D))"
    if name == "%":
        return f"CASE WHEN {other} THEN {rest} + ({right}) ELSE {rest} END"
    quotient = f"((({left}) - {rest}) / ({right}) - CASE WHEN {other} THEN 1D ELSE 0D END)"
    return f"CAST(round({quotient}) AS DOUBLE)"


def _decimal(name: str, left: str, right: str, a: Scalar, b: Scalar) -> str:
    if name == "*":
        if a.name == "int":
            left, right, a, b = right, left, b, a
        return decimals.times(left, right, b.name == "int")
    if name == "/" and b.name == "int":
        return decimals.over_int(left, right)
    left, right = _as(left, a, Scalar("decimal")), _as(right, b, Scalar("decimal"))
    if name in ("+", "-"):
        return decimals.plus(name, left, right)
    if name == "/":
        return decimals.over(left, right)
    if name == "//":
        return decimals.whole_over(left, right)
    holds, value = decimals.remainder(left, right)
    some = f"{left} IS NULL OR {right} IS NULL OR {right} = 0"
    return (
        f"CASE WHEN {some} OR {holds} THEN {value} ELSE raise_error('a quotient of more than 28 digits') END"
    )


def _moved(name: str, left: str, right: str, a: Scalar, b: Scalar) -> str:
    """Dates, moments and spans; a span is a number of microseconds."""
    if a.name == b.name == "timedelta":
        return f"({left} {name} {right})"
    if a.name == b.name == "date":
        return f"(CAST(datediff({left}, {right}) AS BIGINT) * {DAY}L)"
    if a.name == b.name:
        return f"(unix_micros(CAST({left} AS TIMESTAMP)) - unix_micros(CAST({right} AS TIMESTAMP)))"
    moved, range_ = _by_span(name, left, right, a)
    return (
        f"CASE WHEN {moved} BETWEEN {range_} THEN {moved} WHEN ({left}) IS NULL OR ({right}) IS NULL THEN NULL"
        f" ELSE raise_error('date value out of range') END"
    )


def _by_span(name: str, left: str, right: str, a: Scalar) -> tuple[str, str]:
    """A date or moment and a span later or earlier, and between what it must lie; null beyond all that Spark has."""
    if a.name == "date":
        # Python takes the whole days of a span, rounded down, and then their sign.
        days = f"(({right}) div {DAY}L - {_rounded(right, f'{DAY}L')})"
        return f"date_add({left}, CAST({days if name == '+' else f'-{days}'} AS INT))", DAYS
    added = "try_add" if name == "+" else "try_subtract"
    micros = f"{added}(unix_micros(CAST({left} AS TIMESTAMP)), {right})"
    return f"CAST(timestamp_micros({micros}) AS TIMESTAMP_NTZ)", MOMENTS


def _nowhere(name: str, left: str, right: str, types: Sequence[Scalar]) -> str:
    """Whether a sum or difference has no value: as a date it may not; of spans and numbers there is one."""
    a, b = types
    if a.name not in ("date", "datetime") or b.name != "timedelta":
        return "false"
    moved, range_ = _by_span(name, left, right, a)
    return (
        f"(({left}) IS NOT NULL AND ({right}) IS NOT NULL AND NOT coalesce({moved} BETWEEN {range_}, false))"
    )
