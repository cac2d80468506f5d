"""Aggregates: a payload to accumulate, and the scalar read off it.

An element *v* of multiplicity *m* contributes ``m·lift(v)`` to the payload, so a delta of the bag is a
delta of the payload. The result is a function of the payload; of nothing it is 0 for ``count`` and
``sum`` and null for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nestling.calculus.types import FLOAT, INT, NUMERIC, Scalar, Type, is_base, nullable
from nestling.values.bag import ZBag
from nestling.values.payload import Counted, Module, Moments, Payload

TypeRule = Callable[[Type], Scalar | None]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Payload module, reading, and the type of the result (``None``: not for elements of that type)."""

    name: str
    module: Module
    read: Callable[[Payload], Any]
    result: TypeRule

    def of(self, bag: ZBag) -> Any:
        """The aggregate of the elements of ``bag``."""
        payload = self.module.zero
        for value, times in bag.items():
            payload = self.module.add(payload, self.module.lift(value, times))
        return self.read(payload)


def _numeric(element: Type) -> Scalar | None:
    match element:
        case Scalar(name, False) if name in NUMERIC:
            return element
    return None


def _average(element: Type) -> Scalar | None:
    match _numeric(element):
        case Scalar("decimal"):
            return nullable(Scalar("decimal"))
        case Scalar():
            return nullable(FLOAT)
    return None


def _spread(element: Type) -> Scalar | None:
    return nullable(FLOAT) if _numeric(element) else None


def _ordered(element: Type) -> Scalar | None:
    match element:
        case Scalar(_, False):
            return nullable(element)
    return None


def _mean(payload: Payload) -> Any:
    count, total = payload
    return total / count if count else None


def _variance(payload: Payload) -> float | None:
    count, total, squares = payload
    if not count:
        return None
    # Exact for ints; for floats the difference of two close numbers may dip below zero.
    return max(0.0, float(Fraction(squares) / count - (Fraction(total) / count) ** 2))


def _deviation(payload: Payload) -> float | None:
    variance = _variance(payload)
    return None if variance is None else float(variance**0.5)


def _first(payload: Payload) -> Any:
    return min(payload[1].positive(), default=None)


def _last(payload: Payload) -> Any:
    return max(payload[1].positive(), default=None)


def _total(payload: Payload) -> Any:
    return payload[-1]  # exact sums are also kept without their count


AGGREGATES: dict[str, Aggregate] = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("count", Moments(0), lambda payload: payload[0], lambda element: INT),
        Aggregate("sum", Moments(1), _total, _numeric),
        Aggregate("avg", Moments(1), _mean, _average),
        Aggregate("var", Moments(2), _variance, _spread),
        Aggregate("stdev", Moments(2), _deviation, _spread),
        Aggregate("min", Counted(), _first, _ordered),
        Aggregate("max", Counted(), _last, _ordered),
        Aggregate(
            "count_distinct",
            Counted(),
            lambda payload: len(payload[1].positive()),
            lambda element: INT if is_base(element) else None,
        ),
    )
}
