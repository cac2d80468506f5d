"""Aggregates that are read off the values themselves, in order: what no sum tells.

Where an aggregate has a parameter, its elements are records that hold it beside the value: ``percentile`` takes ⟨value,
share⟩, ``string_agg`` ⟨whether there is a key, key, text, what stands between two⟩, in the order of their fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from nestling.calculus.types import FLOAT, INT, STR, Record, Scalar, Type, nullable
from nestling.values.bag import ZBag

TypeRule = Callable[[Type], Scalar | None]


def _in_order(values: ZBag) -> list[Any]:
    """Each value as often as it is there."""
    return sorted(value for value, times in values.positive().items() for _ in range(times))


def percentile(values: ZBag) -> float | None:
    """The value at that share of the way from the first to the last, between two in proportion."""
    found = _in_order(values)
    if not found:
        return None
    at = (len(found) - 1) * found[0][1]
    low, high = math.floor(at), math.ceil(at)
    if low == high:
        return float(found[low][0])
    return float((high - at) * found[low][0] + (at - low) * found[high][0])


def percentile_disc(values: ZBag) -> float | None:
    """The first value that at least that share of all are not above."""
    found = _in_order(values)
    return float(found[max(0, math.ceil(len(found) * found[0][1]) - 1)][0]) if found else None


def mode(values: ZBag) -> Any:
    """The value that is there most often, the least of several."""
    found = values.positive()
    most = max((times for _, times in found.items()), default=0)
    return min((value for value, times in found.items() if times == most), default=None)


def _bitwise(operator: Callable[[int, int], int]) -> Callable[[ZBag], int | None]:
    def of(values: ZBag) -> int | None:
        found = _in_order(values)
        return reduce(operator, found) if found else None

    return of


def string_agg(values: ZBag) -> str | None:
    """The texts in the order of their keys, with what stands between two of them."""
    found = _in_order(values)
    return found[0][3].join(text for _, _, text, _ in found) if found else None


def _is_share(element: Type) -> Scalar | None:
    match element:
        case Record(((_, Scalar("float", False)), (_, Scalar("float", False)))):
            return nullable(FLOAT)
    return None


def _is_text(element: Type) -> Scalar | None:
    match element:
        case Record((_, _, (_, Scalar("str", False)), (_, Scalar("str", False)))):
            return nullable(STR)
    return None


def _is_int(element: Type) -> Scalar | None:
    return nullable(INT) if element == INT else None


def _is_scalar(element: Type) -> Scalar | None:
    return nullable(element) if isinstance(element, Scalar) and not element.nullable else None


#: By name: what the aggregate of values is, and its type.
VALUED: dict[str, tuple[Callable[[ZBag], Any], TypeRule]] = {
    "percentile": (percentile, _is_share),
    "percentile_disc": (percentile_disc, _is_share),
    "mode": (mode, _is_scalar),
    "bit_and": (_bitwise(and_), _is_int),
    "bit_or": (_bitwise(or_), _is_int),
    "bit_xor": (_bitwise(xor), _is_int),
    "string_agg": (string_agg, _is_text),
}
