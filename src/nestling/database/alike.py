"""Whether two answers are the same up to the rounding of floats.

A float sum that follows its rows adds and takes away in the order of the changes, and rounds in other places than
one that is computed anew. Counts, and all that is not a float, are exact.
"""

from __future__ import annotations

from math import isclose
from typing import Any

from nestling.values.bag import ZBag

TOLERANCE = 1e-6


def alike(left: Any, right: Any) -> bool:
    """Whether ``left`` is ``right``, floats compared up to rounding.

    >>> alike(ZBag.of(("a", 0.3)), ZBag.of(("a", 0.1 + 0.2))), alike(ZBag.of(1), ZBag.of(2))
    (True, False)
    """
    match left, right:
        case ZBag(), ZBag():
            return _paired(left - right)
        case tuple(), tuple():
            return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
        case float(), float():
            return left == right or isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(left == right)


def _paired(difference: ZBag) -> bool:
    """Whether every element that is only on one side has its like, as often, on the other."""
    pending = dict(difference.negative().items())
    for value, times in difference.positive().items():
        for other in [other for other, count in pending.items() if count and alike(value, other)]:
            taken = min(times, pending[other])
            pending[other] -= taken
            times -= taken
        if times:
            return False
    return not any(pending.values())
