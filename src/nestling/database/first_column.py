"""Look-ups by the first column: ``view[first]``."""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Record, Type
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value


def first_leaf(value: Any) -> Any:
    """The first scalar of a value."""
    return first_leaf(value[0]) if isinstance(value, tuple) and value else value


def first_type(type_: Type) -> Type:
    """The type of the first scalar of a value of ``type_``."""
    return first_type(type_.types[0]) if isinstance(type_, Record) and type_.fields else type_


def may_start(element: Type, first: Any) -> bool:
    """Whether rows of this type can have ``first`` there: a value of another type is in no row."""
    try:
        element_value(first_type(element), first_leaf(first))
    except ChangeError:
        return False
    return True


def starts(row: Any, first: Any) -> bool:
    """Whether ``first`` is the row, its first column, or a tuple of its first columns."""
    if not isinstance(row, tuple) or row == first:
        return bool(row == first)
    return bool(row[:1] == (first,) or (isinstance(first, tuple) and row[: len(first)] == first))
