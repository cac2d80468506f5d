"""Law 16: payloads are rings and modules, digests are linear, and aggregates follow from both."""

import math
import statistics
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.aggregates import AGGREGATES, OF_FLOATS
from nestling.values.bag import EMPTY, ZBag
from nestling.values.digest import PRIME, digest, digest_of
from nestling.values.payload import Counted, Moments, sum_payloads
from tests.strategies import bags, types

INTEGERS = st.integers(-50, 50)
MOMENTS = [Moments(0), Moments(1), Moments(2)]
NUMBERS = st.integers(-2, 2) | st.sampled_from([0.5, -1.0, Decimal("0.1"), Decimal("0.50"), Decimal(2)])


@pytest.mark.parametrize("ring", MOMENTS, ids=str)
@given(data=st.data())
def test_moments_are_a_commutative_ring(ring, data):
    """(K, +, ·) is a commutative ring with 0 and 1"""
    a, b, c = (data.draw(st.tuples(*[INTEGERS] * (ring.degree + 1))) for _ in range(3))
    add, multiply = ring.add, ring.multiply

    assert add(a, b) == add(b, a)
    assert add(add(a, b), c) == add(a, add(b, c))
    assert add(a, ring.zero) == a
    assert add(a, ring.scale(a, -1)) == ring.zero
    assert multiply(a, b) == multiply(b, a)
    assert multiply(multiply(a, b), c) == multiply(a, multiply(b, c))
    assert multiply(a, ring.one) == a
    assert multiply(a, add(b, c)) == add(multiply(a, b), multiply(a, c))


def lifts_addition(ring: Moments, x: int, y: int, m: int, n: int) -> None:
    assert ring.multiply(ring.lift(x, m), ring.lift(y, n)) == ring.lift(x + y, m * n)
    assert ring.lift(0) == ring.one


@pytest.mark.parametrize("ring", MOMENTS, ids=str)
@given(x=INTEGERS, y=INTEGERS, m=INTEGERS, n=INTEGERS)
def test_lift_turns_addition_into_product(ring, x, y, m, n):
    """m·lift(x) · n·lift(y) = mn·lift(x + y)  and  lift(0) = 1"""
    lifts_addition(ring, x, y, m, n)


@pytest.mark.parametrize("module", [*MOMENTS, Counted()], ids=str)
@given(data=st.data())
def test_payloads_are_a_module(module, data):
    """+ is a commutative group and n·p its integer multiple; lift(x, m) = m·lift(x)"""
    a, b, c = (data.draw(payloads(module)) for _ in range(3))
    x, m, n = data.draw(INTEGERS), data.draw(INTEGERS), data.draw(INTEGERS)
    add, scale = module.add, module.scale

    assert add(a, b) == add(b, a)
    assert add(add(a, b), c) == add(a, add(b, c))
    assert add(a, module.zero) == a
    assert add(a, scale(a, -1)) == module.zero
    assert scale(add(a, b), n) == add(scale(a, n), scale(b, n))
    assert scale(a, m + n) == add(scale(a, m), scale(a, n))
    assert scale(scale(a, m), n) == scale(a, m * n)
    assert scale(a, 1) == a
    assert module.lift(x, m) == scale(module.lift(x), m)


def payloads(module):
    lifted = st.builds(module.lift, st.integers(-3, 3), st.sampled_from([-2, -1, 1, 2]))
    return st.lists(lifted, max_size=4).map(lambda some: sum_payloads(module, some))


@given(types(), st.data(), INTEGERS)
def test_digest_is_linear(type_, data, n):
    """digest(a ⊎ b) = digest(a) + digest(b)  and  digest(n·a) = n·digest(a)  mod p"""
    a, b = data.draw(bags(type_, signed=True)), data.draw(bags(type_, signed=True))

    assert digest(a + b) == (digest(a) + digest(b)) % PRIME
    assert digest(a * n) == digest(a) * n % PRIME
    assert digest(EMPTY) == 0


@given(types(), st.data())
def test_digest_tells_bags_apart(type_, data):
    """digest(a) = digest(b)  ⟺  a = b, up to chance"""
    a, b = data.draw(bags(type_, signed=True)), data.draw(bags(type_, signed=True))

    assert (digest(a) == digest(b)) == (a == b)


@given(NUMBERS, NUMBERS)
def test_equal_numbers_have_equal_digests(x, y):
    """x = y  ⟺  digest_of(x) = digest_of(y), whatever their types"""
    assert (digest_of(x) == digest_of(y)) == (x == y)


NOON = datetime(2024, 5, 1, 12)
SAME = [
    (1, 1.0, Decimal(1), True),
    (0, 0.0, -0.0, Decimal("0.00"), False),
    (math.inf, Decimal("Infinity")),
    (NOON, NOON.replace(fold=1)),
    (NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=2)))),
]


