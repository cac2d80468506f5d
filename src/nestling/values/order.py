"""The order of values: the one in which ``first`` and ``last`` take elements.

A null comes before everything, a record is compared field by field from the left, a bag as its sorted elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.errors import NoValue
from nestling.values.bag import ZBag


def order_key(value: Any) -> tuple[Any, ...]:
    """Something that Python compares as ``value`` is compared with others of its type.

    >>> sorted([(2, None), (1, "b"), (2, "a")], key=order_key)
    [(1, 'b'), (2, None), (2, 'a')]
    """
    if value is None:
        return (0,)
    if isinstance(value, ZBag):
        return (1, sorted((order_key(element), times) for element, times in value.items()))
    if isinstance(value, tuple):
        return (1, tuple(map(order_key, value)))
    if value != value:  # noqa: PLR0124 (true of NaN, which no order has a place for)
        raise NoValue(f"{value!r} has no place in an order")
    return (1, value)


def take(ordered: Iterable[tuple[Any, int]], limit: int) -> ZBag:
    """The first ``limit`` copies of what is ``ordered``; what is not there takes no place."""
    taken = []
    for value, times in ordered:
        if limit <= 0:
            break
        if times > 0:
            taken.append((value, min(times, limit)))
            limit -= times
    return ZBag(taken)


def first(bag: ZBag, limit: int, greatest: bool = False) -> ZBag:
    """The ``limit`` least elements of ``bag``, copies counted one by one; or the ``greatest``.

    >>> first(ZBag.of(3, 1, 1, 2), 3)
    {1: 2, 2: 1}
    """
    ordered = sorted(bag.items(), key=lambda item: order_key(item[0]), reverse=greatest)
    return take(ordered, limit)
