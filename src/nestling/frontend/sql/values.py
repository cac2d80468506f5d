"""What an SQL expression stands for while it is read: a term, a record written out, an array, a null."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from nestling.calculus.build import elements, product
from nestling.calculus.terms import Expr, Field, Sing, SingBag, Term, Tuple
from nestling.calculus.types import Bag, Record, Scalar, Type, show_type
from nestling.calculus.typing import element_type, term_type


@dataclass(frozen=True, slots=True)
class One:
    """A scalar, or a struct that a variable holds."""

    term: Term


@dataclass(frozen=True, slots=True)
class Row:
    """A struct written out."""

    fields: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Many:
    """An array: a bag. ``term`` is the bag, where it is a term."""

    expr: Expr
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Null:
    """``NULL``, of a type still to be seen."""


@dataclass(frozen=True, slots=True)
class Barred:
    """A column that may not be used here, and why."""

    what: str
    hint: str


Data: TypeAlias = One | Row | Many
Value: TypeAlias = One | Row | Many | Null | Barred


def of_term(term: Term) -> One | Many:
    """What ``term`` stands for."""
    return Many(elements(term), term) if isinstance(term_type(term), Bag) else One(term)


def fields_of(value: Value) -> tuple[tuple[str, Value], ...] | None:
    """The fields of a struct, however it is held; ``None`` of anything else."""
    if isinstance(value, Row):
        return value.fields
    if isinstance(value, One):
        type_ = term_type(value.term)
        if isinstance(type_, Record):
            return tuple((name, of_term(Field(value.term, name))) for name in type_.names)
    return None


def type_of(value: Value) -> Type:
    """The type of what may stand in a row."""
    match value:
        case One(term):
            return term_type(term)
        case Row(fields):
            return Record(tuple((name, type_of(field)) for name, field in fields))
        case Many(expr):
            return Bag(element_type(expr))
    raise TypeError(f"{value} is not data")


def as_term(value: Value) -> Term | None:
    """The term that is ``value``, if one is."""
    match value:
        case One(term):
            return term
        case Many(_, term):
            return term
        case Row(fields):
            terms = [(name, as_term(field)) for name, field in fields]
            found = [(name, term) for name, term in terms if term is not None]
            return Tuple(tuple(found)) if len(found) == len(fields) else None
    return None


def singleton(value: Value, site: Callable[[], int]) -> Expr:
    """The bag of the one element ``value``; ``site`` numbers the inner bags."""
    term = as_term(value)
    if term is not None:
        return Sing(term)
    match value:
        case Row(fields):
            return product([(name, singleton(field, site)) for name, field in fields])
        case Many(expr):
            return SingBag(site(), expr)
    raise TypeError(f"{value} is not data")


#: What Spark calls a scalar type.
SPARK = {
    "bool": "BOOLEAN", "int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL", "str": "STRING",
    "bytes": "BINARY", "date": "DATE", "datetime": "TIMESTAMP", "timedelta": "INTERVAL",
}  # fmt: skip


def shown(value: Value) -> str:
    """What ``value`` is, in Spark's words."""
    match value:
        case Null():
            return "NULL"
        case Barred():
            return "a column"
    return spark_type(type_of(value))


def spark_type(type_: Type) -> str:
    """A type in Spark's words."""
    match type_:
        case Scalar(name):
            return SPARK[name]
        case Record(fields):
            return "STRUCT<" + ", ".join(f"{name}: {spark_type(inner)}" for name, inner in fields) + ">"
        case Bag(element):
            return f"ARRAY<{spark_type(element)}>"
    return show_type(type_)
