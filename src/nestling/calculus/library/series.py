"""How many elements an array has that a scalar makes, and which stands where.

With ``numbers`` they make its rows: ``split(x, p) = for i in numbers(split_size(x, p)) union {split_at(x, p, i)}``.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from nestling.calculus.library.entry import LibraryEntry, entry
from nestling.calculus.library.texts import compiled
from nestling.calculus.standard import add_months

#: Elements of a sequence, at most.
MOST_ELEMENTS = 10_000_000


def sequence_size(start: int, stop: int, step: int) -> int:
    """How many numbers there are from ``start`` to ``stop``, both included, by steps.

    >>> sequence_size(1, 6, 2), sequence_size(3, 1, -1), sequence_size(4, 4, 0)
    (3, 3, 1)
    """
    if start == stop:
        return 1
    if not step or (stop > start) != (step > 0):
        raise ValueError(f"steps of {step} do not lead from {start} to {stop}")
    return _bounded((stop - start) // step + 1)


def months_size(start: datetime, stop: datetime, months: int) -> int:
    """How many moments there are from ``start`` to ``stop``, both included, by so many months.

    >>> months_size(datetime(2024, 1, 31), datetime(2024, 4, 30), 1)
    4
    """
    if start == stop:
        return 1
    if not months or (stop > start) != (months > 0):
        raise ValueError(f"steps of {months} months do not lead from {start} to {stop}")
    steps = ((stop.year - start.year) * 12 + stop.month - start.month) // months
    last = add_months(start, steps * months)
    return _bounded(steps + 1 - ((last > stop) == (months > 0) and last != stop))


def _bounded(size: int) -> int:
    if size > MOST_ELEMENTS:
        raise ValueError(f"a sequence of {size} elements is too long")
    return size


@lru_cache(1024)
def parts(text: str, pattern: str, limit: int) -> tuple[str, ...]:
    """The parts of ``text`` between matches of ``pattern``; the last of ``limit`` is what is left.

    >>> parts("a,b,,c,", ",", -1), parts("a,b,c", ",", 2), parts("abc", "", -1), parts("", ",", 0)
    (('a', 'b', '', 'c', ''), ('a', 'b,c'), ('a', 'b', 'c'), ('',))
    """
    if text and not pattern:
        return tuple(text[:limit] if limit > 0 else text)
    found: list[str] = []
    start = 0
    for match in compiled(pattern).finditer(text):
        if 0 < limit <= len(found) + 1:
            break
        if match.end():  # nothing that is found at the beginning parts nothing
            found.append(text[start : match.start()])
            start = match.end()
    return (*found, text[start:])


def split_size(text: str, pattern: str, limit: int) -> int:
    """How many parts there are."""
    return len(parts(text, pattern, limit))


def split_at(text: str, pattern: str, limit: int, at: int) -> str:
    """The part at a place, from 0; nothing where there is none."""
    found = parts(text, pattern, limit)
    return found[at] if 0 <= at < len(found) else ""


def _exact(place: int) -> str:
    """A number as one that does not overflow."""
    return f"CAST({{{place}}} AS DECIMAL(20, 0))"


_LEADS = "(({2} > 0 AND {0} < {1}) OR ({2} < 0 AND {0} > {1}) OR {0} = {1})"
_FEW = f"abs({_exact(1)} - {_exact(0)}) < {MOST_ELEMENTS} * abs({_exact(2)})"
_MONTHS = "make_ym_interval(0, {2})"
_SPLIT = "split({0}, {1}, {2})"

SERIES: tuple[LibraryEntry, ...] = (
    entry("sequence_size", "int int int", "int", sequence_size,
          f"CASE WHEN {{0}} = {{1}} THEN 1L ELSE ({_exact(1)} - {_exact(0)}) DIV {_exact(2)} + 1L END",
          holds=f"{_LEADS} AND ({{0}} = {{1}} OR {_FEW})"),
    entry("months_size", "datetime datetime int32", "int", months_size,
          f"CASE WHEN {{0}} = {{1}} THEN 1 ELSE size(sequence({{0}}, {{1}}, {_MONTHS})) END", holds=_LEADS),
    entry("split_size", "str str int32", "int", split_size, f"size({_SPLIT})", fixed=(1, 2), partial=True),
    entry("split_at", "str str int32 int32", "str", split_at, f"coalesce(get({_SPLIT}, {{3}}), '')", fixed=(1, 2),
          partial=True),
)  # fmt: skip
