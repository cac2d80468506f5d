"""Law: an OrderedMap answers every query as the sorted list of its live entries would.

The oracle is a dictionary and plain loops over its sorted items. Nodes are made tiny in most tests, so that
a handful of keys already gives a tree of several levels that splits, joins and loses its root.
"""

import datetime
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.errors import NoValue
from nestling.storage import ordered
from nestling.storage.ordered import OrderedMap

Entries = list[tuple[Any, tuple[Any, ...]]]

KEYS = {
    "int": st.integers(-8, 20) | st.integers(),
    "str": st.text(max_size=2),
    "float": st.floats(allow_nan=False),
    "Decimal": st.decimals(allow_nan=False),
    "date": st.dates(),
    "tuple": st.tuples(st.integers(0, 4), st.text("ab", max_size=1), st.dates(datetime.date(2024, 1, 1))),
}
COUNTS = st.integers(-2, 2)
# sums of floats that are multiples of 1/4 are exact, so that the oracle may add in another order
SUMS = {
    "int": st.integers(-3, 3) | st.integers(),
    "Decimal": st.integers(-300, 300).map(lambda cents: Decimal(cents) / 100),
    "Fraction": st.fractions(max_denominator=5),
    "float": st.integers(-20, 20).map(lambda quarters: quarters / 4),
}


