"""What a Python expression stands for while it is read.

Most are terms or bags of the calculus. A record written out keeps its fields apart, since one may be a bag
and a bag is no term; a list written out keeps its elements; the truth of ``any(…)`` keeps its bag, since as a
condition of its own it is cheaper than as a number. What is not data yet is a Python object.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, assert_never

from nestling.calculus.build import elements, product
from nestling.calculus.terms import Expr, Field, Sing, SingBag, Term, Tuple
from nestling.calculus.types import Bag, Record, Type, show_type
from nestling.calculus.typing import element_type, term_type

#: How much of a type is shown.
LONGEST = 76

Form: TypeAlias = Literal["list", "set", "dict", "generator"]


@dataclass(frozen=True, slots=True)
class One:
    """A scalar, or a record that a variable holds."""

    term: Term


@dataclass(frozen=True, slots=True)
class Row:
    """A record written out; its fields are values of any kind. One that is no tuple is ``named``."""

    fields: tuple[tuple[str, Value], ...]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """A bag, and what Python calls it; a dict holds ⟨key, value⟩. ``term`` is the bag, where it is a term."""

    expr: Expr
    form: Form = "list"
    term: Term | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A list or set written out, or captured, element by element."""

    values: tuple[Value, ...]
    form: Form = "list"


@dataclass(frozen=True, slots=True)
class Some:
    """Whether ``expr`` has an element (``holds``), or whether it has none."""

    expr: Expr
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Null:
    """``None``, of a type still to be seen."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that is inlined where it is called; ``env`` is where it was defined."""

    node: ast.FunctionDef | ast.Lambda
    env: Any


@dataclass(frozen=True, slots=True)
class Object:
    """A Python object that is no data: a module, a class, a function."""

    value: Any


@dataclass(frozen=True, slots=True)
class Barred:
    """A name that must not be used here, and why."""

    what: str
    hint: str


Data: TypeAlias = One | Row | Many
Value: TypeAlias = One | Row | Many | Items | Some | Null | Helper | Object | Barred


def of_term(term: Term) -> One | Many:
    """What ``term`` stands for: a bag where its type is one."""
    return Many(elements(term), "list", term) if isinstance(term_type(term), Bag) else One(term)


def fields_of(value: Value) -> tuple[tuple[str, Value], ...] | None:
    """The fields of a record, however it is held; ``None`` of anything else."""
    if isinstance(value, Row):
        return value.fields
    if isinstance(value, One):
        type_ = term_type(value.term)
        if isinstance(type_, Record):
            return tuple((name, of_term(Field(value.term, name))) for name in type_.names)
    return None


def type_of_data(value: Data) -> Type:
    """The type of what may stand in a row."""
    match value:
        case One(term):
            return term_type(term)
        case Row(fields):
            return Record(tuple((name, type_of_data(data(field))) for name, field in fields))
        case Many(expr):
            return Bag(element_type(expr))
        case _:
            assert_never(value)


def data(value: Value) -> Data:
    """``value``, known to be data."""
    if not isinstance(value, One | Row | Many):
        raise TypeError(f"{value} is not data")
    return value


def as_term(value: Value) -> Term | None:
    """The term that is ``value``, if one is."""
    match value:
        case One(term):
            return term
        case Many(_, _, term):
            return term
        case Row(fields):
            terms = [(name, as_term(field)) for name, field in fields]
            found = [(name, term) for name, term in terms if term is not None]
            return Tuple(tuple(found)) if len(found) == len(fields) else None
    return None


def singleton(value: Data, site: Callable[[], int]) -> Expr:
    """The bag of the one element ``value``; ``site`` numbers the inner bags."""
    term = as_term(value)
    if term is not None:
        return Sing(term)
    match value:
        case One(term):
            return Sing(term)
        case Row(fields):
            return product([(name, singleton(data(field), site)) for name, field in fields])
        case Many(expr):
            return SingBag(site(), expr)
        case _:
            assert_never(value)


def article(name: str) -> str:
    """``name`` with its article."""
    return f"an {name}" if name[:1] in "aeiou" else f"a {name}"


def shown(value: Value) -> str:
    """What ``value`` is, in words; a long type is cut."""
    text = _shown(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _shown(value: Value) -> str:
    match value:
        case One() | Row() | Many() if _is_data(value):
            return show_type(type_of_data(data(value)))
        case Some():
            return "bool"
        case Null():
            return "None"
        case Items(_, form):
            return f"a {form}"
        case Helper() | Barred():
            return "a function"
        case Object(found):
            name = getattr(found, "__name__", None)
            return f"{type(found).__name__} {name}" if name else f"an object of type {type(found).__name__}"
    return "a record"


def _is_data(value: Value) -> bool:
    if isinstance(value, Row):
        return all(_is_data(field) for _, field in value.fields)
    return isinstance(value, One | Many)
