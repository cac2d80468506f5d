"""Reading a view whose text ends with an order, or that has lists with one inside its rows.

The bag is kept as any other; reading sorts it. Rows of equal keys are ordered among themselves, by all they hold, so
that two readings of one state agree.

Law (15): what is read is the sorted list of what the reference evaluates, at every level; and it is the document that
patches lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, held, is_optional, unflagged
from nestling.calculus.types import Bag, Path, Record, Type
from nestling.database.document.sorting import columns_of, key_of, places
from nestling.errors import NestlingError
from nestling.frontend.schema import copies
from nestling.frontend.schema.read import row_class
from nestling.frontend.view_query import Order, Orders, inner_level

Pairs: TypeAlias = Iterable[tuple[Any, int]]


def in_order(pairs: Pairs, element: Type, orders: Orders, what: str = "the view") -> list[Any]:
    """The elements of ``pairs`` as Python has them, as often as they occur, every level in its order.

    >>> from nestling.calculus.types import INT, STR, record
    >>> from nestling.frontend.view_query import sort_key
    >>> rows = {("b", 1): 1, ("a", 1): 1, ("c", 2): 1}
    >>> orders = (((), (sort_key(("n",), descends=True),)),)
    >>> [row.name for row in in_order(rows.items(), record(name=STR, n=INT), orders)]
    ['c', 'b', 'a']
    """
    return _listing(element, dict(orders), (), what)(pairs)


def _listing(
    element: Type, orders: Mapping[Path, Order], level: Path, what: str = ""
) -> Callable[[Pairs], list[Any]]:
    sorting, made = _sorting(element, orders.get(level, ())), _made(element, orders, level, ())

    def listed(pairs: Pairs) -> list[Any]:
        in_turn = sorted(pairs, key=sorting)
        if any(times < 0 for _, times in in_turn):
            raise NestlingError(f"{what} holds negative counts", hint="read it with bag()")
        found = copies(in_turn, what)
        return found if made is None else [made(value) for value in found]

    return listed


def _sorting(element: Type, order: Order) -> Callable[[tuple[Any, int]], Any]:
    compared = places(element, order)
    if isinstance(element, Record) and not any(isinstance(field, Record) for field in element.types):
        return lambda pair: key_of(pair[0], compared)  # a row is its columns
    return lambda pair: key_of(columns_of(element, pair[0]), compared)


def _made(type_: Type, orders: Mapping[Path, Order], level: Path, path: Path) -> Callable[[Any], Any] | None:
    """How a value of ``type_``, at ``path`` in an element of ``level``, becomes what Python has; None: it is that."""
    match type_:
        case Record() if is_optional(type_):
            there = held(type_)
            inside = _made(there, orders, level, (*path, ITEMS) if isinstance(there, Bag) else path)
            return lambda value: _present(type_, inside, value) if value[0] else None
        case Record(fields):
            make = row_class(type_.names)._make
            parts = [_made(field, orders, level, (*path, name)) for name, field in fields]
            if not any(parts):
                return make  # type: ignore[no-any-return]
            return lambda value: make(
                [inner if part is None else part(inner) for inner, part in zip(value, parts, strict=True)]
            )
        case Bag(element):
            listed = _listing(element, orders, inner_level(level, path), "an inner bag")
            if is_map(type_):
                return lambda bag: dict(listed(bag.items()))
            if is_list(type_):
                return lambda bag: [item for _, item in sorted(listed(bag.items()), key=itemgetter(0))]
            return lambda bag: listed(bag.items())
    return None


def _present(type_: Type, made: Callable[[Any], Any] | None, value: Any) -> Any:
    """A record or a bag that may be null, and is not."""
    found = unflagged(type_, value)
    return found if made is None else made(found)
