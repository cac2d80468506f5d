"""Z-bags: finitely supported functions from values to the integers.

A bag, a change to a bag and a delta of a change are all this one type: insertion has positive
multiplicity, deletion negative, and an update is a sum. Elements are hashable values: scalars,
records (tuples), labels, and bags themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Value: TypeAlias = Hashable
Pairs: TypeAlias = Iterable[tuple[Any, int]]


class ZBag:
    """An immutable bag; multiplicities are non-zero integers, absent elements have zero.

    Law: ``(ZBag, +, EMPTY)`` is a commutative group with inverse ``-``, and ``n * b`` its integer multiple.

    >>> ZBag.of("a", "a", "b") - ZBag.of("b", "c")
    {'a': 2, 'c': -1}
    """

    __slots__ = ("_counts", "_hash")

    def __init__(self, counts: Mapping[Any, int] | Pairs = ()) -> None:
        totals: dict[Any, int] = {}
        for value, times in counts.items() if hasattr(counts, "items") else counts:
            totals[value] = totals.get(value, 0) + times
        self._counts = {value: times for value, times in totals.items() if times}
        self._hash: int | None = None

    @classmethod
    def of(cls, *values: Any) -> ZBag:
        """The bag of ``values``, each occurrence counted once."""
        return cls((value, 1) for value in values)

    @classmethod
    def counted(cls, counts: dict[Any, int]) -> ZBag:
        """The bag of ``counts``, none of which is zero; the dict is the bag's from now on."""
        bag = cls.__new__(cls)
        bag._counts, bag._hash = counts, None
        return bag

    def __getitem__(self, value: Any) -> int:
        return self._counts.get(value, 0)

    def __contains__(self, value: Any) -> bool:
        return value in self._counts

    def __iter__(self) -> Iterator[Any]:
        return iter(self._counts)

    def __len__(self) -> int:
        """The number of distinct elements; see ``size`` for occurrences."""
        return len(self._counts)

    def items(self) -> Iterable[tuple[Any, int]]:
        return self._counts.items()

    @property
    def size(self) -> int:
        """``|X| = Σ |multiplicity|``."""
        return sum(abs(times) for times in self._counts.values())

    @property
    def total(self) -> int:
        """``Σ multiplicity``: what ``count`` counts."""
        return sum(self._counts.values())

    def __add__(self, other: ZBag) -> ZBag:
        if not other._counts:
            return self
        if not self._counts:
            return other
        counts = dict(self._counts)
        for value, times in other._counts.items():
            total = counts.get(value, 0) + times
            if total:
                counts[value] = total
            else:
                del counts[value]
        return ZBag.counted(counts)

    def __neg__(self) -> ZBag:
        return ZBag.counted({value: -times for value, times in self._counts.items()})

    def __sub__(self, other: ZBag) -> ZBag:
        return self + -other

    def __mul__(self, factor: int) -> ZBag:
        if factor == 0:
            return EMPTY
        return ZBag.counted({value: times * factor for value, times in self._counts.items()})

    __rmul__ = __mul__

    def map(self, function: Callable[[Any], Any]) -> ZBag:
        """The image under ``function``; elements that meet add up."""
        return ZBag((function(value), times) for value, times in self._counts.items())

    def positive(self) -> ZBag:
        """Griffin and Libkin's △: what a change inserts."""
        return ZBag.counted({value: times for value, times in self._counts.items() if times > 0})

    def negative(self) -> ZBag:
        """Griffin and Libkin's ∇, as a bag of positive multiplicities: what a change deletes."""
        return ZBag.counted({value: -times for value, times in self._counts.items() if times < 0})

    def is_nonnegative(self) -> bool:
        return all(times > 0 for times in self._counts.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZBag) and self._counts == other._counts

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._counts.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __repr__(self) -> str:
        return repr(self._counts)


EMPTY = ZBag()


def add_all(bags: Iterable[ZBag]) -> ZBag:
    """``⊎`` of many bags in one pass."""
    return ZBag(pair for bag in bags for pair in bag.items())
