"""The order of a document, and how its arrays hang together.

The elements of an array are ordered by their scalars, from left to right: null first, NaN last. Those with equal
scalars are ordered by the labels of their inner bags, which stay as long as the element does. What is inside these bags
has no say: a change inside moves nothing around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import nan
from typing import Any

from nestling.calculus.types import Bag, Record, Scalar, Type, leaf_types
from nestling.database.export import plain
from nestling.database.rows import Row
from nestling.database.watching import WatchedLevels
from nestling.frontend.schema import python_value
from nestling.transform.viewlet.watch import Watch
from nestling.values.bag import ZBag
from nestling.values.label import Label

#: What the one level is called of a view of which nothing is logged.
ROWS = "rows"


class _End:
    """Before or after every value."""

    __slots__ = ("_is_last",)

    def __init__(self, is_last: bool) -> None:
        self._is_last = is_last

    def __lt__(self, other: object) -> bool:
        return not self._is_last and other is not self

    def __gt__(self, other: object) -> bool:
        return self._is_last and other is not self


LEAST, GREATEST = _End(is_last=False), _End(is_last=True)


class Whole:
    """A bag that is one value, in the order of its sorted elements."""

    __slots__ = ("bag", "order")

    def __init__(self, bag: ZBag) -> None:
        self.bag = bag
        self.order = sorted((ordered(element), times) for element, times in bag.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whole) and self.bag == other.bag

    def __hash__(self) -> int:
        return hash(self.bag)

    def __lt__(self, other: Whole) -> bool:
        return self.order < other.order

    def __gt__(self, other: Whole) -> bool:
        return self.order > other.order


def ordered(value: Any) -> Any:
    """Something that Python compares as documents order ``value``.

    >>> [value for value in sorted([2.5, None, nan, -1.0], key=ordered)]
    [None, -1.0, 2.5, nan]
    """
    if value is None:
        return LEAST
    kind = type(value)
    if (kind is float or kind is Decimal) and value != value:  # noqa: PLR0124 (true of NaN)
        return GREATEST
    if kind is Label:
        return (isinstance(value.site, str), value.site, tuple(map(ordered, value.environment)))
    if kind is tuple:
        return tuple(map(ordered, value))
    return Whole(value) if kind is ZBag else value


@dataclass(frozen=True)
class Inside:
    """An array inside the elements of another: the column of its label, the way to it, and its own shape."""

    position: int
    pointer: str
    shape: Shape


@dataclass(frozen=True)
class Shape:
    """The arrays of one level: what logs call it, its elements, and in which order their columns are compared."""

    name: str
    element: Type
    order: tuple[int, ...]
    inside: tuple[Inside, ...] = ()

    def key(self, columns: Row) -> Any:
        """What an element is ordered and found by."""
        if len(self.order) == 1:
            return ordered(columns[self.order[0]])
        return tuple([ordered(columns[i]) for i in self.order])

    def value(self, key: Any, arrays: dict[int, list[Any]]) -> Any:
        """The element of a key as JSON has it, with ``arrays`` in the columns of its labels."""
        parts = (key,) if len(self.order) == 1 else key
        columns = dict(zip(self.order, parts, strict=True)) | arrays
        return _value(self.element, iter(range(len(columns))), columns, arrays)


def _value(
    type_: Type, positions: Iterator[int], columns: dict[int, Any], arrays: dict[int, list[Any]]
) -> Any:
    if isinstance(type_, Record):
        return {name: _value(field, positions, columns, arrays) for name, field in type_.fields}
    position = next(positions)
    value = columns[position]
    if position in arrays:
        return value
    if isinstance(value, Whole):
        return plain(type_, python_value(type_, value.bag))
    if value is LEAST:
        return None
    if value is GREATEST:
        return Decimal("nan") if isinstance(type_, Scalar) and type_.name == "decimal" else nan
    return value


def shape_of(element: Type, levels: WatchedLevels) -> Shape:
    """The shape of a view's document; without levels, inner bags are values."""
    if levels:
        return _shape(levels, levels[0])
    return Shape(ROWS, element, _by_scalars(element))


def _shape(levels: WatchedLevels, level: Watch) -> Shape:
    pointers = ["".join(f"/{_escaped(name)}" for name in path) for path, _ in leaf_types(level.element)]
    inside = tuple(
        Inside(inner.position, pointers[inner.position], _shape(levels, inner))
        for inner in levels.below[level.name]
    )
    return Shape(level.name, level.element, _by_scalars(level.element), inside)


def _by_scalars(element: Type) -> tuple[int, ...]:
    """The columns, scalars first."""
    leaves = [type_ for _, type_ in leaf_types(element)]
    return tuple(sorted(range(len(leaves)), key=lambda i: isinstance(leaves[i], Bag)))


def columns_of(type_: Type, value: Any) -> Row:
    """The columns of a value whose inner bags are values."""
    if isinstance(type_, Record):
        return tuple(
            column
            for (_, field), part in zip(type_.fields, value, strict=True)
            for column in columns_of(field, part)
        )
    return (value,)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
