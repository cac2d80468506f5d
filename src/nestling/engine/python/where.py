"""Sums over the keys that pass a test on a prefix or suffix sum: the volume-weighted price of the best quarter of a
book.

The sum over all keys beyond a key is monotone in that key. A test that is monotone in the sum therefore holds on one
side of some key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nestling.storage.ordered import OrderedMap

Measures = tuple[Any, ...]


def summed_where(
    outer: OrderedMap[Any],
    inner: OrderedMap[Any] | None,
    operator: str,
    measure: int,
    holds: Callable[[Any], bool],
) -> Measures:
    """The measures of ``outer``, summed over the keys that pass.

    A key passes where ``holds`` is true of ``measure`` of ``inner``, summed over its keys that are ``operator`` it.
    """
    if inner is None:
        return outer.total() if holds(0) else (0,) * len(outer.total())
    if inner.was_negative:
        return _one_by_one(outer, inner, operator, measure, holds)
    start, key = inner.flip(holds, measure, above=operator.startswith(">"))
    if key is None:
        return outer.total() if start else (0,) * len(outer.total())
    # With > and <= a key belongs to what comes after it, with >= and < to what comes before.
    after = operator in (">", "<=")
    return outer.prefix(key, not after) if start else outer.suffix(key, after)


def _one_by_one(
    outer: OrderedMap[Any], inner: OrderedMap[Any], operator: str, measure: int, holds: Callable[[Any], bool]
) -> Measures:
    """Sums are not monotone, because a measure is negative: test every key."""
    beyond = inner.suffix if operator.startswith(">") else inner.prefix
    total = [0] * len(outer.total())
    for key, measures in outer.items():
        if holds(beyond(key, operator.endswith("="))[measure]):
            total = [a + b for a, b in zip(total, measures, strict=True)]
    return tuple(total)
