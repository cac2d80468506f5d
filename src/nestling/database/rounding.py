"""Equality of answers up to the rounding of floats.

On Spark a sum of floats is read off its digits there, and rounded in other places than here; the embedded engine rounds
once, and tolerates no difference. Counts, and all values other than floats, are exact.
"""

from __future__ import annotations

from math import isclose
from typing import Any

from nestling.values.bag import ZBag
from nestling.values.exact import is_same

TOLERANCE = 1e-6


def equal_up_to_rounding(left: Any, right: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether ``left`` is ``right``, floats compared up to rounding; NaN is NaN.

    >>> equal_up_to_rounding(ZBag.of(("a", 0.3)), ZBag.of(("a", 0.1 + 0.2)))
    True
    >>> equal_up_to_rounding(ZBag.of(1), ZBag.of(2))
    False
    """
    match left, right:
        case ZBag(), ZBag():
            return _paired(left - right, tolerance)
        case tuple(), tuple():
            pairs = zip(left, right, strict=True)
            return len(left) == len(right) and all(equal_up_to_rounding(a, b, tolerance) for a, b in pairs)
        case float(), float():
            return is_same(left, right) or isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)
    return bool(left == right)


def _paired(difference: ZBag, tolerance: float) -> bool:
    """Whether every element that is only on one side has its like, as often, on the other."""
    pending = dict(difference.negative().items())
    for value, times in difference.positive().items():
        for other in [
            other
            for other, count in pending.items()
            if count and equal_up_to_rounding(value, other, tolerance)
        ]:
            taken = min(times, pending[other])
            pending[other] -= taken
            times -= taken
        if times:
            return False
    return not any(pending.values())
