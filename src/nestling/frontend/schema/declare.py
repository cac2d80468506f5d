"""A record type from what a Python or Spark user calls a schema.

A schema is a dict of Python types, a dataclass (or a ``NamedTuple``), a Spark DDL string, a pyspark
``StructType`` or a pyarrow ``Schema``. ``list[T]`` and ``ARRAY<T>`` are bags; a nested dict, a dataclass and
``STRUCT`` are records; ``T | None`` is nullable.

What is nullable says so. In a DDL string that is a column marked ``NULL``: a plain ``qty INT`` is not
nullable, unlike in Spark, so that ``sum(qty)`` needs no test for null; ``NOT NULL`` may be written and
changes nothing. ``StructType`` and ``Schema`` carry a flag for every field, and it is followed. A bag or a
record is never null: the flag of such a field is not looked at, and a row without it is refused.

What a DDL string, a ``StructType`` or a ``Schema`` says about the bits of an int and the digits and places of a decimal
is kept, and a row that does not fit is refused. Python's ``int`` and ``Decimal`` have any size.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from nestling.calculus.types import SCALARS, Bag, Record, Scalar, Type, nullable
from nestling.errors import QueryError, brief
from nestling.frontend.schema.ddl import parse_ddl
from nestling.frontend.schema.foreign import arrow_record, is_arrow_schema, is_spark_struct, spark_record

_CLASSES = (bool, int, float, Decimal, str, bytes, date, datetime, timedelta)
SCALAR_OF: dict[Any, Scalar] = {class_: Scalar(name) for class_, name in zip(_CLASSES, SCALARS, strict=True)}
_TYPES = ", ".join(class_.__name__ for class_ in _CLASSES) + ", list[T], a dict or a dataclass"


def record_type(schema: object) -> Record:
    """The record type that ``schema`` declares; see the module for its forms.

    >>> from nestling.calculus.types import show_type
    >>> show_type(record_type({"id": int, "tags": list[str], "note": str | None}))
    '⟨id: int, tags: Bag(str), note: str?⟩'
    >>> show_type(
    ...     record_type("id INT, items ARRAY<STRUCT<pid: INT, price: DECIMAL(10, 2)>>, note STRING NULL")
    ... )
    '⟨id: int, items: Bag(⟨pid: int, price: decimal⟩), note: str?⟩'
    """
    try:
        return _record_of(schema)
    except RecursionError:
        raise QueryError(
            "the schema is nested too deeply", hint="keep what lies deeper in a table of its own"
        ) from None


def _record_of(schema: object) -> Record:
    match schema:
        case Record():
            return schema
        case str():
            return parse_ddl(schema)
        case _ if is_spark_struct(schema):
            return spark_record(schema)
        case _ if is_arrow_schema(schema):
            return arrow_record(schema)
    found = _record(schema, "")
    if found is None:
        raise QueryError(
            f"a schema is not {_shown(schema)}",
            hint="pass a dict of types, a dataclass, DDL text, a StructType or a pyarrow Schema",
        )
    return found


def _record(schema: object, where: str) -> Record | None:
    """The record of a dict, a dataclass or a NamedTuple; ``None`` of anything else."""
    if isinstance(schema, Mapping):
        fields = dict(schema)
    elif isinstance(schema, type) and (is_dataclass(schema) or hasattr(schema, "_fields")):
        fields = _hints(schema)
    else:
        return None
    if not fields:
        raise QueryError(f"{where or 'the schema'} has no columns", hint="name at least one column")
    return Record(
        tuple((_name(name, where), _type(type_, _join(where, name))) for name, type_ in fields.items())
    )


def _hints(class_: type) -> dict[str, Any]:
    """The annotated fields of a dataclass or a NamedTuple, in order."""
    names: Iterable[str] = getattr(class_, "__dataclass_fields__", ()) or getattr(class_, "_fields", ())
    try:
        hints = typing.get_type_hints(class_)
    except NameError as error:
        raise QueryError(
            f"the types of {class_.__name__} cannot be read: {error}",
            hint="define it where its names are global, or pass a dict of types",
        ) from error
    missing = [name for name in names if name not in hints]
    if missing:
        raise QueryError(f"{class_.__name__}.{missing[0]} has no type", hint="annotate it")
    return {name: hints[name] for name in names}


def _type(type_: Any, where: str) -> Type:
    if isinstance(type_, type) and type_ in SCALAR_OF:
        return SCALAR_OF[type_]
    if isinstance(type_, list) and len(type_) == 1:
        return Bag(_type(type_[0], where))
    origin, args = typing.get_origin(type_), typing.get_args(type_)
    if origin in (types.UnionType, typing.Union):
        return _optional(args, where)
    if origin is list:
        return Bag(_type(args[0], where))
    found = _record(type_, where)
    if found is None:
        raise QueryError(f"column {where!r} cannot have the type {_shown(type_)}", hint=f"a type is {_TYPES}")
    return found


def _optional(args: tuple[Any, ...], where: str) -> Type:
    """``T | None``, for a scalar T."""
    some = [arg for arg in args if arg is not type(None)]
    if len(some) != 1:
        shown = " | ".join(map(_shown, args))
        raise QueryError(f"column {where!r} has one type, not {shown}", hint="write T or T | None")
    match _type(some[0], where):
        case Scalar() as scalar:
            return nullable(scalar)
        case Bag():
            raise QueryError(f"column {where!r}: a bag is never None", hint="drop | None; it may be empty")
        case _:
            raise QueryError(
                f"column {where!r}: a record is never None",
                hint="make its fields nullable, or use a list of at most one",
            )


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not name:
        raise QueryError(
            f"a column name is a string, not {brief(name)}",
            hint=f"in {where}" if where else 'write {"name": type}',
        )
    return name


def _join(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _shown(type_: object) -> str:
    if isinstance(type_, type) and not typing.get_args(type_):
        return type_.__name__
    return brief(type_).removeprefix("typing.")
