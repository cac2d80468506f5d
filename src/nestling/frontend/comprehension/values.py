"""What only Python expressions stand for while they are read.

A list written out keeps its elements; the truth of ``any(…)`` keeps its bag, since as a condition of its own it is
cheaper than as a number. A function, a class or a module is a Python object until it is called.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from nestling.calculus.terms import Expr
from nestling.calculus.types import show_type
from nestling.frontend.values import Barred, Form, LanguageValue, Many, Null, One, Row, Some, Value, type_of
from nestling.frontend.view_query import Orders

#: How much of a type is shown.
LONGEST = 76


@dataclass(frozen=True, slots=True)
class Items(LanguageValue):
    """A list or set written out, or captured, element by element."""

    values: tuple[Value, ...]
    form: Form = "list"


@dataclass(frozen=True, slots=True)
class Sorted(LanguageValue):
    """A list with an order, or with such lists inside its elements. It is kept where it is read, and nowhere else."""

    expr: Expr
    orders: Orders
    form: Form = "list"


@dataclass(frozen=True, slots=True)
class Ranked(Many):
    """``sorted(…)[:k]``: a bag by itself, and read in its order where nothing is done to it."""

    orders: Orders = ()


@dataclass(frozen=True, slots=True)
class Helper(LanguageValue):
    """A function that is inlined where it is called; ``env`` is where it was defined."""

    node: ast.FunctionDef | ast.Lambda
    env: Any


@dataclass(frozen=True, slots=True)
class Object(LanguageValue):
    """A Python object that is no data: a module, a class, a function."""

    value: Any


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
            return show_type(type_of(value))
        case Some():
            return "bool"
        case Null():
            return "None"
        case Items(_, form):
            return f"a {form}"
        case Sorted():
            return "a sorted list"
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
