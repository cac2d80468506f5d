"""How often a row comes: what may be given as a multiplicity, and how many copies a list may hold.

A multiplicity is an int of at most 64 bits, the same on every engine. NumPy's ints are taken as ints; a bool is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from sys import maxsize
from typing import Any

from nestling.errors import ChangeError, NestlingError, shown

#: The largest multiplicity that may be given: what Spark's counts hold.
LARGEST = (1 << 63) - 1
#: More copies than this are not written out one by one.
MOST_COPIES = 10**8


def multiplicity(times: object) -> int:
    """``times`` as a multiplicity.

    >>> multiplicity(-2)
    -2
    """
    if type(times) is not int:
        times = _whole(times)
    if -LARGEST <= times <= LARGEST:
        return times
    raise ChangeError("a row cannot come or go so many times", hint=f"at most {LARGEST} times in one change")


def _whole(times: object) -> int:
    """What counts as an int without being one; a bool does, and is refused."""
    if not isinstance(times, bool):
        try:
            return index(times)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise ChangeError(
        f"a row comes a whole number of times, not {shown(times)}",
        hint="a Z-bag maps each row to an int: {row: +1} inserts it, {row: -1} deletes it",
    )


def length(counts: Iterable[int], what: str) -> int:
    """How many values there are, counted one by one; Python's ``len`` has an end."""
    total = sum(counts)
    if total > maxsize:
        raise NestlingError(f"{what} holds {total} values, more than len can say", hint="read it with bag()")
    return total


def copies(pairs: Iterable[tuple[Any, int]], what: str = "the bag") -> list[Any]:
    """Each value as often as it occurs; refused where that is more than can be written out.

    >>> copies([("a", 2), ("b", 1)])
    ['a', 'a', 'b']
    """
    found = list(pairs)
    if sum([times for _, times in found]) > MOST_COPIES:
        raise NestlingError(
            f"{what} holds more than {MOST_COPIES} values, counted one by one",
            hint="read it as a Z-bag, with bag(): each value once, with its count",
        )
    return [value for value, times in found for _ in range(times)]
