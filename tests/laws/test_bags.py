"""Bags are a commutative group, and everything that is done to them respects it."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.calculus.countwise import OPERATORS, apply_countwise
from nestling.values.bag import EMPTY, ZBag, add_all
from nestling.values.digest import digest_of
from tests.strategies import bags, types

integers = st.integers(-3, 3)
signed = types(2).flatmap(lambda type_: st.tuples(*[bags(type_, signed=True)] * 3))


@given(signed)
def test_commutative_group(some):
    """a + b = b + a, (a + b) + c = a + (b + c), a + ∅ = a, a − a = ∅"""
    a, b, c = some

    assert a + b == b + a
    assert (a + b) + c == a + (b + c) == add_all(some)
    assert a + EMPTY == a
    assert a - a == EMPTY
    assert a + (b - a) == b


@given(signed, integers, integers)
def test_integer_multiples(some, m, n):
    """(m + n)·a = m·a + n·a, m·(a + b) = m·a + m·b, m·(n·a) = mn·a, 1·a = a"""
    a, b, _ = some

    assert (m + n) * a == m * a + n * a
    assert m * (a + b) == m * a + m * b
    assert m * (n * a) == (m * n) * a
    assert 1 * a == a
    assert -1 * a == -a


@given(signed)
def test_a_bag_is_what_it_inserts_less_what_it_deletes(some):
    """a = △a − ∇a, both non-negative and without a common element"""
    a, _, _ = some

    assert a.positive() - a.negative() == a
    assert a.positive().is_nonnegative()
    assert a.negative().is_nonnegative()
    assert not {*a.positive()} & {*a.negative()}
    assert a.size == a.positive().total + a.negative().total
    assert a.total == a.positive().total - a.negative().total


@given(signed)
def test_an_image_is_linear(some):
    """f(a + b) = f(a) + f(b)"""
    a, b, _ = some
    for f in (digest_of, lambda value: 0):
        assert (a + b).map(f) == a.map(f) + b.map(f)


@given(signed)
def test_equal_bags_are_one_key(some):
    """a = b  ⟹  hash(a) = hash(b), however they were made; adding changes neither"""
    a, b, _ = some
    before = dict(a.items())
    roundabout = (a + b) - b

    assert roundabout == a
    assert hash(roundabout) == hash(a)
    assert dict(a.items()) == before
    assert ZBag(reversed(list(a.items()))) == a


@given(signed, st.sampled_from(sorted(OPERATORS)))
def test_countwise_operators_look_at_one_element_at_a_time(some, name):
    """f(a, …)(v) = f(a(v), …), and f(0, …) = 0"""
    args = list(some[: OPERATORS[name].arity or 3])
    result = apply_countwise(name, args)

    assert all(result[v] == OPERATORS[name].apply(*(bag[v] for bag in args)) for bag in args for v in bag)
    assert {*result} <= {v for bag in args for v in bag}
    assert OPERATORS[name].apply(*(0 for _ in args)) == 0
