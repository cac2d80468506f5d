"""Functions of numbers, with Spark's meaning: what has no real value is NaN, what is too large is infinite."""

from __future__ import annotations

import math
from collections.abc import Callable

from nestling.calculus.library.entry import Entry, entry
from nestling.values.nan import NAN


def real(function: Callable[..., float]) -> Callable[..., float]:
    """``function`` as Java has it: NaN outside its domain, infinite where it overflows."""

    def apply(*args: float) -> float:
        try:
            found = function(*args)
        except ValueError:
            return NAN
        except OverflowError:
            return math.inf
        return found if found == found else NAN  # noqa: PLR0124 (true of all but NaN)

    return apply


def _odd(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function that overflows to both sides."""
    return lambda value: -real(function)(-value) if value < 0 else real(function)(value)


def power(base: float, exponent: float) -> float:
    """``base`` to the ``exponent``."""
    if exponent != 0 and (exponent != exponent or (abs(base) == 1 and math.isinf(exponent))):  # noqa: PLR0124
        return NAN
    is_odd = math.isfinite(exponent) and exponent == math.floor(exponent) and exponent % 2 == 1
    minus = is_odd and math.copysign(1, base) < 0
    if base == 0 and exponent < 0:
        return -math.inf if minus else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if minus else math.inf
    except ValueError:
        return NAN


def quotient(left: float, right: float) -> float:
    """IEEE 754's division."""
    if right:
        return left / right
    if left == 0 or left != left:  # noqa: PLR0124
        return NAN
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _over(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: quotient(1.0, real(function)(value))


def logarithm(function: Callable[[float], float], least: float = 0.0) -> Callable[[float], float | None]:
    """A logarithm: null of what is not greater than ``least``."""
    return lambda value: None if value <= least else real(function)(value)


def log_to(base: float, value: float) -> float | None:
    """The logarithm to a base."""
    if value <= 0 or base <= 0:
        return None
    return real(lambda: quotient(math.log(value), math.log(base)))()


def sign(value: float) -> float:
    """-1, 0 or 1."""
    return value if value == 0 or value != value else math.copysign(1.0, value)  # noqa: PLR0124


def nearest(value: float) -> float:
    """The nearest whole number, the even one of two."""
    return float(round(value)) if math.isfinite(value) else value


def factorial(number: int) -> int | None:
    """The product of the numbers up to it; null where it has more than 64 bits."""
    return math.factorial(number) if 0 <= number <= 20 else None


def bucket(value: float, low: float, high: float, number: int) -> int | None:
    """Which of so many ranges of equal width holds ``value``: 0 below them, one more than there are above."""
    if number <= 0 or low == high or not (math.isfinite(low) and math.isfinite(high)) or value != value:  # noqa: PLR0124
        return None
    if low > high:
        low, high, value = -low, -high, -value
    if value < low:
        return 0
    if value >= high:
        return number + 1
    return math.floor(number * (value - low) / (high - low)) + 1


def bits_set(value: int) -> int:
    """How many of the 64 bits are 1."""
    return (value & ((1 << 64) - 1)).bit_count()


_LOG2 = math.log(2.0)

NUMBERS: tuple[Entry, ...] = (
    *(entry(name, "float", "float", real(getattr(math, name)))
      for name in ("sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh", "exp", "expm1", "cbrt", "degrees",
                   "radians")),
    entry("sinh", "float", "float", _odd(math.sinh)),
    entry("cot", "float", "float", _over(math.tan)),
    entry("sec", "float", "float", _over(math.cos)),
    entry("csc", "float", "float", _over(math.sin)),
    entry("atan2", "float float", "float", lambda y, x: real(math.atan2)(y + 0.0, x + 0.0)),
    entry("hypot", "float float", "float", real(math.hypot)),
    entry("power", "float float", "float", power),
    entry("ln", "float", "float?", logarithm(math.log)),
    entry("log10", "float", "float?", logarithm(math.log10)),
    entry("log2", "float", "float?", logarithm(lambda value: math.log(value) / _LOG2)),
    entry("log1p", "float", "float?", logarithm(math.log1p, -1.0)),
    entry("log", "float float", "float?", log_to),
    entry("signum", "float", "float", sign),
    entry("rint", "float", "float", nearest),
    entry("is_nan", "float", "bool", math.isnan, "CASE WHEN {0} IS NOT NULL THEN isnan({0}) END"),
    entry("factorial", "int32", "int?", factorial),
    entry("width_bucket", "float float float int", "int?", bucket),
    entry("bit_and_of", "int int", "int", lambda a, b: a & b, "({0} & {1})"),
    entry("bit_or_of", "int int", "int", lambda a, b: a | b, "({0} | {1})"),
    entry("bit_xor_of", "int int", "int", lambda a, b: a ^ b, "({0} ^ {1})"),
    entry("bit_not", "int", "int", lambda a: ~a, "(~{0})"),
    entry("bit_count", "int", "int", bits_set),
)  # fmt: skip
