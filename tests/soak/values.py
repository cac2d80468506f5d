"""Values that compare equal however they are held: bags without order, NaN equal to itself, numbers by value."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

Frozen = Any


class Bag(frozenset[tuple[Any, int]]):
    """The elements of a bag with how often they occur."""


def frozen(value: Any) -> Frozen:
    """``value`` as something hashable: a bag says how often it has each element, NaN is a word."""
    if isinstance(value, float):
        return "NaN" if isnan(value) else value + 0.0
    if isinstance(value, tuple):
        return tuple(map(frozen, value))
    if isinstance(value, Mapping):
        return tuple(map(frozen, value.values()))
    if isinstance(value, list | set | frozenset):
        return Bag(Counter(map(frozen, value)).items())
    return value


def rounded(value: Frozen) -> Frozen:
    """A frozen value with floats cut to twelve digits, for an oracle that adds in an order of its own."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, tuple):
        return tuple(map(rounded, value))
    if isinstance(value, Bag):
        whole: Counter[Frozen] = Counter()
        for element, times in value:
            whole[rounded(element)] += times
        return Bag(whole.items())
    return value


def counted(rows: Iterable[Any]) -> Counter[Frozen]:
    """Rows as a bag."""
    return Counter(map(frozen, rows))


def difference(found: Counter[Frozen], wanted: Counter[Frozen]) -> str:
    """What is there and should not be, and what should be there and is not."""
    return f"too many {dict(found - wanted)!r}, missing {dict(wanted - found)!r}"
