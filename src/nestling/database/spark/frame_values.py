"""Rows of DataFrames as values of the calculus, in SQL: a check, and one form for equal values.

In that form a record is a struct of ``c0, c1, …``, and a bag an array in order: equal values are equal columns,
and Spark can group and join by them.

Law: ``wrong`` holds for a row iff ``row_value`` refuses it, or a number in it does not fit Spark; otherwise
``value_of(canonical(row))`` is ``row_value(row)``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import THERE, held, is_optional
from nestling.calculus.types import Bag, LabelType, Record, Scalar, Type
from nestling.engine.spark.types import plain_decimal, sql_type
from nestling.errors import QueryError
from nestling.quoting import sql_name, sql_text
from nestling.values.bag import ZBag
from nestling.values.clock import clock_of
from nestling.values.exact import one_nan

_BITS = {"ByteType": 8, "ShortType": 16, "IntegerType": 32, "LongType": 64}
_INTS = tuple(_BITS)
#: The types of Spark whose values are taken for those of a scalar, as ``row_value`` takes them.
_TAKEN = {
    "bool": ("BooleanType",), "int": _INTS, "float": (*_INTS, "FloatType", "DoubleType"),
    "decimal": (*_INTS, "DecimalType"), "str": ("StringType", "VarcharType", "CharType"), "bytes": ("BinaryType",),
    "date": ("DateType",), "datetime": ("TimestampType", "TimestampNTZType"), "time": ("TimeType",),
    "timedelta": ("DayTimeIntervalType",),
}  # fmt: skip


def _element(at: str) -> str:
    """A name for the elements of the array ``at``, other than those around it."""
    root = at.partition(".")[0]
    return f"{root}x" if not root.strip("x") else "x"


# -- what is refused


def wrong(record: Record, struct: Any, at: str = "") -> str:
    """An SQL condition: the columns of ``struct``, or the fields of the struct ``at``, are no ``record``."""
    given = {field.name: field.dataType for field in struct.fields}
    tests = ["true"] if given.keys() - set(record.names) else []
    for name, type_ in record.fields:
        where = f"{at}.{sql_name(name)}" if at else sql_name(name)
        if name in given:
            tests += _wrong(type_, given[name], where)
        elif not is_optional(type_) and not (isinstance(type_, Scalar) and type_.nullable):
            tests.append("true")
    return " OR ".join(tests) or "false"


def _wrong(type_: Type, given: Any, at: str) -> list[str]:
    kind = type(given).__name__
    match type_:
        case Record() if is_optional(type_):
            return [f"({at} IS NOT NULL AND ({' OR '.join(_wrong(held(type_), given, at)) or 'false'}))"]
        case Scalar(name, null, size):
            missing = [] if null else [f"{at} IS NULL"]
            if kind in _TAKEN[name]:
                return [*missing, *_does_not_fit(name, size, given, at)]
            return [*missing, f"{at} IS NOT NULL"]
        case Record():
            return [f"{at} IS NULL OR ({wrong(type_, given, at)})"] if kind == "StructType" else ["true"]
        case Bag() if is_map(type_):
            if kind != "MapType":
                return ["true"]
            inner, (key, value) = _element(at), entry_types(type_)
            tests = [
                *_wrong(key, given.keyType, f"{inner}.key"),
                *_wrong(value, given.valueType, f"{inner}.value"),
            ]
            return [f"{at} IS NULL OR exists(map_entries({at}), {inner} -> {' OR '.join(tests) or 'false'})"]
        case Bag(element):
            if kind != "ArrayType":
                return ["true"]
            inner = _element(at)
            tests = _wrong(item_type(type_) if is_list(type_) else element, given.elementType, inner)
            inside = f" OR exists({at}, {inner} -> {' OR '.join(tests)})" if tests else ""
            return [f"{at} IS NULL{inside}"]
    raise QueryError(f"a row has no {type_}")


def _does_not_fit(name: str, size: tuple[int, ...], given: Any, at: str) -> list[str]:
    """Whether a number is more than was declared, or than Spark has room for."""
    kind = type(given).__name__
    if name == "int" and size and size[0] < _BITS[kind]:
        most = 1 << size[0] - 1
        return [f"({at} IS NOT NULL AND {at} NOT BETWEEN {-most} AND {most - 1})"]
    if name != "decimal":
        return []
    wanted = f"DECIMAL({size[0]},{size[1]})" if size else sql_type(Scalar(name))
    # There and back: a common type of both might have room for neither.
    kept = f"try_cast(try_cast({at} AS {wanted}) AS {given.simpleString()})"
    return [f"({at} IS NOT NULL AND NOT coalesce({kept} = {at}, false))"]


# -- one form for equal values


def canonical(type_: Type, at: str, given: Any = None, in_order: bool = True) -> str:  # noqa: C901 - by type
    """The value at ``at``; fields that ``given`` leaves out are null. Bags whose elements nobody compares as a whole
    need not be put ``in_order``."""
    match type_:
        case LabelType():
            return at
        case Scalar("timedelta"):
            return f"unix_micros(TIMESTAMP'1970-01-01 00:00:00' + {at})"
        case Scalar("time"):
            return f"time_to_micros({at})"
        case Scalar("float"):
            return f"(CAST({at} AS DOUBLE) + 0.0D)"  # there is one zero
        case Scalar():
            return f"CAST({at} AS {sql_type(type_)})"
        case Record(fields) if is_optional(type_):
            inside = held(type_)
            if isinstance(inside, Bag):
                some = canonical(inside, at, given, in_order)
                return f"named_struct('c0', {at} IS NOT NULL, 'c1', coalesce({some}, {_nothing(inside)}))"
            known = None if given is None else {field.name: field.dataType for field in given.fields}
            there = f"'c0', {at} IS NOT NULL"
            rest = [
                f"{sql_text(f'c{i}')}, {_field(field, name, at, known, in_order)}"
                for i, (name, field) in enumerate(fields[1:], 1)
            ]
            return f"named_struct({', '.join([there, *rest])})"
        case Record(fields):
            known = None if given is None else {field.name: field.dataType for field in given.fields}
            parts = [
                f"{sql_text(f'c{i}')}, {_field(field, name, at, known, in_order)}"
                for i, (name, field) in enumerate(fields)
            ]
            return f"named_struct({', '.join(parts)})"
        case Bag() if is_map(type_):
            inner, types = _element(at), entry_types(type_)
            kinds = (None, None) if given is None else (given.keyType, given.valueType)
            pairs = zip(types, (f"{inner}.key", f"{inner}.value"), kinds, strict=True)
            parts = [
                f"{sql_text(f'c{i}')}, {canonical(t, n, g, in_order)}" for i, (t, n, g) in enumerate(pairs)
            ]
            entries = f"transform(map_entries({at}), {inner} -> named_struct({', '.join(parts)}))"
            return f"sort_array({entries})" if in_order else entries
        case Bag() if is_list(type_):
            inner, place = _element(at), _element(_element(at))
            value = canonical(item_type(type_), inner, None if given is None else given.elementType, in_order)
            return f"transform({at}, ({inner}, {place}) -> named_struct('c0', CAST({place} AS BIGINT), 'c1', {value}))"
        case Bag(element):
            inner = _element(at)
            value = canonical(element, inner, None if given is None else given.elementType, in_order)
            array = f"transform({at}, {inner} -> {value})"
            return f"sort_array({array})" if in_order else array
    raise QueryError(f"a row has no {type_}")


def _field(type_: Type, name: str, at: str, known: dict[str, Any] | None, in_order: bool) -> str:
    if known is not None and name not in known:
        return _nothing(type_)
    place = f"{at}.{sql_name(name)}" if at else sql_name(name)
    return canonical(type_, place, None if known is None else known[name], in_order)


def _nothing(type_: Type) -> str:
    """The null of ``type_``, in the form of ``canonical``; a bag is empty."""
    match type_:
        case Record(fields):
            parts = (
                f"{sql_text(f'c{i}')}, {'false' if name == THERE else _nothing(t)}"
                for i, (name, t) in enumerate(fields)
            )
            return f"named_struct({', '.join(parts)})"
        case Bag(element):
            return f"slice(array({_nothing(element)}), 1, 0)"
    return f"CAST(NULL AS {sql_type(type_)})"


def value_of(type_: Type, found: Any) -> Any:
    """A value in that form, as Arrow brings it here."""
    match type_:
        case Record(fields):
            return tuple(value_of(field, found[f"c{i}"]) for i, (_, field) in enumerate(fields))
        case Bag(element):
            return ZBag((value_of(element, inner), 1) for inner in found)
        case Scalar("timedelta") if found is not None:
            return timedelta(microseconds=found)
        case Scalar("time") if found is not None:
            return clock_of(found)
        case Scalar("decimal") if found is not None:
            return plain_decimal(found)
        case Scalar("float") if found is not None:
            return one_nan(found)
    return found
