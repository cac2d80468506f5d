"""The same random values every time: for tests that count, and for those that must not be lucky."""

from collections.abc import Iterator
from itertools import count as numbers
from itertools import islice
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

#: Hypothesis draws this many values afresh, and from then on mostly varies what it has.
AFRESH = 10


def draws(strategy: st.SearchStrategy[T], count: int, number: int = 0) -> list[T]:
    """``count`` values of ``strategy``, always the same for one ``number``."""
    return list(islice(stream(strategy, number), count))


def stream(strategy: st.SearchStrategy[T], number: int = 0) -> Iterator[T]:
    """Values of ``strategy`` without end, drawn as they are asked for."""
    for run in numbers():
        yield from _afresh(strategy, hash((number, run)))


def _afresh(strategy: st.SearchStrategy[T], number: int) -> list[T]:
    found: list[T] = []

    @seed(number)
    @settings(
        max_examples=AFRESH + 1,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found[1:]  # the first is the simplest value there is