@contextmanager
def nodes_of(full: int) -> Iterator[None]:
    with patch.multiple(ordered, FULL=full, SPARSE=max(2, full // 4)):
        yield


def apply(script: Entries, width: int) -> tuple[OrderedMap[Any], Entries]:
    """The map after ``script``, checked after every step, and the items it should have."""
    built: OrderedMap[Any] = OrderedMap(sums=width - 1)
    model: dict[Any, tuple[Any, ...]] = {}
    for key, measures in script:
        built.add(key, *measures)
        model[key] = tuple(map(sum, zip(model.get(key, (0,) * width), measures, strict=True)))
        if not any(value for value in model[key] if not isinstance(value, float)):
            del model[key]
        check_tree(built)
        assert len(built) == len(model)
    return built, sorted(model.items())


def check_tree(built: OrderedMap[Any]) -> int:
    """Assert the invariants of the nodes; return how many there are."""
    root = built._root
    assert len(root.kids) != 1
    return check_node(root, [], [], is_root=True)[1]


def check_node(node: Any, low: list[Any], high: list[Any], is_root: bool = False) -> tuple[int, int]:
    """The height of ``node`` and its number of nodes; its keys are in ``(low, high]``, where given."""
    size = len(node.cols[0])
    assert all(len(col) == size for col in node.cols)
    assert (0 if is_root else ordered.SPARSE) <= size <= ordered.FULL
    assert all(left < right for left, right in pairwise(node.keys))
    assert all(low < [key] and (not high or [key] <= high) for key in node.keys)
    if not node.kids:
        assert len(node.keys) == size
        return 0, 1
    assert len(node.kids) == size == len(node.keys) + 1
    below = []
    for i, kid in enumerate(node.kids):
        assert [col[i] for col in node.cols] == [sum(col) for col in kid.cols]
        below.append(check_node(kid, node.keys[:i][-1:] or low, node.keys[i : i + 1] or high))
    assert len({height for height, _ in below}) == 1
    return below[0][0] + 1, 1 + sum(count for _, count in below)


def total(entries: Entries, width: int) -> tuple[Any, ...]:
    return tuple(sum(measures[m] for _, measures in entries) for m in range(width))


@st.composite
def scripts(draw: st.DrawFn) -> tuple[Entries, list[Any], int]:
    """Additions, keys to ask for (some of them added to), and the number of measures."""
    keys = KEYS[draw(st.sampled_from(sorted(KEYS)))]
    columns = [COUNTS, *(SUMS[kind] for kind in draw(st.lists(st.sampled_from(sorted(SUMS)), max_size=2)))]
    script = draw(st.lists(st.tuples(keys, st.tuples(*columns)), max_size=40))
    undone = [(key, tuple(-value for value in measures)) for key, measures in script if draw(st.booleans())]
    asked = [key for key, _ in script[:12]] + draw(st.lists(keys, min_size=1, max_size=4))
    return script + undone, asked, len(columns)


SIZES = st.sampled_from([4, 5, 7, 64])


@given(scripts(), SIZES)
def test_entries_are_those_of_the_dictionary(case, full):
    script, asked, width = case
    with nodes_of(full):
        built, entries = apply(script, width)

    assert list(built.items()) == entries
    assert list(built.items(reverse=True)) == entries[::-1]
    assert list(built) == [key for key, _ in entries]
    assert list(reversed(built)) == [key for key, _ in entries][::-1]
    assert (built.first(), built.last()) == ((entries[0][0], entries[-1][0]) if entries else (None, None))
    for key in asked:
        assert built.get(key) == dict(entries).get(key)
        assert (key in built) == (key in dict(entries))


@given(scripts(), SIZES)
def test_one_sided_ranges(case, full):
    script, asked, width = case
    with nodes_of(full):
        built, entries = apply(script, width)

    assert built.total() == total(entries, width)
    for key in asked:
        below = [entry for entry in entries if entry[0] < key]
        at = [entry for entry in entries if entry[0] == key]
        above = [entry for entry in entries if entry[0] > key]
        assert built.prefix(key) == total(below, width)
        assert built.prefix(key, inclusive=True) == total(below + at, width)
        assert built.suffix(key) == total(above, width)
        assert built.suffix(key, inclusive=True) == total(at + above, width)
        assert built.rank(key) == total(below, width)[0]
        assert list(built.items_from(key)) == at + above
        assert list(built.items_from(key, inclusive=False)) == above
        assert list(built.items_from(key, reverse=True)) == (at + above)[::-1]


@given(scripts(), SIZES, st.booleans(), st.booleans())
def test_between(case, full, low_inclusive, high_inclusive):
    script, asked, width = case
    with nodes_of(full):
        built, entries = apply(script, width)

    for low in asked:
        for high in asked:
            inside = [
                (key, measures)
                for key, measures in entries
                if (low < key or (low_inclusive and low == key))
                and (key < high or (high_inclusive and key == high))
            ]
            assert built.between(low, high, low_inclusive, high_inclusive) == total(inside, width)


NATURAL = {
    "int": st.integers(0, 3) | st.integers(min_value=0),
    "float": st.integers(0, 20).map(lambda quarters: quarters / 4),
}


@st.composite
def stocks(draw: st.DrawFn) -> Entries:
    """Rows of a count > 0 and a sum >= 0, some of them deleted again: no measure is ever below zero."""
    sums = NATURAL[draw(st.sampled_from(sorted(NATURAL)))]
    rows = draw(st.lists(st.tuples(st.integers(0, 30), st.tuples(st.integers(1, 3), sums)), max_size=40))
    deleted = [(key, (-count, -value)) for key, (count, value) in rows if draw(st.booleans())]
    return rows + deleted


@given(stocks(), SIZES, st.integers(-1, 60))
def test_positions(script, full, k):
    with nodes_of(full):
        built, entries = apply(script, width=2)
    positions = [key for key, (count, _) in entries for _ in range(count)]

    assert [built.nth(i) for i in range(len(positions))] == positions
    assert built.nth(len(positions)) is None
    assert built.nth(-1) is None
    assert [key for key, count in built.smallest(k) for _ in range(count)] == positions[: max(k, 0)]
    assert [key for key, count in built.largest(k) for _ in range(count)] == positions[::-1][: max(k, 0)]
    for taken in (built.smallest(k), built.largest(k)):
        assert len({key for key, _ in taken}) == len(taken)


@given(stocks(), SIZES, st.data())
def test_descend_finds_the_least_key_over_the_threshold(script, full, data):
    with nodes_of(full):
        built, entries = apply(script, width=2)
    m = data.draw(st.sampled_from([0, 1]))
    prefixes = list(accumulate(measures[m] for _, measures in entries))
    threshold = data.draw(st.sampled_from([-1, 0, *prefixes]) | st.integers(-2, 400).map(lambda n: n / 8))

    over = [key for (key, _), prefix in zip(entries, prefixes, strict=True) if prefix > threshold]

    assert built.descend(threshold, m) == (over[0] if over else None)


ROWS = st.lists(st.tuples(st.integers(0, 30), st.floats()), max_size=40)


@given(ROWS, st.randoms(use_true_random=False), SIZES)
def test_a_float_residue_goes_with_its_entry(rows, shuffler, full):
    """Whatever the floats, infinities and NaN included, and in whatever order rows are deleted."""
    built: OrderedMap[int] = OrderedMap(sums=1)
    with nodes_of(full):
        for key, value in rows:
            built.add(key, 1, value)
        shuffler.shuffle(rows)
        for key, value in rows:
            built.add(key, -1, -value)

    assert (list(built), len(built), built.total()) == ([], 0, (0, 0))


@given(
    st.dictionaries(st.integers(0, 60), st.floats(-1e3, 1e3), min_size=1, max_size=40),
    st.dictionaries(st.integers(0, 60), st.floats(), max_size=40),
    SIZES,
)
def test_floats_do_not_drift(kept, gone, full):
    """What has been in the map and left, however large, does not show in the sums of what stays."""
    built: OrderedMap[int] = OrderedMap(sums=1)
    gone = {key: value for key, value in gone.items() if key not in kept}
    with nodes_of(full):
        for key, value in (kept | gone).items():
            built.add(key, 1, value)
        for key, value in gone.items():
            built.add(key, -1, -value)

    for key in range(61):
        below = math.fsum(value for other, value in kept.items() if other < key)
        above = math.fsum(value for other, value in kept.items() if other >= key)
        assert built.prefix(key)[1] == pytest.approx(below, abs=1e-9)
        assert built.suffix(key, inclusive=True)[1] == pytest.approx(above, abs=1e-9)
        assert built.between(key, 60)[1] == pytest.approx(above, abs=1e-9)


def test_only_exact_measures_keep_an_entry_alive():
    built: OrderedMap[str] = OrderedMap(sums=1)
    built.add("exact", 0, 5)
    built.add("money", 0, Decimal("0.01"))
    built.add("ratio", 0, Fraction(1, 3))
    assert list(built) == ["exact", "money", "ratio"]

    floating: OrderedMap[str] = OrderedMap(sums=1)
    floating.add("float", 0, 0.5)
    assert len(floating) == 0
    assert floating.total() == (0, 0)

    for value in (0.1, 0.2, -0.3):
        floating.add("residue", 1, value)
    floating.add("residue", -3, 0.0)
    assert floating.get("residue") is None


def test_integers_of_any_size_are_exact():
    built: OrderedMap[int] = OrderedMap(sums=1)
    for key in range(1000):
        built.add(key, 1, 10**40 + key)
        built.add(key, 1, 1)
    assert built.prefix(500) == (1000, 500 * 10**40 + sum(range(500)) + 500)


def test_zero_counts_occupy_no_position():
    built: OrderedMap[int] = OrderedMap(sums=1)
    for key, count in (1, 0), (2, 2), (3, 0), (4, 1):
        built.add(key, count, 7)
    assert built.smallest(9) == [(2, 2), (4, 1)]
    assert built.largest(2) == [(4, 1), (2, 1)]
    assert built.nth(0) == 2


def test_an_empty_map_has_nothing():
    empty: OrderedMap[int] = OrderedMap(sums=1)
    assert (empty.first(), empty.last(), empty.nth(0), empty.descend(-1), empty.get(1)) == (None,) * 5
    assert (empty.total(), empty.prefix(1), empty.suffix(1), empty.between(0, 9)) == ((0, 0),) * 4
    assert (list(empty), list(empty.items_from(0)), empty.smallest(3), empty.largest(3)) == ([],) * 4


def test_equal_keys_are_one_key_and_keep_their_first_form():
    built: OrderedMap[Any] = OrderedMap()
    for key in (Decimal(1), 1, 1.0):
        built.add(key, 1)
    assert [(type(key), measures) for key, measures in built.items()] == [(Decimal, (3,))]


def test_refused_additions_change_nothing():
    built: OrderedMap[Any] = OrderedMap(sums=1)
    for number in range(500):
        built.add(number, 1, number)
    before = list(built.items())

    refused: Entries = [
        *((key, (1, 1)) for key in ("a", None)),
        *((3, measures) for measures in ((1,), (1, 1, 1), (1, "x"))),
    ]
    for key, measures in refused:
        with pytest.raises((TypeError, ValueError)):
            built.add(key, *measures)
    with pytest.raises(NoValue, match="no place in an order"):
        built.add(math.nan, 1, 1)

    assert list(built.items()) == before
    assert check_tree(built)


def test_keys_that_come_or_go_end_an_iteration():
    built: OrderedMap[int] = OrderedMap()
    for key in range(300):
        built.add(key, 1)
    for key in built:
        built.add(key, 1)
    with pytest.raises(RuntimeError, match="changed size"):
        for key in built:
            built.add(key, -2)


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_memory_follows_the_live_keys(order):
    keys = list(range(20_000))
    if order == "descending":
        keys.reverse()
    elif order == "random":
        random.Random(7).shuffle(keys)
    built: OrderedMap[int] = OrderedMap()
    for key in keys:
        built.add(key, 1)
    assert check_tree(built) <= 2 + len(keys) / (ordered.SPARSE - 1)

    for key in keys[100:]:
        built.add(key, -1)
    assert list(built) == sorted(keys[:100])
    assert check_tree(built) <= 2 + 100 / (ordered.SPARSE - 1)


@pytest.mark.parametrize(("full", "keys"), [(4, 500), (64, 8_000)])
def test_a_long_run_of_mixed_work(full, keys):
    """Trees of many levels, and of nodes as large as in use."""
    chance = random.Random(11)
    built: OrderedMap[int] = OrderedMap(sums=1)
    model: dict[int, int] = {}
    with nodes_of(full):
        for step in range(30_000):
            key = chance.randrange(keys)
            if key not in model:
                model[key] = chance.randrange(10**6)
                built.add(key, 1, model[key])
            elif chance.random() < 0.6:
                built.add(key, -1, -model.pop(key))
            if step % 500 == 0:
                check_tree(built)
                compare(built, sorted(model.items()), key)


def compare(built: OrderedMap[int], entries: list[tuple[int, int]], key: int) -> None:
    below = [value for other, value in entries if other < key]
    above = [value for other, value in entries if other > key]
    inside = [value for other, value in entries if key // 2 <= other <= key]
    assert list(built.items()) == [(other, (1, value)) for other, value in entries]
    assert built.prefix(key) == (len(below), sum(below))
    assert built.suffix(key) == (len(above), sum(above))
    assert built.between(key // 2, key) == (len(inside), sum(inside))
    assert built.nth(len(entries) // 2) == entries[len(entries) // 2][0]
    assert built.smallest(3) == [(other, 1) for other, _ in entries[:3]]


@given(st.lists(st.tuples(KEYS["int"], st.integers(0, 4)), max_size=40), SIZES, st.data())
def test_flip_is_where_a_monotone_test_turns(pairs, full, data):
    """flip(holds) = what holds before the first key, and the least key whose sum says otherwise"""
    with nodes_of(full):
        built: OrderedMap[int] = OrderedMap(sums=1)
        for key, value in pairs:
            built.add(key, 1, value)
        entries = list(built.items())
        threshold, above, rising = (
            data.draw(st.integers(-1, 60)),
            data.draw(st.booleans()),
            data.draw(st.booleans()),
        )

        def holds(amount: int) -> bool:
            return (amount > threshold) is rising

        start, turn = built.flip(holds, 1, above)
        whole = sum(measures[1] for _, measures in entries)
        sums = [whole - s if above else s for s in accumulate(m[1] for _, m in entries)]
        otherwise = [key for (key, _), amount in zip(entries, sums, strict=True) if holds(amount) != start]

        assert start is holds(whole if above else 0)
        assert turn == (otherwise[0] if otherwise else None)


@given(scripts(), SIZES)
def test_a_measure_below_zero_is_remembered(case, full):
    script, _, width = case
    with nodes_of(full):
        built: OrderedMap[Any] = OrderedMap(sums=width - 1)
        negative = False
        for key, measures in script:
            built.add(key, *measures)
            negative |= any(measure < 0 for measure in built.get(key) or ())

            assert built.was_negative or not negative
