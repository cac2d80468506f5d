"""Aggregates: a payload to accumulate, and the scalar read off it.

An element *v* of multiplicity *m* contributes ``m·lift(v)`` to the payload, so a delta of the bag is a
delta of the payload. The result is a function of the payload; of nothing it is 0 for ``count`` and
``sum`` and null for the rest.

Sums are exact: of ints, of decimals, and of floats, whose sum and mean are rounded once. The variance of floats is
that of their exact values, rounded once; of what is not finite it is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from nestling.calculus.arithmetic import mean
from nestling.calculus.types import BOOL, FLOAT, INT, NUMERIC, Scalar, Type, is_base, nullable
from nestling.calculus.valued import VALUED
from nestling.errors import NoValue
from nestling.values.bag import ZBag
from nestling.values.digits import DIGITS, FAR, UNIT, added, digits_sum, nearest
from nestling.values.exact import PLACES, is_finite, mean_float, rounded_float
from nestling.values.nan import NAN
from nestling.values.payload import Counted, Module, Moments, Payload, Units

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
    return mean(total, count)


def _variance(payload: Payload) -> float | None:
    count, total, squares = payload
    return _spread_of(count, Fraction(total), Fraction(squares)) if count else None


def _spread_of(count: int, total: Fraction, squares: Fraction) -> float:
    try:
        # Less than nothing it can be only where counts are negative; a deviation, its root, is a number there too.
        return max(0.0, float(squares / count - (total / count) ** 2))
    except OverflowError as error:
        raise NoValue("a variance is too large for a float") from error


def _deviation(payload: Payload) -> float | None:
    variance = _variance(payload)
    return None if variance is None else float(variance**0.5)


def _float_total(payload: Payload) -> float:
    return rounded_float(payload[-1])


def _float_mean(payload: Payload) -> float | None:
    count, total = payload
    return mean_float(total, count) if count else None


def _float_variance(payload: Payload) -> float | None:
    count, total, squares = payload
    if not count:
        return None
    if not is_finite(total):
        return NAN
    try:
        return _spread_of(count, Fraction(total, 1 << PLACES), Fraction(squares, 1 << 2 * PLACES))
    except NoValue:
        return inf


def _parts_total(payload: Payload) -> float:
    plus, minus, neither = payload[-3:]
    if neither or (plus and minus):
        return NAN
    return inf if plus else -inf if minus else nearest(_finite(payload))


def _finite(payload: Payload) -> Fraction:
    *digits, low, some, large = payload[1 : DIGITS + 4]
    return digits_sum(digits, low, large if some else 0.0)


def _parts_mean(payload: Payload) -> float | None:
    return _parts_total(payload) / payload[0] if payload[0] else None


def _parts_variance(payload: Payload) -> float | None:
    count, parts = payload[0], payload[1:]
    if not count:
        return None
    *digits, low = parts[: DIGITS + 1]
    *squares, square_low, some, large, large_square, infinite = parts[DIGITS + 1 :]
    if infinite:
        return NAN
    total = digits_sum(digits, low, 0.0)
    square = Fraction(added(squares), 1 << 2 * UNIT) + Fraction(square_low)
    if some:
        total += Fraction(large) * (1 << FAR)
        square += Fraction(large_square) * (1 << 2 * FAR)
    try:
        return _spread_of(count, total, square)
    except NoValue:
        return inf


def _parts_deviation(payload: Payload) -> float | None:
    variance = _parts_variance(payload)
    return None if variance is None else float(variance**0.5)


def _float_deviation(payload: Payload) -> float | None:
    variance = _float_variance(payload)
    return None if variance is None else float(variance**0.5)


def _first(payload: Payload) -> Any:
    return min(_in_order(payload[1]), default=None)


def _last(payload: Payload) -> Any:
    return max(_in_order(payload[1]), default=None)


def _in_order(values: ZBag) -> ZBag:
    if any(value != value for value in values):  # noqa: PLR0124 (true of NaN)
        raise NoValue("nan has no place in an order")
    return values.positive()


def _total(payload: Payload) -> Any:
    return payload[-1]  # exact sums are also kept without their count


def _defined(read: Callable[[Payload], Any]) -> Callable[[Payload], bool]:
    """Whether ``read`` has no value."""

    def is_absent(payload: Payload) -> bool:
        try:
            read(payload)
        except NoValue:
            return True
        return False

    return is_absent


def _some(read: Callable[[Payload], Any]) -> Callable[[Payload], Any]:
    """``read``, with some value where it has none."""

    def read_some(payload: Payload) -> Any:
        try:
            return read(payload)
        except NoValue:
            return 0.0

    return read_some


def _boolean(element: Type) -> Scalar | None:
    return BOOL if _numeric(element) else None


def _of_values(read: Callable[[ZBag], Any]) -> Callable[[Payload], Any]:
    return lambda payload: read(payload[1])


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
        *(Aggregate(name, Counted(), _of_values(read), rule) for name, (read, rule) in VALUED.items()),
        # Of ints that are too large there is no mean in floats: whether it is so, and some value where it is.
        Aggregate("no_avg", Moments(1), _defined(_mean), _boolean),
        Aggregate("no_var", Moments(2), _defined(_variance), _boolean),
        Aggregate("no_stdev", Moments(2), _defined(_deviation), _boolean),
        Aggregate("some_avg", Moments(1), _some(_mean), _average),
        Aggregate("some_var", Moments(2), _some(_variance), _spread),
        Aggregate("some_stdev", Moments(2), _some(_deviation), _spread),
    )
}

#: The aggregates of floats: these are summed as ints, see ``values/exact``. A program has them by these names.
OF_FLOATS: dict[str, Aggregate] = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("float_sum", Units(1), _float_total, _numeric),
        Aggregate("float_avg", Units(1), _float_mean, _average),
        Aggregate("float_var", Units(2), _float_variance, _spread),
        Aggregate("float_stdev", Units(2), _float_deviation, _spread),
    )
}
#: The same where no int has more than 64 bits: floats are summed by their digits, beside how many have none, are
#: infinite, either way, and NaN; see ``values/digits``.
BY_PARTS: dict[str, Aggregate] = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("parts_sum", Moments(0), _parts_total, _numeric),
        Aggregate("parts_avg", Moments(0), _parts_mean, _average),
        Aggregate("parts_var", Moments(0), _parts_variance, _spread),
        Aggregate("parts_stdev", Moments(0), _parts_deviation, _spread),
    )
}
EVERY = AGGREGATES | OF_FLOATS | BY_PARTS


def aggregate_of(name: str, element: Type, exact: bool = True) -> Aggregate:
    """The aggregate that ``name`` means of elements of a type; ``exact``: floats are summed as ints."""
    if not isinstance(element, Scalar) or element.name != "float":
        return AGGREGATES[name]
    return EVERY.get(f"{'float' if exact else 'parts'}_{name}", AGGREGATES[name])
