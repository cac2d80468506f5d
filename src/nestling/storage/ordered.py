"""Ordered maps with running sums: the store for inequality joins, min, max and top-k.

A B+-tree. Beside its keys, a node keeps one list per measure: the values of its entries in a leaf, the sums
of its kids above. Search is ``bisect`` and a running sum ``sum`` of a slice, so all work within a node is C.
Its time being 1, for a third each of inserts, deletes and prefixes at 1k ... 1M keys: blocks of 256 or 512
under a Fenwick tree take 0.9-1.3, a Fenwick tree with pending new keys 3 ... 47 (but 0.6 when only read).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from sys import getsizeof
from typing import Any, Generic, TypeAlias, TypeVar

from nestling.errors import NoValue

K = TypeVar("K", bound=Any)  # int, str, float, Decimal, date, tuples of them: any total order, so no NaN
Measures: TypeAlias = tuple[Any, ...]  # Any: int, float, Decimal and Fraction share no type that adds
Item: TypeAlias = tuple[K, Measures]
FULL, SPARSE = 64, 16  # entries of a leaf, kids of a node: fewer cost levels, more cost longer slices


class OrderedMap(Generic[K]):
    """A map from ordered keys to measures: an integer count (measure 0), then ``sums`` sums (1, 2, ...).

    Law: the measures of a key are the sums of what was added to it, and queries answer as the sorted list of
    live entries would. An entry lives while its count, or another measure that is not a float, is not zero:
    rounding leaves residues in floats. A residue goes with its entry and stays in no later sum. Integers are
    exact, and programs have their sums of floats as such; a measure has one type of number besides int. One key or
    bound takes O(log n) time; memory is O(n).

    >>> book: OrderedMap[int] = OrderedMap(sums=1)
    >>> for price, volume in (101, 5), (99, 20), (101, 7):
    ...     book.add(price, 1, volume)
    >>> list(book.items()), book.prefix(101), book.descend(20)
    ([(99, (1, 20)), (101, (2, 12))], (1, 20), 101)
    """

    def __init__(self, sums: int = 0) -> None:
        self._size = 0
        #: Whether some measure of an entry was ever below zero.
        self.was_negative = False
        self._root: _Node[K] = _Node([], [[] for _ in range(1 + sums)], [])

    def add(self, key: K, *measures: Any) -> None:
        """Add ``measures`` to those of ``key``; adding their negatives undoes it."""
        if len(measures) != len(self._root.cols):
            raise ValueError(f"expected {len(self._root.cols)} measures, got {len(measures)}")
        if born := self._root.add(key, measures):
            self._size += born
            self._root = self._root.as_root()
        if not self.was_negative and min(measures) < 0:
            self.was_negative = any(measure < 0 for measure in self.get(key) or ())

    def get(self, key: K) -> Measures | None:
        """The measures of ``key``, or None if it is not live."""
        node = self._root
        while node.kids:
            node = node.kids[bisect_left(node.keys, key)]
        i = bisect_left(node.keys, key)
        return tuple([col[i] for col in node.cols]) if key in node.keys[i : i + 1] else None

    def __sizeof__(self) -> int:
        """Its nodes; keys and measures are not its own."""
        size, stack = object.__sizeof__(self) + getsizeof(vars(self)), [self._root]
        while stack:
            node = stack.pop()
            stack += node.kids
            size += getsizeof(node) + sum(map(getsizeof, (node.keys, node.kids, node.cols, *node.cols)))
        return size

    def __contains__(self, key: K) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self.items())

    def __reversed__(self) -> Iterator[K]:
        return (key for key, _ in self.items(reverse=True))

    def items(self, *, reverse: bool = False) -> Iterator[Item[K]]:
        """The live keys and their measures, in key order or its reverse."""
        return self.items_from(None, reverse=reverse)

    def items_from(self, low: K | None, inclusive: bool = True, reverse: bool = False) -> Iterator[Item[K]]:
        """The items with key >= ``low`` (> unless ``inclusive``; None: all), in key order or its reverse."""
        cut, step = bisect_left if inclusive else bisect_right, -1 if reverse else 1
        size, stack = self._size, [self._root]
        while stack:
            node = stack.pop()
            i = 0 if low is None else cut(node.keys, low)
            stack += node.kids[i:][::-step]
            if not node.kids:
                keys, *cols = [column[i:][::step] for column in (node.keys, *node.cols)]
                yield from zip(keys, zip(*cols, strict=True), strict=True)
            if self._size != size:
                raise RuntimeError("OrderedMap changed size during iteration")

    def total(self) -> Measures:
        """The measures summed over all keys; a sum over no keys is the int 0, here and below."""
        return tuple([sum(col) for col in self._root.cols])

    def prefix(self, key: K, inclusive: bool = False) -> Measures:
        """The measures summed over keys < ``key`` (<= if ``inclusive``)."""
        return tuple(self._root.beside(key, inclusive, above=False))

    def suffix(self, key: K, inclusive: bool = False) -> Measures:
        """The measures summed over keys > ``key`` (>= if ``inclusive``)."""
        return tuple(self._root.beside(key, inclusive, above=True))

    def between(self, low: K, high: K, low_inclusive: bool = True, high_inclusive: bool = True) -> Measures:
        """The measures summed over keys from ``low`` to ``high``, both included unless told."""
        node = self._root  # no difference of prefixes: it would lose small floats beside large ones
        while True:
            i = (bisect_left if low_inclusive else bisect_right)(node.keys, low)
            j = (bisect_right if high_inclusive else bisect_left)(node.keys, high)
            if not node.kids:
                return tuple([sum(col[i:j]) for col in node.cols])
            if i < j:
                left = node.kids[i].beside(low, low_inclusive, above=True)
                right = node.kids[j].beside(high, high_inclusive, above=False)
                return tuple([sum(col[i + 1 : j], left[m] + right[m]) for m, col in enumerate(node.cols)])
            node = node.kids[i]

    def first(self) -> K | None:
        """The least live key, or None."""
        return self._root.edge(0)

    def last(self) -> K | None:
        """The greatest live key, or None."""
        return self._root.edge(-1)

    def rank(self, key: K) -> int:
        """The number of positions before ``key``; a key of count 3 occupies 3 positions."""
        return int(self.prefix(key)[0])

    def nth(self, position: int) -> K | None:
        """The key at ``position``, from 0, or None. Counts must be >= 0."""
        return self.descend(position, 0) if position >= 0 else None

    def smallest(self, k: int) -> list[tuple[K, int]]:
        """The first ``k`` positions as (key, count), the last count cut to fit."""
        return list(_take(self.items(), k))

    def largest(self, k: int) -> list[tuple[K, int]]:
        """The last ``k`` positions likewise, the greatest key first."""
        return list(_take(self.items(reverse=True), k))

    def descend(self, threshold: Any, measure: int = 1) -> K | None:
        """The least key with ``prefix(key, inclusive=True)[measure] > threshold``, or None.

        That measure must be >= 0 in every entry: only then do prefix sums ascend with the key. For floats, a
        threshold within rounding of a prefix sum may fall to either side of it.
        """
        node, before = self._root, 0
        if not self._size or not sum(node.cols[measure]) > threshold:
            return None
        while True:
            col, i, last = node.cols[measure], 0, len(node.cols[measure]) - 1
            # the last needs no test: some kid is over the threshold, whatever rounding says here
            while i < last and before + col[i] <= threshold:
                before += col[i]
                i += 1
            if not node.kids:
                return node.keys[i]
            node = node.kids[i]

    def flip(self, holds: Callable[[Any], bool], measure: int, above: bool) -> tuple[bool, K | None]:
        """Where ``holds``, monotone, turns as one goes through the sums from before the first key on.

        The sums are those of ``measure`` up to and with each key, or ``above`` it. Returns whether it holds before the
        first key, and the first key from which on it is otherwise, or None. That measure must be >= 0 in every entry.
        """
        node, before, total = self._root, 0, sum(self._root.cols[measure])
        start = holds(total if above else 0)
        if holds(0 if above else total) == start:
            return start, None
        while True:
            sums = list(accumulate(node.cols[measure], initial=before))
            low, high = 0, len(sums) - 2
            while low < high:
                middle = (low + high) // 2
                if holds(total - sums[middle + 1] if above else sums[middle + 1]) == start:
                    low = middle + 1
                else:
                    high = middle
            if not node.kids:
                return start, node.keys[low]
            node, before = node.kids[low], sums[low]


class _Node(Generic[K]):
    """A leaf, without ``kids``, or an inner node, with one key between each two ``kids``.

    ``kids[i]`` holds the keys k with ``keys[i - 1] < k <= keys[i]``. ``cols[m][i]`` is measure m of
    ``keys[i]`` in a leaf and of ``kids[i]``, summed, in an inner node.
    """

    __slots__ = ("cols", "keys", "kids")

    def __init__(self, keys: list[K], cols: list[list[Any]], kids: list[_Node[K]]) -> None:
        self.keys, self.cols, self.kids = keys, cols, kids

    def add(self, key: K, measures: Measures) -> int:
        """Add to the entry of ``key``: 1 if that began it, -1 if that ended it, else 0."""
        i = bisect_left(self.keys, key)
        if not self.kids:
            return self._add_here(i, key, measures)
        kid = self.kids[i]
        born = kid.add(key, measures)  # before the sums: if the key does not compare, they stay right
        for m, sums in enumerate(self.cols):
            total = sums[i] + measures[m]
            # floats are summed afresh: no drift, and an infinity leaves with its entry
            sums[i] = sum(kid.cols[m]) if isinstance(total, float) else total
        if born and not SPARSE <= len(kid.cols[0]) <= FULL:
            self._mend(i)
        return born

    def _add_here(self, i: int, key: K, measures: Measures) -> int:
        found = i < len(self.keys) and self.keys[i] == key
        values = [col[i] + measures[m] for m, col in enumerate(self.cols)] if found else measures
        lives = bool(values[0]) or any(value and not isinstance(value, float) for value in values)
        if found and lives:
            for m, col in enumerate(self.cols):
                col[i] = values[m]
        elif lives:
            if key != key:  # noqa: PLR0124 (true of NaN, which would break the order unnoticed)
                raise NoValue(f"{key!r} has no place in an order")
            self.keys.insert(i, key)
            for m, col in enumerate(self.cols):
                col.insert(i, values[m])
        elif found:
            for column in (self.keys, *self.cols):
                del column[i]
        return lives - found

    def beside(self, key: K, inclusive: bool, *, above: bool) -> list[Any]:
        cut, node, sums = bisect_left if inclusive == above else bisect_right, self, [0] * len(self.cols)
        while True:
            i = cut(node.keys, key)
            for m, col in enumerate(node.cols):
                sums[m] += sum(col[i + bool(node.kids) :] if above else col[:i])
            if not node.kids:
                return sums
            node = node.kids[i]

    def edge(self, at: int) -> K | None:
        return self.kids[at].edge(at) if self.kids else self.keys[at] if self.keys else None

    def as_root(self) -> _Node[K]:
        """The root for what this one holds: not over full, nor with a lone kid."""
        if len(self.cols[0]) > FULL:
            return _Node([], [[0] for _ in self.cols], [self])._mend(0)
        return self.kids[0] if len(self.kids) == 1 else self

    def _mend(self, i: int) -> _Node[K]:
        """Join ``kids[i]`` to a neighbour if it is sparse, and halve it if it is over full."""
        if len(self.kids[i].cols[0]) < SPARSE:
            i = min(i, len(self.kids) - 2)
            left, right, key = self.kids[i], self.kids.pop(i + 1), self.keys.pop(i)
            left.keys += [key, *right.keys] if left.kids else right.keys
            left.kids += right.kids
            for m, sums in enumerate(self.cols):
                left.cols[m] += right.cols[m]
                sums[i : i + 2] = [sum(left.cols[m])]
        left = self.kids[i]
        if len(left.cols[0]) > FULL:
            half = len(left.cols[0]) // 2
            right = _Node(left.keys[half:], [col[half:] for col in left.cols], left.kids[half:])
            del left.keys[half:], left.kids[half:]
            # the key between two kids moves up; the key of a leaf is an entry and stays
            self.keys.insert(i, left.keys.pop() if left.kids else left.keys[-1])
            self.kids.insert(i + 1, right)
            for m, sums in enumerate(self.cols):
                del left.cols[m][half:]
                sums[i : i + 1] = [sum(left.cols[m]), sum(right.cols[m])]
        return self


def _take(items: Iterator[Item[K]], k: int) -> Iterator[tuple[K, int]]:
    for key, (count, *_) in items:
        if k <= 0:
            return
        if count > 0:
            yield key, min(count, k)
            k -= count
