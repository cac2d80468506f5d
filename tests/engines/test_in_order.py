"""An index in order answers as a plain dictionary that is gone through."""

from collections import defaultdict
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from nestling.engine.local.inorder import InOrder

keys = st.integers(-1, 3)
scripts = st.lists(st.tuples(st.sampled_from(["set", "ask", "delete", "update", "clear"]), keys))


@given(scripts, keys, keys, st.booleans())
@example([("set", 1), ("set", 2), ("delete", 1)], 0, 2, True)
def test_between_is_a_scan(script, low, high, upper_included):
    index, plain = InOrder(), defaultdict[int, Any](dict)
    for number, (step, key) in enumerate(script):
        for each in (index, plain):
            match step:
                case "set":
                    each[key] = number
                case "ask":
                    assert each[key] is each[key]
                case "delete":
                    if key in each:
                        del each[key]
                case "update":
                    each.update({key: number, key + 1: number})
                case "clear":
                    each.clear()
    within = (lambda k: low < k <= high) if upper_included else (lambda k: low <= k < high)

    assert dict(index) == plain
    assert index.between(low, high, upper_included) == sorted(filter(within, plain))
