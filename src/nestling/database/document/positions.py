"""Keys in order, and where each stands.

Blocks of sorted lists. What is done inside a block is done in C; before it stand the blocks to its left, whose lengths
are summed in C too: a thousandth of the keys, one addition each. Per key it takes one pointer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import Any

#: How long a block is made, and how long it may get before it is parted.
BLOCK, FULL = 1024, 2048


class Positions:
    """A sorted list with copies.

    Law: it answers as a plain sorted list would.

    >>> names = Positions(["a", "b", "b", "d"])
    >>> names.find("b"), names.find("c"), names.add("c", 2), names.remove("a", 1), list(names)
    ((1, 2), (3, 0), 3, 0, ['b', 'b', 'c', 'c', 'd'])
    """

    __slots__ = ("_blocks", "_lasts", "_sizes")

    def __init__(self, keys: list[Any]) -> None:
        """``keys`` are sorted."""
        self._blocks = [keys] if len(keys) <= FULL else _parted(keys)
        #: Of more than one block, the last key and the length of each.
        self._lasts: list[Any] | None = None
        self._sizes: list[int] | None = None
        if len(self._blocks) > 1:
            self._look_anew()

    def _look_anew(self) -> None:
        self._lasts = [block[-1] for block in self._blocks]
        self._sizes = [len(block) for block in self._blocks]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._blocks)

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def find(self, key: Any) -> tuple[int, int]:
        """Where the first copy of ``key`` stands, or would stand; and how many there are."""
        b = self._block(key)
        block = self._blocks[b]
        i = bisect_left(block, key)
        end = bisect_right(block, key, i)
        copies = end - i
        if end == len(block):
            copies += self._in_next(key, b + 1)
        return self._before(b) + i, copies

    def add(self, key: Any, copies: int) -> int:
        """Add ``copies`` of ``key`` before those that are there; where the first stands."""
        b = self._block(key)
        block = self._blocks[b]
        i = bisect_left(block, key)
        block[i:i] = [key] * copies
        position = self._before(b) + i
        if self._sizes is not None and self._lasts is not None:
            self._sizes[b], self._lasts[b] = len(block), block[-1]
        if len(block) > FULL:
            self._blocks[b : b + 1] = _parted(block)
            self._look_anew()
        return position

    def remove(self, key: Any, copies: int) -> int:
        """Remove ``copies`` of ``key``, the first; where the first stood."""
        b = self._block(key)
        position = self._before(b) + bisect_left(self._blocks[b], key)
        while copies:
            block = self._blocks[b]
            i = bisect_left(block, key)
            gone = min(copies, bisect_right(block, key, i) - i)
            if not gone:
                raise KeyError(key)
            del block[i : i + gone]
            copies -= gone
            b = self._shrunk(b)
        return position

    def _shrunk(self, b: int) -> int:
        """Something was removed from a block: the block where what follows it stands."""
        block = self._blocks[b]
        if self._lasts is None or self._sizes is None:
            return b
        if block:
            self._sizes[b], self._lasts[b] = len(block), block[-1]
            return min(b + 1, len(self._blocks) - 1)
        del self._blocks[b], self._sizes[b], self._lasts[b]
        if len(self._blocks) == 1:
            self._lasts = self._sizes = None
        return min(b, len(self._blocks) - 1)

    def _block(self, key: Any) -> int:
        if self._lasts is None:
            return 0
        return min(bisect_left(self._lasts, key), len(self._blocks) - 1)

    def _before(self, b: int) -> int:
        return sum(self._sizes[:b]) if b and self._sizes is not None else 0

    def _in_next(self, key: Any, b: int) -> int:
        """How often ``key`` stands at the start of a block and goes on."""
        copies = 0
        for block in self._blocks[b:]:
            here = bisect_right(block, key)
            copies += here
            if here < len(block):
                break
        return copies


def _parted(keys: list[Any]) -> list[list[Any]]:
    return [keys[i : i + BLOCK] for i in range(0, len(keys), BLOCK)]
