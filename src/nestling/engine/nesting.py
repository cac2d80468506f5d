"""Flat columns back to nested values; labels are looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.program.flat import Shape
from nestling.values.bag import ZBag
from nestling.values.label import Label

#: The inner bag of a label, whose elements have this type.
Bags = Callable[[Label, Type], ZBag]


def nested(columns: Iterator[Any], type_: Type, bag: Bags) -> Any:
    """The value of ``type_`` that stands in ``columns``."""
    match type_:
        case Record(fields):
            return tuple(nested(columns, field, bag) for _, field in fields)
        case Bag(element, False):
            return bag(next(columns), element)
    return next(columns)


def is_flat(type_: Type) -> bool:
    """Whether flat columns are the value: a record of scalars."""
    return isinstance(type_, Record) and all(isinstance(field, Scalar) for _, field in type_.fields)


def leaves(value: Any) -> Iterator[Any]:
    """The columns of an environment; a label of a query is its own environment's columns."""
    if type(value) is tuple:
        for part in value:
            yield from leaves(part)
    elif isinstance(value, Label) and isinstance(value.site, int):
        yield from leaves(value.environment)
    else:
        yield value


def shape(label: Label) -> Shape:
    """The shape of a label of a query."""
    return int(label.site), tuple(_inner_shapes(label.environment))


def _inner_shapes(value: Any) -> Iterator[Shape | None]:
    if isinstance(value, Label):
        yield shape(value) if isinstance(value.site, int) else None
    elif type(value) is tuple:
        for part in value:
            yield from _inner_shapes(part)
