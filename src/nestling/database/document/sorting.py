"""The order of elements: by the keys that a view says, then by their scalars from left to right, then by their bags.

Null comes first and NaN last, unless a key says otherwise of null. Where all keys descend, what follows them descends
too: the list is then the other one read backwards.
"""

from __future__ import annotations

from decimal import Decimal
from math import nan
from typing import Any, NamedTuple

from nestling.calculus.types import Bag, Record, Scalar, Type, leaf_types
from nestling.database.rows import Row
from nestling.frontend.view_query import Order
from nestling.values.bag import ZBag
from nestling.values.label import Label


class _End:
    """Before or after every value; of two ends, the one of the lower ``rank`` comes first."""

    __slots__ = ("_rank",)

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def __lt__(self, other: object) -> bool:
        return self._rank < (other._rank if isinstance(other, _End) else 0)

    def __gt__(self, other: object) -> bool:
        return self._rank > (other._rank if isinstance(other, _End) else 0)


#: A null that comes first, NaN, and a null that comes last.
LEAST, GREATEST, LAST = _End(-1), _End(1), _End(2)


class Down:
    """A value where a key descends."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Down) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: object) -> bool:
        return other.value < self.value if isinstance(other, Down) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return other.value > self.value if isinstance(other, Down) else NotImplemented


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


class ComparedColumn(NamedTuple):
    """One thing that elements are compared by: the position of its column, and how."""

    position: int
    descends: bool = False
    nulls_first: bool = True


def places(element: Type, order: Order = ()) -> tuple[ComparedColumn, ...]:
    """All columns of an element in the order in which they are compared.

    >>> from nestling.calculus.types import INT, STR, record
    >>> from nestling.frontend.view_query import sort_key
    >>> [place.position for place in places(record(tags=Bag(STR), id=INT, n=INT), (sort_key(("n",)),))]
    [2, 1, 0]
    """
    leaves = list(leaf_types(element))
    positions = {path: position for position, (path, _) in enumerate(leaves)}
    keys: dict[int, ComparedColumn] = {}
    for key in order:
        position = positions[key.path]
        keys.setdefault(position, ComparedColumn(position, key.descends, key.nulls_first))
    descends = bool(order) and all(key.descends for key in order)
    others = sorted(set(range(len(leaves))) - keys.keys(), key=lambda i: isinstance(leaves[i][1], Bag))
    return (*keys.values(), *(ComparedColumn(position, descends, not descends) for position in others))


def part(value: Any, place: ComparedColumn) -> Any:
    """What ``value`` is compared as at its place."""
    if value is None:
        return LEAST if place.nulls_first else LAST
    found = ordered(value)
    return Down(found) if place.descends else found


def whole_of(found: Any, type_: Type) -> Any:
    """The value that is compared as ``found``; a bag stays a ``Whole``."""
    if type(found) is Down:
        found = found.value
    if found is LEAST or found is LAST:
        return None
    if found is GREATEST:
        return Decimal("nan") if isinstance(type_, Scalar) and type_.name == "decimal" else nan
    return found


def key_of(columns: Row, compared: tuple[ComparedColumn, ...]) -> Any:
    """What an element is ordered and found by."""
    if len(compared) == 1:
        return part(columns[compared[0].position], compared[0])
    return tuple([part(columns[place.position], place) for place in compared])


def columns_of(type_: Type, value: Any) -> Row:
    """The columns of a value whose inner bags are values."""
    if isinstance(type_, Record):
        return tuple(
            column
            for (_, field), inner in zip(type_.fields, value, strict=True)
            for column in columns_of(field, inner)
        )
    return (value,)
