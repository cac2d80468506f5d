"""A record type from what a Python or Spark user calls a schema.

A schema is a dict of Python types, a class with annotated fields (see ``classes``), a Spark DDL string, a pyspark
``StructType`` or a pyarrow ``Schema``. ``list[T]`` and ``ARRAY<T>`` are bags, ``nl.List[T]`` one in order (see
``ordered``); a nested dict, a class and ``STRUCT`` are records, ``dict[K, V]`` and ``MAP<K, V>`` maps; ``T | None`` is
nullable. ``set[T]`` is a bag that has each element once. ``nl.Ref[C]`` is the key of the table of class C, and
``nl.Inverse[…]`` no column at all: see ``objects``.

A ``Literal`` or an ``Enum`` is the type of its values, a ``UUID`` the text of it. Which of the values of that type may
come is not checked: a constraint does that.

What is nullable says so. In a DDL string that is a column marked ``NULL``: a plain ``qty INT`` is not
nullable, unlike in Spark, so that ``sum(qty)`` needs no test for null; ``NOT NULL`` may be written and
changes nothing. ``StructType`` and ``Schema`` carry a flag for every field, and it is followed where
the field is a scalar. Of a bag, a map or a record that flag is not looked at, since it is set wherever nobody said
otherwise: such a column is never null there, and a row without it is refused. ``NULL`` or ``| None`` says that it may
be.

What a DDL string, a ``StructType`` or a ``Schema`` says about the bits of an int and the digits and places of a decimal
is kept, and a row that does not fit is refused. Python's ``int`` and ``Decimal`` have any size.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from nestling.calculus.lists import list_type
from nestling.calculus.maps import map_type
from nestling.calculus.optional import optional
from nestling.calculus.types import SCALARS, Bag, Path, Record, Scalar, Type, nullable
from nestling.errors import QueryError, brief
from nestling.frontend.schema.classes import class_columns
from nestling.frontend.schema.ddl import parse_ddl
from nestling.frontend.schema.foreign import arrow_record, is_arrow_schema, is_spark_struct, spark_record
from nestling.frontend.schema.objects import InverseOf, RefTo
from nestling.frontend.schema.ordered import ORDERED

_CLASSES = (bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta)
SCALAR_OF: dict[Any, Scalar] = {class_: Scalar(name) for class_, name in zip(_CLASSES, SCALARS, strict=True)}
_TYPES = (
    ", ".join(class_.__name__ for class_ in _CLASSES) + ", list[T], set[T], dict[K, V], a dict or a dataclass"
)


#: The table of a class and the types of its key, by the name of the class or of the table.
Known = Callable[[str], tuple[str, Record]]


class Unresolved(Exception):
    """A reference to a class whose table, and so whose key, is not known yet."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.target = target


@dataclass
class Declared:
    """What a schema declares: the type of a row, and by path what refers to which table, what is a set, by name what is
    the inverse of which path."""

    record: Record
    references: dict[Path, str] = field(default_factory=dict)
    sets: list[Path] = field(default_factory=list)
    inverses: dict[str, str] = field(default_factory=dict)


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
    return declared(schema, _no_table).record


def declared(schema: object, known: Known) -> Declared:
    """All that ``schema`` declares; ``known`` finds the table that a reference leads to, or raises ``Unresolved``."""
    try:
        return _declared(schema, known)
    except RecursionError:
        raise QueryError(
            "the schema is nested too deeply", hint="keep what lies deeper in a table of its own"
        ) from None


def key_record(schema: object, key: Iterable[str], known: Known) -> Record | None:
    """The columns of a key with their types, read before the rest of a schema; ``None`` where it has none such."""
    hints = _columns(schema)
    if hints is None:
        record = declared(schema, known).record
        hints = dict(record.fields)
    if not all(name in hints for name in key):
        return None
    reader = _Reader(known)
    return Record(tuple((name, reader.type(hints[name], (name,))) for name in key))


def _declared(schema: object, known: Known) -> Declared:
    match schema:
        case Record():
            return Declared(schema)
        case str():
            return Declared(parse_ddl(schema))
        case _ if is_spark_struct(schema):
            return Declared(spark_record(schema))
        case _ if is_arrow_schema(schema):
            return Declared(arrow_record(schema))
    reader = _Reader(known)
    found = reader.record(schema, ())
    if found is None:
        raise QueryError(
            f"a schema is not {_shown(schema)}",
            hint="pass a dict of types, a class with annotated fields, DDL text, a StructType or a pyarrow Schema",
        )
    return Declared(found, reader.references, reader.sets, reader.inverses)


