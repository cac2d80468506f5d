"""What the operators mean on numbers and moments: Python's, but for decimals, and for what raises.

Decimals are added and multiplied exactly, whatever the thread's context; a quotient of decimals of no declared size has
28 digits, half to even. Of two ints it is that of floats: neither may be too large for one. Where Python raises because
there is no value, ``NoValue`` is raised, and nothing else is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from nestling.errors import NoValue
from nestling.values.exact import EXACT, FLOAT_END, QUOTIENT
from nestling.values.nan import NAN

P = ParamSpec("P")
R = TypeVar("R")


def partial(function: Callable[P, R], *raised: type[Exception]) -> Callable[P, R]:
    """``function``, which says ``NoValue`` where it raises one of ``raised``; an ``ArithmeticError`` unless told."""
    caught = raised or (ArithmeticError,)

    @wraps(function, assigned=("__name__", "__doc__"), updated=())
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except caught as error:
            raise error if isinstance(error, NoValue) else NoValue(str(error)) from error

    return guarded


def _by(plain: Callable[[Any, Any], Any], exact: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator: ``exact`` on decimals, else ``plain``; what is not a number is the one NaN."""

    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            return exact(left, right)
        found = plain(left, right)
        return found if found == found else NAN  # noqa: PLR0124 (true of all but NaN)

    return partial(apply)


def _fraction(left: Any, right: Any) -> Any:
    """``left / right``; an int that is too large for a float has no fraction, whatever it is divided by."""
    if type(left) is type(right) is int and not (_is_small(left) and _is_small(right)):
        raise NoValue("an int is too large for a float")
    return left / right


def _is_small(number: int) -> bool:
    return -FLOAT_END < number < FLOAT_END


add = _by(operator.add, EXACT.add)
subtract = _by(operator.sub, EXACT.subtract)
multiply = _by(operator.mul, EXACT.multiply)
divide = _by(_fraction, lambda left, right: QUOTIENT.divide(Decimal(left), Decimal(right)))
floor_divide = _by(operator.floordiv, EXACT.divide_int)
modulo = _by(operator.mod, EXACT.remainder)


def negate(value: Any) -> Any:
    """``-value``."""
    return value.copy_negate() if isinstance(value, Decimal) else -value


def absolute(value: Any) -> Any:
    """``abs(value)``."""
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


def mean(total: Any, count: int) -> Any:
    """The ``count``-th part of a sum that is exact; of nothing it is null."""
    return divide(total, count) if count else None


def equal(left: Any, right: Any) -> bool:
    """Whether two scalars are the same; NaN is the same as itself, as it is in a group, a bag, and Spark's SQL."""
    return bool(left == right or (left != left and right != right))  # noqa: PLR0124 (true of NaN alone)


def unequal(left: Any, right: Any) -> bool:
    """Whether two scalars are not the same."""
    return not equal(left, right)
