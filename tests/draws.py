"""The same random values every time: for tests that count, and for those that must not be lucky."""

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")


def draws(strategy: st.SearchStrategy[T], count: int, number: int = 0) -> list[T]:
    """``count`` values of ``strategy``, always the same for one ``number``."""
    found: list[T] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found