class _Reader:
    """Types from annotations, and what these say besides, by path; elements of bags are passed through."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.references: dict[Path, str] = {}
        self.sets: list[Path] = []
        self.inverses: dict[str, str] = {}

    def record(self, schema: object, path: Path) -> Record | None:
        """The record of a dict, a dataclass or a NamedTuple; ``None`` of anything else."""
        columns = _columns(schema)
        if columns is None:
            return None
        where = ".".join(path)
        fields: list[tuple[str, Type]] = []
        for name, type_ in columns.items():
            here = (*path, _name(name, where))
            if isinstance(type_, InverseOf):
                if path:
                    raise QueryError(
                        f"{'.'.join(here)}: a struct is no object",
                        hint="an inverse stands in a class with a table",
                    )
                self.inverses[name] = type_.path
            else:
                fields.append((name, self.type(type_, here)))
        if not fields:
            raise QueryError(f"{where or 'the schema'} has no columns", hint="name at least one column")
        return Record(tuple(fields))

    def type(self, type_: Any, path: Path) -> Type:
        if isinstance(type_, type) and (type_ in SCALAR_OF or issubclass(type_, Enum | UUID)):
            return self.scalar(type_, path)
        if isinstance(type_, Scalar | Record | Bag):
            return type_
        if isinstance(type_, RefTo):
            return self.reference(type_, path)
        if isinstance(type_, list) and len(type_) == 1:
            return Bag(self.type(type_[0], path))
        found = self.generic(typing.get_origin(type_), typing.get_args(type_), path) or self.record(
            type_, path
        )
        if found is None:
            raise QueryError(
                f"column {'.'.join(path)!r} cannot have the type {_shown(type_)}", hint=f"a type is {_TYPES}"
            )
        return found

    def generic(self, origin: Any, args: tuple[Any, ...], path: Path) -> Type | None:
        """What is written with arguments; ``None`` of what is not, or means something else."""
        if origin in (types.UnionType, typing.Union):
            return self.optional(args, path)
        if origin is typing.Literal:
            return self.one_of(args, path)
        if origin is typing.Annotated:
            found = self.type(args[0], path)
            return list_type(found.element) if ORDERED in args[1:] and isinstance(found, Bag) else found
        if origin is dict:
            return self.map(args, path)
        if origin in (set, frozenset):
            self.sets.append(path)
        return Bag(self.type(args[0], path)) if origin in (list, set, frozenset) else None

    def scalar(self, class_: Any, path: Path) -> Type:
        if class_ in SCALAR_OF:
            return SCALAR_OF[class_]
        if issubclass(class_, UUID):
            return SCALAR_OF[str]
        return self.one_of([member.value for member in class_], path)

    def reference(self, ref: RefTo, path: Path) -> Type:
        """A key: of one column its type, of several a record of them."""
        table, key = self.known(ref.target)
        self.references[path] = table
        if len(key.fields) > 1:
            if ref.is_nullable:
                raise QueryError(
                    f"column {'.'.join(path)!r}: a reference to {table} is a record of its key, and never None",
                    hint="drop | None, or use a list of at most one",
                )
            return key
        type_ = key.types[0]
        return nullable(type_) if ref.is_nullable and isinstance(type_, Scalar) else type_

    def one_of(self, values: Iterable[Any], path: Path) -> Type:
        """The type that all of some values have."""
        found = [value.value if isinstance(value, Enum) else value for value in values]
        classes = {type(value) for value in found if value is not None}
        if len(classes) != 1 or not classes <= set(SCALAR_OF):
            raise QueryError(
                f"the values of column {'.'.join(path)!r} have no one type: {brief(found)}",
                hint=f"give them values of one of the types {', '.join(class_.__name__ for class_ in _CLASSES)}",
            )
        scalar = SCALAR_OF[classes.pop()]
        return nullable(scalar) if None in found else scalar

    def optional(self, args: tuple[Any, ...], path: Path) -> Type:
        """``T | None``: a scalar, a record or a bag that may be null."""
        where = ".".join(path)
        some = [arg for arg in args if arg is not type(None)]
        if len(some) != 1:
            shown = " | ".join(map(_shown, args))
            raise QueryError(f"column {where!r} has one type, not {shown}", hint="write T or T | None")
        type_ = self.type(some[0], path)
        inside = [at for at in (*self.sets, *self.references) if at[: len(path)] == path]
        if inside and not isinstance(type_, Scalar):
            what = f"column {where!r} holds sets or references, and is never None"
            raise QueryError(what, hint="drop | None; a set may be empty")
        return optional(type_)

    def map(self, args: tuple[Any, ...], path: Path) -> Type:
        """``dict[K, V]``, for a scalar K."""
        key = self.type(args[0], path)
        if not isinstance(key, Scalar) or key.nullable:
            raise QueryError(f"the keys of {'.'.join(path)!r} are scalars", hint="write dict[str, V]")
        return map_type(key, self.type(args[1], path))


def _columns(schema: object) -> dict[str, Any] | None:
    """The columns of a dict or a class, as they are annotated."""
    return dict(schema) if isinstance(schema, Mapping) else class_columns(schema)


def _no_table(target: str) -> tuple[str, Record]:
    raise QueryError(
        f"{target} is referred to where there are no tables",
        hint="give the schema to db.table(name, schema, key=…)",
    )


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not name:
        raise QueryError(
            f"a column name is a string, not {brief(name)}",
            hint=f"in {where}" if where else 'write {"name": type}',
        )
    return name


def _shown(type_: object) -> str:
    if isinstance(type_, type) and not typing.get_args(type_):
        return type_.__name__
    return brief(type_).removeprefix("typing.")