@pytest.mark.parametrize("same", SAME, ids=["one", "zero", "infinity", "fold", "zones"])
def test_values_written_differently(same):
    """x = y  ⟹  digest_of(x) = digest_of(y), alone and inside records and bags"""
    assert len({*same}) == 1
    assert len({digest_of(x) for x in same}) == 1
    assert len({digest(ZBag.of((x, ZBag.of(x)))) for x in same}) == 1


#: Each aggregate on a list of values, by definition. Of no values it is ``None`` but for the first three.
DIRECT: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "count_distinct": lambda values: len(set(values)),
    "avg": lambda values: sum(values) / len(values),
    "var": lambda values: float(statistics.pvariance(map(Fraction, values))),
    "stdev": lambda values: float(statistics.pvariance(map(Fraction, values))) ** 0.5,
    "min": min,
    "max": max,
    "mode": lambda values: min(values, key=lambda value: (-values.count(value), value)),
}
# Few numbers that are not large: each of these has a value.
DIRECT |= {f"no_{name}": lambda values: False for name in ("avg", "var", "stdev")}
DIRECT |= {f"some_{name}": DIRECT[name] for name in ("avg", "var", "stdev")}
OF_NOTHING = {"count": 0, "sum": 0, "count_distinct": 0, "no_avg": False, "no_var": False, "no_stdev": False}


def direct(name: str, values: list[Any]) -> Any:
    return DIRECT[name](values) if values else OF_NOTHING.get(name)


#: Of values of their own kinds.
INTS = {"bit_and": and_, "bit_or": or_, "bit_xor": xor}
RECORDS = {"percentile", "percentile_disc", "string_agg"}


@pytest.mark.parametrize("name", INTS)
@given(kept=st.lists(st.integers(-9, 9)), gone=st.lists(st.integers(-9, 9)))
def test_bits_of_the_values_that_are_left(name, kept, gone):
    bag = ZBag.of(*kept, *gone) + ZBag.of(*gone) * -1
    assert AGGREGATES[name].of(bag) == (reduce(INTS[name], kept) if kept else None)


@given(
    kept=st.lists(st.floats(-9, 9)),
    gone=st.lists(st.floats(-9, 9)),
    share=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_percentiles_of_the_values_that_are_left(kept, gone, share):
    bag = ZBag.of(*((v, share) for v in (*kept, *gone))) + ZBag.of(*((v, share) for v in gone)) * -1
    found, step = AGGREGATES["percentile"].of(bag), AGGREGATES["percentile_disc"].of(bag)
    if not kept:
        assert found is None
        assert step is None
    else:
        low, high = min(kept), max(kept)
        ends = {0.0: low, 1.0: high, 0.5: statistics.median(kept)}
        assert math.isclose(found, ends.get(share, found), abs_tol=1e-12)
        assert low <= step <= high
        assert sum(value <= step for value in kept) >= share * len(kept)


@given(kept=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.text(), st.just("-"))))
def test_texts_are_joined_in_the_order_of_their_keys(kept):
    found = AGGREGATES["string_agg"].of(ZBag.of(*kept))
    assert found == ("-".join(text for _, _, text, _ in sorted(kept)) if kept else None)


@pytest.mark.parametrize("name", [name for name in AGGREGATES if name not in {*INTS, *RECORDS}])
@given(
    kept=st.lists(st.integers(-5, 5)) | st.lists(st.sampled_from([Decimal("0.1"), Decimal("-2.50")])),
    data=st.data(),
)
def test_aggregate_from_payloads(name, kept, data):
    """read(Σ m·lift(v)) = the aggregate of the values that are left"""
    aggregate = AGGREGATES[name]
    gone = data.draw(st.lists(st.integers(-5, 5)))
    inserted = [aggregate.module.lift(value) for value in data.draw(st.permutations([*kept, *gone]))]
    deleted = [aggregate.module.lift(value, -1) for value in gone]
    payload = sum_payloads(aggregate.module, [*inserted, *deleted])

    assert aggregate.read(payload) == direct(name, kept)
    assert aggregate.of(ZBag.of(*kept)) == direct(name, kept)


@pytest.mark.parametrize("name", ["var", "stdev", "float_var", "float_stdev"])
@given(pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(-3, 3))))
def test_a_spread_is_a_number_whatever_is_counted(name, pairs):
    """No element need be there a positive number of times"""
    aggregate = (AGGREGATES | OF_FLOATS)[name]
    of = float if name in OF_FLOATS else int

    spread = aggregate.of(ZBag([(of(value), times) for value, times in pairs]))

    assert spread is None if not sum(times for _, times in pairs) else spread >= 0.0


def test_every_aggregate_is_tested():
    assert {*DIRECT, *INTS, *RECORDS} == AGGREGATES.keys()
