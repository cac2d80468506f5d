"""Order keys: between any two there is one more, and they stay short where siblings come at the ends."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.xml.orderkeys import LONGEST, between, child_of, end_of, only, parent_of, spread


@given(st.lists(st.integers(0, 1000), max_size=300))
def test_a_key_lies_strictly_between_its_neighbours(places):
    keys: list[str] = []
    for place in places:
        at = place % (len(keys) + 1)
        low, high = keys[at - 1] if at else None, keys[at] if at < len(keys) else None
        key = between(low, high)
        assert (low is None or low < key) and (high is None or key < high)
        keys.insert(at, key)
    assert keys == sorted(set(keys))


def test_appending_and_prepending_keep_keys_short():
    for at_end in (True, False):
        key: str | None = None
        for _ in range(5_000):
            key = between(key, None) if at_end else between(None, key)
        assert key is not None and len(key) <= 4


@given(st.integers(0, 200), st.integers(0, 5))
def test_spread_keys_are_in_order_and_short(number, depth):
    low, high = "a0", "a1"
    for _ in range(depth):
        high = between(low, high)
    for ends in ((low, high), (None, high), (low, None), (None, None)):
        keys = spread(ends[0], ends[1], number)
        assert len(keys) == number
        whole = [*([ends[0]] if ends[0] else []), *keys, *([ends[1]] if ends[1] else [])]
        assert whole == sorted(set(whole))
        assert all(len(key) <= LONGEST for key in keys)


@given(st.lists(st.sampled_from(("a0", "a1", "Zz", "b00", "a0V")), min_size=1, max_size=5))
def test_a_subtree_is_a_range(parts):
    key = ".".join(parts)
    below, beside = child_of(key, "Zz"), child_of(parent_of(key), between(parts[-1], None))
    assert key < only(key) < below < end_of(key)
    assert not key <= beside < end_of(key)
