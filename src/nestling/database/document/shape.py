"""The order of a document, and how its arrays hang together.

The elements of an array are ordered as the view says, and by their scalars, from left to right: null first, NaN last.
Those with equal scalars are ordered by the labels of their inner bags, which stay as long as the element does. What is
inside these bags has no say: a change inside moves nothing around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nestling.calculus.maps import word
from nestling.calculus.optional import ITEMS, THERE, is_optional
from nestling.calculus.types import Bag, Path, Record, Type, leaf_types
from nestling.database.document.sorting import ComparedColumn, Whole, key_of, places, whole_of
from nestling.database.export import plain
from nestling.database.in_order import in_order
from nestling.database.rows import Row
from nestling.database.watching import WatchedLevels
from nestling.frontend.view_query import Orders, inner_level
from nestling.transform.viewlet.watch import Watch

#: What the one level is called of a view of which nothing is logged.
ROWS = "rows"


@dataclass(frozen=True)
class Inside:
    """An array inside the elements of another: the column of its label, the way to it, and its own shape."""

    position: int
    pointer: str
    shape: Shape


@dataclass(frozen=True)
class Shape:
    """The arrays of one level: what logs call it, its elements, and what these are compared by.

    ``orders``: those of the bags that are values here, by the paths to them.
    """

    name: str
    element: Type
    places: tuple[ComparedColumn, ...]
    inside: tuple[Inside, ...] = ()
    orders: tuple[Orders, ...] = ()

    def key(self, columns: Row) -> Any:
        """What an element is ordered and found by."""
        return key_of(columns, self.places)

    def value(self, key: Any, arrays: dict[int, list[Any]]) -> Any:
        """The element of a key as JSON has it, with ``arrays`` in the columns of its labels."""
        parts = (key,) if len(self.places) == 1 else key
        found = zip((place.position for place in self.places), parts, strict=True)
        return self._value(self.element, iter(range(len(self.places))), dict(found), arrays)

    def _value(
        self, type_: Type, positions: Iterator[int], parts: dict[int, Any], arrays: dict[int, list[Any]]
    ) -> Any:
        if isinstance(type_, Record):
            found = {word(name): self._value(field, positions, parts, arrays) for name, field in type_.fields}
            return _held(found) if is_optional(type_) else found
        position = next(positions)
        if position in arrays:
            return arrays[position]
        value = whole_of(parts[position], type_)
        if not isinstance(value, Whole):
            return value
        assert isinstance(type_, Bag)
        return plain(type_, in_order(value.bag.items(), type_.element, self.orders[position]))


def _held(found: dict[str, Any]) -> Any:
    """A record or an array that may be null: itself, or null."""
    if not found.pop(THERE):
        return None
    return found.get(ITEMS, found)


def shape_of(element: Type, levels: WatchedLevels, orders: Orders = ()) -> Shape:
    """The shape of a view's document; without levels, inner bags are values."""
    if levels:
        return _shape(levels, levels[0], orders)
    return _of_level(ROWS, element, (), (), orders)


def _shape(levels: WatchedLevels, level: Watch, orders: Orders) -> Shape:
    paths = (path for path, _ in leaf_types(level.element))
    pointers = ["".join(f"/{_escaped(word(name))}" for name in path if name != ITEMS) for path in paths]
    inside = tuple(
        Inside(inner.position, pointers[inner.position], _shape(levels, inner, orders))
        for inner in levels.below[level.name]
    )
    return _of_level(level.name, level.element, level.path, inside, orders)


def _of_level(name: str, element: Type, level: Path, inside: tuple[Inside, ...], orders: Orders) -> Shape:
    own = dict(orders).get(level, ())
    below = [_below(inner_level(level, path), orders) for path, _ in leaf_types(element)]
    return Shape(name, element, places(element, own), inside, tuple(below))


def _below(level: Path, orders: Orders) -> Orders:
    """The orders of a bag and of those inside it, as it has them itself."""
    return tuple((path[len(level) :], order) for path, order in orders if path[: len(level)] == level)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
