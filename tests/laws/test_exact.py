"""Sums of floats as ints: in any order, and back where they were, they are the float nearest to the exact sum."""

from fractions import Fraction
from math import inf, isinf, isnan, nan
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from nestling.values.exact import float_units, is_finite, mean_float, rounded_float

floats = st.floats() | st.sampled_from([inf, -inf, nan, 1e308, -1e308, 5e-324, 0.1])
counted = st.lists(st.tuples(floats, st.integers(-3, 3)), max_size=8)


def nearest(pairs: list[tuple[float, int]], count: int = 1) -> float:
    """What the law says, by fractions: Σ n·x, divided by ``count``."""
    pairs = [(x, n) for x, n in pairs if n]
    above = any(isinf(x) and (x > 0) == (n > 0) for x, n in pairs)
    below = any(isinf(x) and (x > 0) != (n > 0) for x, n in pairs)
    if any(isnan(x) for x, _ in pairs) or (above and below):
        return nan
    if above or below:
        return inf if above else -inf
    total = sum((Fraction(x) * n for x, n in pairs), Fraction()) / count
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return inf if total > 0 else -inf


def same(left: float, right: float) -> bool:
    return left == right or (isnan(left) and isnan(right))


def summed(pairs: list[tuple[float, int]]) -> int:
    """As maps do: an infinity that came as often as it went is not there."""
    return sum(n * float_units(x) for x, n in pairs)


def once(pairs: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Equal numbers together; all that is no number counts as one."""
    counts: dict[float, int] = {}
    for x, n in pairs:
        key = nan if isnan(x) else x
        key = next((k for k in counts if same(k, key)), key)
        counts[key] = counts.get(key, 0) + n
    return list(counts.items())


@given(counted)
@example([(inf, 1), (-inf, 1)])
@example([(-inf, 2), (1.0, 1)])
@example([(nan, 1), (inf, 1), (nan, -1)])
@example([(1e308, 3)])
def test_a_sum_is_the_nearest_float(pairs):
    """rounded(Σ n·units(x)) is the float nearest to Σ n·x"""
    assert same(rounded_float(summed(pairs)), nearest(once(pairs)))


@given(counted, st.integers(1, 5))
@example([(1e308, 3)], 3)
@example([(-inf, 1)], 2)
def test_a_mean_is_the_nearest_float(pairs, count):
    assert same(mean_float(summed(pairs), count), nearest(once(pairs), count))


@given(counted, st.randoms(use_true_random=False))
def test_what_came_goes_in_any_order(pairs, random: Random):
    units = [n * float_units(x) for x, n in pairs]
    gone = [-u for u in units]
    both = [*units, *gone]
    random.shuffle(both)

    assert sum(both) == 0


@given(counted)
def test_finite_says_whether_all_are(pairs):
    assert is_finite(summed(pairs)) == all(n == 0 or not (isinf(x) or isnan(x)) for x, n in once(pairs))
