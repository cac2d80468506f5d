"""Numbers that are summed without rounding: floats as ints, decimals under a context of our own.

A float is a whole number of times 2⁻¹⁰⁷⁴, so a sum of floats is one of ints: exact, in any order, and back where it was
when what came has gone. What is not finite is counted in the same int, far above all finite sums. A sum is rounded
once, when it is read, as ``math.fsum`` does; beyond the greatest float it is infinite.

Decimals add and multiply with all their digits, whatever context the thread has.

Law: ``rounded_float(Σ nᵢ·float_units(xᵢ))`` is the float nearest to ``Σ nᵢ·xᵢ``; with an infinity it is that infinity,
and with both or with NaN it is ``NAN``.
"""

from __future__ import annotations

import contextvars
import decimal
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context
from functools import partial, wraps
from math import inf
from typing import Any, ParamSpec, TypeVar

from nestling.errors import NoValue
from nestling.values.nan import NAN

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

#: The bits of a float after its binary point; the least float is one unit.
PLACES = 1074
_ONE = 1 << PLACES
#: No finite sum of less than 2¹⁰⁰ floats comes near: from here on, counts of what is not finite.
_FINITE = 1 << 2200
_UP, _DOWN, _NAN = 2240, 2400, 2560
#: An infinity above zero is above all finite sums. NaN is below them: who asks whether a sum ever fell asks that.
_PLUS, _MINUS, _NEITHER = 1 << _UP, -(1 << _DOWN), -(1 << _NAN)


#: The least int that is too large for a float: half way from the greatest float to what would follow it.
FLOAT_END = (1 << 1024) - (1 << 970)


def float_units(value: float) -> int:
    """``value`` as a whole number of units, which add up exactly; an int may stand for a float.

    >>> float_units(1e16) + float_units(1.0) - float_units(1e16) == float_units(1.0)
    True
    """
    try:
        numerator, denominator = value.as_integer_ratio()
    except OverflowError:
        return _PLUS if value > 0 else _MINUS
    except ValueError:
        return _NEITHER
    if denominator == 1 and not -FLOAT_END < numerator < FLOAT_END:
        raise NoValue("an int is too large for a float")
    return numerator << (PLACES + 1 - denominator.bit_length())


def rounded_float(units: int) -> float:
    """The float nearest to so many units.

    >>> rounded_float(float_units(0.1) * 3), rounded_float(float_units(float("inf")) + float_units(1.0))
    (0.30000000000000004, inf)
    """
    try:
        return units / _ONE
    except OverflowError:
        return _beyond(units)


def mean_float(units: int, count: int) -> float:
    """The float nearest to the ``count``-th part of so many units."""
    try:
        return units / (count << PLACES)
    except OverflowError:
        found = _beyond(units)
        return found if count > 0 else -found


def is_finite(units: int) -> bool:
    """Whether only finite floats are summed in ``units``."""
    return -_FINITE < units < _FINITE


def _beyond(units: int) -> float:
    """What is not finite in ``units``, or too large for a float."""
    if is_finite(units):
        return inf if units > 0 else -inf
    (_, plus), minus, neither = _parts(units)
    above, below = plus > 0 or minus < 0, plus < 0 or minus > 0
    if neither or (above and below):
        return NAN
    return inf if above else -inf


def _parts(units: int) -> tuple[tuple[int, int], int, int]:
    """The finite part and how often +∞ was added to it; how often −∞; how often NaN."""
    neither = -((units + (1 << _NAN - 1)) >> _NAN)
    units += neither << _NAN
    minus = -((units + (1 << _DOWN - 1)) >> _DOWN)
    units += minus << _DOWN
    plus = (units + (1 << _UP - 1)) >> _UP
    return (units - (plus << _UP), plus), minus, neither


#: The context of all sums and products: what has more digits than this has no value.
EXACT = Context(
    prec=1_000_000, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow, decimal.Inexact],
)  # fmt: skip
#: The context of what is rounded as it says itself, to a number of places.
WIDE = Context(
    prec=1_000_000, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)  # fmt: skip
#: The context of a quotient of decimals of no declared size: Python's own digits, half to even.
QUOTIENT = Context(
    prec=28, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[],
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)  # fmt: skip


def exactly(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose operators on decimals are exact whatever context its caller has."""

    get, put = decimal.getcontext, decimal.setcontext

    @wraps(function)
    def exact(*args: P.args, **kwargs: P.kwargs) -> R:
        before = get()
        put(EXACT)
        try:
            return function(*args, **kwargs)
        finally:
            put(before)

    return exact


def exactly_alone(function: Callable[P, R]) -> Callable[P, R]:
    """The same of a function that never runs twice at a time: it enters a context of its own, which is made once.

    To set a thread's context and to set it back takes longer than most triggers. A second caller gets an error.
    """
    own = contextvars.Context()
    own.run(decimal.setcontext, EXACT)
    return partial(own.run, function)


def exact_rows(function: Callable[P, Iterable[T]]) -> Callable[P, list[T]]:
    """The same of a generator: it is gone through at once, so that nobody else runs under its context."""
    return exactly(lambda *args, **kwargs: list(function(*args, **kwargs)))


def one_nan(value: Any) -> Any:
    """``value``; a NaN becomes the one NaN."""
    return value if value == value else NAN  # noqa: PLR0124 (true of all but NaN)


def is_same(left: Any, right: Any) -> bool:
    """Whether two scalars are one value: NaN is NaN."""
    return bool(left == right) or (left != left and right != right)  # noqa: PLR0124 (true of NaN)
