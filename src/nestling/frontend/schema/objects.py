"""How a class says what its objects refer to: ``nl.Ref[C]`` and ``nl.Inverse["C.path"]``.

The identity of an object is the table that it is in and its key, so a reference is the key of the other object, kept in
the column. An inverse is derived: the objects whose reference at a path is this one; it has no column.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from nestling.errors import QueryError, brief


@dataclass(frozen=True)
class RefTo:
    """``nl.Ref[C]``, ``nl.Ref["C"]``: the key of an object of class ``C``, or of a row of the table ``C``.

    >>> RefTo["Customer"] | None
    RefTo(target='Customer', is_nullable=True)
    """

    target: str
    is_nullable: bool = False

    def __class_getitem__(cls, target: object) -> RefTo:
        return cls(_target(target))

    def __or__(self, other: object) -> RefTo:
        return replace(self, is_nullable=True) if other in (None, NoneType) else NotImplemented

    __ror__ = __or__


@dataclass(frozen=True)
class InverseOf:
    """``nl.Inverse["Order.customer"]``: the orders whose customer this object is."""

    path: str

    def __class_getitem__(cls, path: object) -> InverseOf:
        if isinstance(path, str) and "." in path:
            return cls(path)
        raise QueryError(f"an inverse is not {brief(path)}", hint='nl.Inverse["Order.customer"]')


if TYPE_CHECKING:
    C = TypeVar("C")
    #: A field of this type holds an instance of the class, or its key.
    Ref: TypeAlias = C | Any
    Inverse: TypeAlias = C | Any
else:
    Ref, Inverse = RefTo, InverseOf


@dataclass(frozen=True, slots=True)
class Extent:
    """The table of the objects of a class: its name, its class, if it was declared with one, and its key.

    ``rows`` are the classes of its rows, as they are read.
    """

    table: str
    class_name: str
    key: tuple[str, ...]
    rows: frozenset[type] = frozenset()

    def key_of(self, value: object) -> Any:
        """The key of an object: an instance of the class, or a row that was read; ``None`` where ``value`` is none."""
        if type(value) in self.rows:
            row: Any = value
            parts = tuple(row[name] for name in self.key)
            return parts[0] if len(parts) == 1 else parts
        if not self.class_name or not is_dataclass(value) or isinstance(value, type):
            return None
        if not any(class_.__name__ == self.class_name for class_ in type(value).__mro__):
            return None
        parts = tuple(getattr(value, name, None) for name in self.key)
        return parts[0] if len(parts) == 1 else parts


@lru_cache
def derived(class_: type) -> frozenset[str]:
    """The fields of a dataclass that are inverses, and so no columns."""
    try:
        hints = typing.get_type_hints(class_)
    except (NameError, TypeError, AttributeError):
        hints = {}  # what cannot be read was no schema
    found = {field.name for field in fields(class_) if isinstance(field.type, InverseOf)}
    return frozenset(found | {name for name, hint in hints.items() if isinstance(hint, InverseOf)})


def _target(target: object) -> str:
    name = target if isinstance(target, str) else target.__name__ if isinstance(target, type) else ""
    if not name:
        raise QueryError(
            f"a reference is not to {brief(target)}", hint='nl.Ref[Customer] or nl.Ref["Customer"]'
        )
    return name
