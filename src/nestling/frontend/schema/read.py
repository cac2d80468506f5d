"""Values of the calculus to Python values: named tuples, and lists for bags."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from math import isnan
from operator import attrgetter, itemgetter
from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import is_map
from nestling.calculus.optional import held, is_optional, unflagged
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import NestlingError
from nestling.frontend.schema.counts import copies
from nestling.quoting import is_attribute
from nestling.values.bag import ZBag


def python_value(type_: Type, value: Any) -> Any:
    """``value`` as Python reads it: a record is a named tuple, a bag a list in a fixed order.

    >>> from nestling.calculus.types import INT, STR, record
    >>> python_value(record(id=INT, tags=Bag(STR)), (7, ZBag.of("b", "a", "b")))
    Row(id=7, tags=['a', 'b', 'b'])
    """
    match type_:
        case Record() if is_optional(type_):
            return python_value(held(type_), unflagged(type_, value)) if value[0] else None
        case Record(fields):
            parts = zip(fields, value, strict=True)
            return row_class(type_.names)._make(python_value(field, part) for (_, field), part in parts)
        case Bag(element) if is_map(type_):
            entries = (python_value(element, entry) for entry in listed(element, value))
            return {entry[0]: entry[1] for entry in entries}
        case Bag(element) if is_list(type_):
            items = [item for _, item in sorted(copies(value.items()), key=itemgetter(0))]
            return python_values(item_type(type_), items)
        case Bag(element):
            return python_values(element, listed(element, value))
    return value


def python_values(type_: Type, values: Iterable[Any]) -> list[Any]:
    """``values`` of one type as Python reads them."""
    if (
        isinstance(type_, Record)
        and not is_optional(type_)
        and all(isinstance(field, Scalar) for _, field in type_.fields)
    ):
        return list(map(row_class(type_.names)._make, values))
    return [python_value(type_, value) for value in values]


@cache
def row_class(names: tuple[str, ...]) -> Any:
    """The named tuple of a record's fields, which are found by their names too: ``row["class"]``.

    One that Python cannot name is ``_0``, ``_1``, … by its place as an attribute; ``getattr`` finds it by its name.

    >>> row = row_class(("name", "class", "unit price"))("Drive", 1, 2.5)
    >>> row
    Row(name='Drive', _1=1, _2=2.5)
    >>> row["class"], getattr(row, "class"), row["unit price"], row[0]
    (1, 1, 2.5, 'Drive')
    """
    make: Any = namedtuple  # the fields are known only here, which a checker does not follow
    # Python takes some letters for others: ``ﬁ`` for ``fi``, and would find two fields of one name.
    plain = make("Row", [name if is_attribute(name) else "" for name in names], rename=True)
    members = {"__slots__": (), "__reduce__": _reduced(names), "__getitem__": _found(names, plain._fields)}
    members["_asdict"] = lambda row: dict(zip(names, row, strict=True))
    odd = {name: property(itemgetter(i)) for i, name in enumerate(names) if not is_attribute(name)}
    # What Python has on every object stays what it is: a column called ``__class__`` is found as an item.
    return type("Row", (plain,), {n: p for n, p in odd.items() if not hasattr(plain, n)} | members)


def _found(names: tuple[str, ...], attributes: tuple[str, ...]) -> Any:
    """How a row is asked: by place, or by name.

    A tuple asks its class first, which costs; so whoever answers a place is looked up, not found out.
    """
    getters: dict[Any, Any] = {}
    for place, (name, attribute) in enumerate(zip(names, attributes, strict=True)):
        getters[place] = getters[place - len(names)] = getters[name] = attrgetter(attribute)
    by_place = tuple.__getitem__

    def find(row: Any, place: Any) -> Any:
        try:
            return getters[place](row)
        except (KeyError, TypeError):  # a slice, which has no hash; or nothing that is there
            if type(place) is str:
                raise KeyError(place) from None
            return by_place(row, place)

    return find


def _reduced(names: tuple[str, ...]) -> Any:
    """How a row is pickled: its class has no name to be found by."""
    return lambda row: (_row, (names, tuple(row)))


def _row(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return row_class(names)._make(values)


def listed(element: Type, bag: ZBag) -> list[Any]:
    """The elements of ``bag`` as often as they occur, in the order of their values."""
    if not bag.is_nonnegative():
        raise NestlingError(f"a bag with negative counts cannot be read as a list: {bag!r}")
    if len(bag) == 1:  # as most changes are
        return copies(bag.items())
    return copies(sorted(bag.items(), key=lambda pair: order_key(element, pair[0])))


def order_key(type_: Type, value: Any) -> tuple[Any, ...]:
    """A key that orders the values of a type: null first, NaN last, records and bags from left to right."""
    match type_:
        case Scalar():
            if value is None:
                return (0,)
            return (2,) if isinstance(value, float | Decimal) and isnan(value) else (1, value)
        case Record(fields):
            return tuple(order_key(field, part) for (_, field), part in zip(fields, value, strict=True))
        case Bag(element):
            return tuple(sorted((order_key(element, inner), times) for inner, times in value.items()))
    return (repr(value),)
