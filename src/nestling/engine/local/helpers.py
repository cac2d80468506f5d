"""What generated functions call by name, besides terms."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Any

from nestling.calculus.valued import VALUED
from nestling.engine.local.inorder import ABOVE, BELOW
from nestling.engine.python.where import summed_where
from nestling.storage.ordered import OrderedMap
from nestling.values.bag import EMPTY as NONE
from nestling.values.bag import ZBag
from nestling.values.order import first


def _of_values(read: Callable[[ZBag], Any]) -> Callable[[OrderedMap[Any] | None], Any]:
    """An aggregate of all values of a group."""
    return lambda ordered: (
        None if ordered is None else read(ZBag((value, measures[0]) for value, measures in ordered.items()))
    )


def helpers() -> dict[str, Any]:
    """By name, what generated functions call or compare with."""
    return {
        "ABOVE": ABOVE,
        "BELOW": BELOW,
        "EMPTY": {},
        "NOTHING": (0,) * 64,
        "OrderedMap": OrderedMap,
        "bisect_left": bisect_left,
        "bisect_right": bisect_right,
        "insort": insort,
        "summed_where": summed_where,
        "values_of": lambda pairs: (0, ZBag(pairs)),
        "first_values": lambda pairs, limit, greatest: first(ZBag(pairs), limit, greatest),
        "read_first": lambda ordered, limit: NONE if ordered is None else ZBag(ordered.smallest(limit)),
        "read_last": lambda ordered, limit: NONE if ordered is None else ZBag(ordered.largest(limit)),
        "read_ordered_min": lambda ordered: None if ordered is None else ordered.first(),
        "read_ordered_max": lambda ordered: None if ordered is None else ordered.last(),
        "read_ordered_count_distinct": lambda ordered: 0 if ordered is None else len(ordered),
        **{f"read_ordered_{name}": _of_values(read) for name, (read, _) in VALUED.items()},
    }
