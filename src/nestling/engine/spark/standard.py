"""The scalar functions that standard SQL has beyond Python's, as Spark SQL with the meaning of ``calculus.standard``.

A partial function is written as two SQL expressions: the condition under which it is defined, and its value there.
``f`` raises an error elsewhere; ``no_f`` is the negated condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nestling.calculus.library import LIBRARY, LibraryEntry
from nestling.calculus.sizes import decimal_size, of_quotient
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import Scalar
from nestling.engine.spark import decimals
from nestling.engine.spark.types import SQL
from nestling.errors import QueryError
from nestling.quoting import sql_text

#: What ``str.strip`` takes away.
WHITE = "".join(
    chr(code)
    for code in (
        *range(0x9, 0xE), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
        0x202F, 0x205F, 0x3000,
    )
)  # fmt: skip

#: The days and moments that Python has.
DAYS = "DATE'0001-01-01' AND DATE'9999-12-31'"
MOMENTS = "TIMESTAMP_NTZ'0001-01-01 00:00:00' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
INFINITY = "CAST('Infinity' AS DOUBLE)"
#: Places that a column of decimals has.
PLACES = 18

_INT = "^[+-]?[0-9]+$"
_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_DAY = "[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([T ]%s)?)?)?"
_TIME = "[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]+)?)?"
_TRUE, _FALSE = ("'t', 'true', 'y', 'yes', '1'", "'f', 'false', 'n', 'no', '0'")


@dataclass(frozen=True)
class Use:
    """One call: its arguments as SQL with their types, and as terms, for arguments that must be constants."""

    name: str
    args: list[str]
    types: Sequence[Scalar]
    terms: Sequence[Term]

    def constant(self, position: int, what: str) -> Any:
        match self.terms[position]:
            case Const(value) if value is not None:
                return value
        raise QueryError(
            f"on Spark, {what} of {self.name} must be a constant",
            hint="write a constant there, or keep the view embedded",
        )


@dataclass(frozen=True)
class DefinedValue:
    """The condition under which a call is defined, given that no argument is null, and its value there."""

    holds: str
    value: str


def strip(text: str) -> str:
    """``text`` without white space around it."""
    return f"trim(BOTH {sql_text(WHITE)} FROM {text})"


def small(number: str) -> str:
    """A BIGINT as an INT, clamped to its range."""
    most = 2**31 - 1
    near = f"CASE WHEN {number} > {most} THEN {most} WHEN {number} < -{most} THEN -{most} ELSE {number} END"
    return f"CAST({near} AS INT)"


# -- functions that always have a value

_TOTAL = {
    "sqrt": "sqrt({0})",
    "matches": "({0} RLIKE {1})",
    "position": "CAST(instr({0}, {1}) AS BIGINT)",
    "trim": "trim(BOTH {1} FROM {0})",
    "trim_left": "trim(LEADING {1} FROM {0})",
    "trim_right": "trim(TRAILING {1} FROM {0})",
    "days_between": "CAST(datediff({0}, {1}) AS BIGINT)",
    "quarter": "CAST(quarter({0}) AS BIGINT)",
    "day_of_week": "CAST(dayofweek({0}) AS BIGINT)",
    "day_of_year": "CAST(dayofyear({0}) AS BIGINT)",
    "to_datetime": "CAST({0} AS TIMESTAMP_NTZ)",
}  # fmt: skip


def _round(use: Use) -> str:
    places = use.constant(1, "the number of places")
    kind = use.types[0].name
    if kind == "int" and places >= 0:
        return use.args[0]
    if not -38 <= places <= 38:
        raise QueryError(f"round to {places} places is not supported on Spark", hint="use fewer places")
    return f"CAST(round({use.args[0]}, {places}) AS {SQL[kind]})"


def _like(use: Use) -> str:
    escape = use.constant(2, "the escape sign")
    if not escape:
        # Spark always has one; a sign that no text uses does nothing.
        escape = "\uffff"
    return f"({use.args[0]} LIKE {use.args[1]} ESCAPE {sql_text(escape)})"


def _substring(use: Use) -> str:
    text, start, length = use.args
    return f"substring({text}, {small(start)}, {small(length)})"


def _to_text(use: Use) -> str:
    (text,) = use.args
    match use.types[0].name:
        case "decimal":
            return f"CAST(CAST({text} AS DECIMAL(38,{_places(use)})) AS STRING)"
        case "date":
            return f"date_format({text}, 'yyyy-MM-dd')"
    return f"CAST({text} AS STRING)"


def _places(use: Use) -> int:
    """How many places a decimal is written with: those of its column, or of its cast."""
    if use.types[0].size:
        return use.types[0].size[1]
    match use.terms[0]:
        case Call("round", (_, Const(int(places)))) if places >= 0:
            return places
        case Call("to_decimal" | "read_decimal" | "ratio", (*_, Const(int(places)))):
            return places
    raise QueryError(
        "a decimal as text has as many places as it came with, and Spark keeps all with the same",
        hint="say how many: CAST(CAST(x AS DECIMAL(10, 2)) AS STRING)",
    )


_WRITTEN: dict[str, Callable[[Use], str]] = {
    "round": _round, "like": _like, "substring": _substring, "to_text": _to_text,
}  # fmt: skip


# -- functions that may have none


def _quotient(use: Use) -> DefinedValue:
    left, right = use.args
    return DefinedValue(f"{right} <> 0", f"({left}) div ({right})")


def _remainder(use: Use) -> DefinedValue:
    kinds = {type_.name for type_ in use.types}
    left, right = use.args
    if "float" in kinds:
        left, right = (f"CAST({arg} AS DOUBLE)" for arg in use.args)
        number = f"(isnan({left}) OR isnan({right}))"
        return DefinedValue(
            f"({number} OR ({right} <> 0D AND abs({left}) <> {INFINITY}))",
            f"CASE WHEN {number} THEN CAST('NaN' AS DOUBLE) ELSE {left} % {right} END",
        )
    if "decimal" in kinds:
        return DefinedValue(*decimals.remainder(*(f"CAST({arg} AS DECIMAL(37,18))" for arg in use.args)))
    return DefinedValue(f"{right} <> 0", f"({left}) % ({right})")


def _finite(use: Use) -> str:
    (number,) = use.args
    return (
        f"(NOT isnan({number}) AND abs({number}) <> {INFINITY})" if use.types[0].name == "float" else "true"
    )


def _to_int(use: Use) -> DefinedValue:
    return DefinedValue(_finite(use), f"CAST({use.args[0]} AS BIGINT)")


def _whole(use: Use) -> DefinedValue:
    (number,) = use.args
    match use.types[0].name:
        case "int":
            return DefinedValue("true", number)
        case "decimal":
            return DefinedValue("true", f"CAST({use.name.removeprefix('no_')}({number}) AS DECIMAL(37,18))")
    # A cast says where 64 bits do not suffice; Spark's own floor takes the nearest number that has them.
    cut = f"CAST({number} AS BIGINT)"
    off = f"CAST({cut} AS DOUBLE) {'>' if use.name.endswith('floor') else '<'} {number}"
    step = "-" if use.name.endswith("floor") else "+"
    return DefinedValue(_finite(use), f"({cut} {step} CASE WHEN {off} THEN 1L ELSE 0L END)")


def _decimal_type(use: Use) -> str:
    precision = use.constant(1, "the number of digits")
    scale = use.constant(2, "the number of places")
    if scale > PLACES or not 0 <= scale <= precision <= 38:
        raise QueryError(
            f"DECIMAL({precision}, {scale}) is more than Spark keeps here",
            hint=f"at most {PLACES} places",
        )
    return f"DECIMAL({precision},{scale})"


def _to_decimal(use: Use) -> DefinedValue:
    type_ = _decimal_type(use)
    (number, *_) = use.args
    return DefinedValue(
        f"try_cast({number} AS {type_}) IS NOT NULL", f"CAST(CAST({number} AS {type_}) AS DECIMAL(37,18))"
    )


def _ratio(use: Use) -> DefinedValue:
    """To the places asked for, or the 18 that a column has; of numbers with a size as Spark divides these."""
    left, right = use.args[:2]
    precision, scale = use.constant(2, "the number of digits"), use.constant(3, "the number of places")
    kept = f"DECIMAL({19 + min(scale, PLACES)},{min(scale, PLACES)})"
    sizes = [decimal_size(type_) for type_ in use.types[:2]]
    if all(sizes) and of_quotient(*sizes) == (precision, scale):
        one, other = (
            f"CAST({text} AS DECIMAL({digits},{places}))"
            for text, (digits, places) in zip((left, right), sizes, strict=True)
        )
        quotient = f"{one} / {other}"
    elif use.types[1].name == "int":
        quotient = decimals.over_int(f"CAST({left} AS {decimals.DECIMAL})", right)
    else:
        quotient = decimals.over(*(f"CAST({arg} AS {decimals.DECIMAL})" for arg in use.args[:2]))
    return DefinedValue(f"{right} <> 0", f"CAST(CAST({quotient} AS {kept}) AS {decimals.DECIMAL})")


def _read_decimal(use: Use) -> DefinedValue:
    type_, text = _decimal_type(use), strip(use.args[0])
    return DefinedValue(
        f"({text} RLIKE {sql_text(_NUMBER)} AND try_cast({text} AS {type_}) IS NOT NULL)",
        f"CAST(CAST({text} AS {type_}) AS DECIMAL(37,18))",
    )


def _reads(pattern: str, type_: str) -> Callable[[Use], DefinedValue]:
    def read(use: Use) -> DefinedValue:
        text = strip(use.args[0])
        return DefinedValue(f"{text} RLIKE {sql_text(pattern)}", f"CAST({text} AS {type_})")

    return read


def _reads_moment(pattern: str, type_: str) -> Callable[[Use], DefinedValue]:
    def read(use: Use) -> DefinedValue:
        text = strip(use.args[0])
        spelled = f"{text} RLIKE {sql_text(f'^{pattern}$')} AND NOT startswith({text}, '0000')"
        return DefinedValue(
            f"({spelled} AND try_cast({text} AS {type_}) IS NOT NULL)", f"CAST({text} AS {type_})"
        )

    return read


def _read_moment(use: Use) -> DefinedValue:
    """A moment with a time zone is one of UTC, which is that of our session."""
    text, zone = strip(use.args[0]), "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9]|[+-]18:00)?"
    spelled = f"{text} RLIKE {sql_text(f'^{_DAY % (_TIME + zone)}$')} AND NOT startswith({text}, '0000')"
    moment = f"CAST(try_cast({text} AS TIMESTAMP) AS TIMESTAMP_NTZ)"
    return DefinedValue(f"({spelled} AND coalesce({moment} BETWEEN {MOMENTS}, false))", moment)


def _read_bool(use: Use) -> DefinedValue:
    word = f"lower({strip(use.args[0])})"
    return DefinedValue(f"{word} IN ({_TRUE}, {_FALSE})", f"{word} IN ({_TRUE})")


def _add_days(use: Use) -> DefinedValue:
    day, number = use.args
    moved = f"date_add({day}, {small(number)})"
    # Beyond these, 32 bits come round again.
    return DefinedValue(f"({number} BETWEEN -4000000L AND 4000000L AND {moved} BETWEEN {DAYS})", moved)


def _add_months(use: Use) -> DefinedValue:
    moment, number = use.args
    if use.types[0].name == "date":
        moved, range_ = f"add_months({moment}, {small(number)})", DAYS
    else:
        moved, range_ = f"({moment} + make_ym_interval(0, {small(number)}))", MOMENTS
    return DefinedValue(
        f"CASE WHEN {number} BETWEEN -120000L AND 120000L THEN {moved} BETWEEN {range_} ELSE false END", moved
    )


_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")


def _truncate(use: Use) -> DefinedValue:
    unit = use.constant(1, "the unit")
    if unit not in _UNITS:
        return DefinedValue("false", use.args[0])
    if use.types[0].name == "date":
        whole = _UNITS.index(unit) >= _UNITS.index("day")
        return DefinedValue("true", use.args[0] if whole else f"trunc({use.args[0]}, {sql_text(unit)})")
    return DefinedValue("true", f"CAST(date_trunc({sql_text(unit)}, {use.args[0]}) AS TIMESTAMP_NTZ)")


_BITS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}


def _to_bits(use: Use) -> DefinedValue:
    bits = use.constant(1, "the number of bits")
    if bits not in _BITS:
        raise QueryError(f"Spark has no int of {bits} bits", hint=f"one of {', '.join(map(str, _BITS))}")
    number = use.args[0]
    return DefinedValue(
        f"try_cast({number} AS {_BITS[bits]}) IS NOT NULL", f"CAST(CAST({number} AS {_BITS[bits]}) AS BIGINT)"
    )


PARTIAL: dict[str, Callable[[Use], DefinedValue]] = {
    "quotient": _quotient, "remainder": _remainder, "to_int": _to_int, "floor": _whole, "ceil": _whole,
    "ratio": _ratio, "only": lambda use: DefinedValue(f"({use.args[0]} = 1)", "true"),
    "to_decimal": _to_decimal, "read_decimal": _read_decimal, "read_int": _reads(_INT, "BIGINT"),
    "read_float": _reads(f"(?i)^[+-]?inf(inity)?$|{_NUMBER}", "DOUBLE"), "read_bool": _read_bool,
    "read_date": _reads_moment(_DAY % ".*", "DATE"),
    "read_datetime": _reads_moment(_DAY % _TIME, "TIMESTAMP_NTZ"),
    "read_moment": _read_moment, "to_bits": _to_bits, "add_days": _add_days, "add_months": _add_months,
    "truncate": _truncate,
}  # fmt: skip


def _entry(entry: LibraryEntry) -> Callable[[Use], DefinedValue]:
    """A function of the library: the text that its entry has, and where it has a value."""

    def written(use: Use) -> DefinedValue:
        for i in entry.fixed:
            use.constant(i, f"argument {i + 1}")
        small = [i for i, kind in enumerate(entry.takes) if kind == "int32"]
        args = [f"CAST({arg} AS INT)" if i in small else arg for i, arg in enumerate(use.args)]
        tried = [f"try_cast({arg} AS INT)" if i in small else arg for i, arg in enumerate(use.args)]
        tests = [f"{tried[i]} IS NOT NULL" for i in small]
        tests += [entry.holds.format(*tried)] if entry.holds else []
        value = entry.sql.format(*args)
        if entry.gives.removesuffix("?") == "int":
            value = f"CAST({value} AS BIGINT)"
        return DefinedValue(f"({' AND '.join(tests)})" if tests else "true", value)

    return written


def standard_sql(use: Use) -> str | None:
    """The call as SQL; ``None`` where it is none of these."""
    name = use.name
    if name in _TOTAL:
        return _TOTAL[name].format(*use.args)
    if name in _WRITTEN:
        return _WRITTEN[name](use)
    entry = LIBRARY.get(name.removeprefix("no_"))
    if entry is not None and entry.fixed and not entry.holds and name.startswith("no_"):
        return None  # whether it has a value is known before
    partial = PARTIAL.get(name.removeprefix("no_")) if entry is None else _entry(entry)
    if partial is None:
        return None
    found = partial(use)
    some = [arg for arg, type_ in zip(use.args, use.types, strict=True) if type_.nullable]
    if name.startswith("no_"):
        there = [f"({arg}) IS NOT NULL" for arg in some]
        return f"({' AND '.join([*there, f'NOT ({found.holds})'])})"
    if found.holds == "true":
        return f"({found.value})"
    absent = f"WHEN {' OR '.join(f'({arg}) IS NULL' for arg in some)} THEN NULL " if some else ""
    wrong = f"raise_error({sql_text(f'{name} has no value')})"
    return f"CASE {absent}WHEN {found.holds} THEN {found.value} ELSE {wrong} END"
