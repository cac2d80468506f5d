"""Ordered indexes, and sentinels beyond every key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.storage.ordered import OrderedMap


class InOrder(dict[Any, Any]):
    """An index, each part of which is there when it is asked for; its keys are found by their order too.

    Law: ``between`` gives the keys, in order, that a scan would find.

    >>> index = InOrder()
    >>> index.update({3: "c", 1: "a", 2: "b"})
    >>> index.between(1, 3, upper_included=True), index.between(1, 3, upper_included=False)
    ([2, 3], [1, 2])
    """

    def __init__(self) -> None:
        super().__init__()
        self._order: OrderedMap[Any] = OrderedMap()

    def __setitem__(self, key: Any, value: Any) -> None:
        if key not in self:
            self._order.add(key, 1)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        self._order.add(key, -1)

    def __missing__(self, key: Any) -> dict[Any, Any]:
        part = self[key] = dict[Any, Any]()
        return part

    def update(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:  # type: ignore[override]
        for key, value in dict(entries).items():
            self[key] = value

    def clear(self) -> None:
        super().clear()
        self._order = OrderedMap()

    def between(self, low: Any, high: Any, upper_included: bool) -> list[Any]:
        """The keys from ``low`` to ``high``, one of which is included."""
        found = []
        for key, _ in self._order.items_from(low, inclusive=not upper_included):
            if key > high or (key == high and not upper_included):
                break
            found.append(key)
        return found


class Edge:
    """Sentinels below and above every number; they stand for a NaN bound, which selects nothing."""

    def __init__(self, is_above: bool) -> None:
        self._is_above = is_above

    def __lt__(self, other: Any) -> bool:
        return not self._is_above and other is not self

    def __gt__(self, other: Any) -> bool:
        return self._is_above and other is not self


BELOW, ABOVE = Edge(is_above=False), Edge(is_above=True)
