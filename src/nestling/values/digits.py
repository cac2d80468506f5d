"""A float as digits of 32 bits, which add up in 64: sums of floats where no int has more.

A float below 2¹²⁷ is ``Σ digit(x, j)·2³²ʲ⁻⁶⁴ + low(x)`` for ``j < 6``, exactly; so is its square, of twice as many
digits from 2⁻¹²⁸ on. A digit has 31 bits and a sign: four thousand million of them fit into a sum. What is larger
is ``large(x)``, in units of 2⁶⁴.

Law: a sum of digits forgets what has gone. ``low`` is at most 2⁻⁶⁵, and a sum of it is wrong by no more than 2⁻¹¹⁷
for each float that came or went.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite

from nestling.values.exact import rounded_float

#: Digits of a float and of a square; where they begin; beyond what a float has none.
DIGITS, SQUARES = 6, 12
UNIT, LARGE = 64, 2.0**127
BASE = 32
#: Squares of what has no digits are summed in units of its square.
FAR = 600


def float_digit(value: float, place: int) -> int:
    """The digit of ``value`` at 2³²ʲ⁻⁶⁴.

    >>> [float_digit(1.5, j) for j in range(DIGITS)], float_digit(-1.0, 2), float_digit(1e300, 5)
    ([0, -2147483648, 2, 0, 0, 0], -1, 0)
    """
    return _digit(value, place, UNIT) if abs(value) < LARGE else 0


def float_low(value: float) -> float:
    """What the digits of ``value`` leave: less than half of the last.

    >>> float_low(1.5), float_low(1e-30)
    (0.0, 1e-30)
    """
    return _low(value, UNIT) if abs(value) < LARGE else 0.0


def float_large(value: float) -> float:
    """A finite ``value`` without digits in units of 2⁶⁴; of others nothing."""
    return value * 2.0**-UNIT if abs(value) >= LARGE and isfinite(value) else 0.0


def square_digit(value: float, place: int) -> int:
    """The digit of the square of ``value`` at 2³²ʲ⁻¹²⁸."""
    return sum(_digit(part, place, 2 * UNIT) for part in _square(value))


def square_low(value: float) -> float:
    """What the digits of the square leave."""
    return sum(_low(part, 2 * UNIT) for part in _square(value))


def added(digits: Sequence[int]) -> int:
    """The number of units that sums of digits come to."""
    return sum(digit << BASE * place for place, digit in enumerate(digits))


def digits_sum(digits: Sequence[int], low: float, large: float) -> Fraction:
    """The sum that sums of digits, of what they leave and of what has none stand for."""
    return Fraction(added(digits), 1 << UNIT) + Fraction(low) + Fraction(large) * (1 << UNIT)


def nearest(value: Fraction) -> float:
    """The float nearest to ``value``; beyond the greatest it is infinite."""
    return rounded_float(round(value * (1 << 1074)))


def _digit(value: float, place: int, unit: int) -> int:
    at = unit - BASE * place
    return round(value * 2.0**at) - (round(value * 2.0 ** (at - BASE)) << BASE)


def _low(value: float, unit: int) -> float:
    return value - float(round(value * 2.0**unit)) * 2.0**-unit


def _square(value: float) -> tuple[float, float]:
    """The square of ``value`` as a float, and what that lacks."""
    if not abs(value) < LARGE:
        return 0.0, 0.0
    product = value * value
    wide = 134217729.0 * value
    high = wide - (wide - value)
    rest = value - high
    return product, ((high * high - product) + high * rest + rest * high) + rest * rest
