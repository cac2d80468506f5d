"""The node store: the pages of a document in order, and how nodes are found in them.

A page has a *start*: every key in it sorts at or after its start, and before the start of the next. The first page
starts at the empty text. ``Layer`` has changed pages over those below it, so that a change can be made and thrown
away.

All look-ups cost a bisection and a page.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from nestling.xml.entries import Entry, Labels, label_of, string_value
from nestling.xml.orderkeys import cut, depth_of, end_of, parent_of, part_of
from nestling.xml.pages import PAGE, decoded, encoded, remember


class Pages(Protocol):
    """The pages of a document by their starts."""

    def at(self, key: str) -> str:
        """The start of the page that ``key`` belongs in."""

    def following(self, start: str) -> str | None:
        """The start of the next page."""

    def preceding(self, start: str) -> str | None:
        """The start of the page before."""

    def body(self, start: str) -> bytes:
        """The bytes of a page."""


class Stored:
    """Pages whose starts are kept in a list; ``body`` looks their bytes up."""

    def __init__(self, starts: Iterable[str], body: Callable[[str], bytes]) -> None:
        self.starts, self.body = sorted(starts), body

    def at(self, key: str) -> str:
        return self.starts[bisect_right(self.starts, key) - 1]

    def following(self, start: str) -> str | None:
        place = bisect_right(self.starts, start)
        return self.starts[place] if place < len(self.starts) else None

    def preceding(self, start: str) -> str | None:
        place = bisect_left(self.starts, start)
        return self.starts[place - 1] if place else None

    def add(self, start: str) -> None:
        """A page came."""
        insort(self.starts, start)

    def remove(self, start: str) -> None:
        """A page went."""
        del self.starts[bisect_left(self.starts, start)]


class Layer:
    """Changed pages over ``below``; a page that is gone has no bytes."""

    def __init__(self, below: Pages) -> None:
        self.below = below
        self.changed: dict[str, bytes | None] = {}
        self._added: list[str] = []

    def at(self, key: str) -> str:
        start: str | None = self.below.at(key)
        while start is not None and self._is_gone(start):
            start = self.below.preceding(start)
        place = bisect_right(self._added, key)
        if place and (start is None or self._added[place - 1] > start):
            return self._added[place - 1]
        assert start is not None  # the first page is never gone
        return start

    def following(self, start: str) -> str | None:
        found = self.below.following(start)
        while found is not None and self._is_gone(found):
            found = self.below.following(found)
        place = bisect_right(self._added, start)
        if place < len(self._added) and (found is None or self._added[place] < found):
            return self._added[place]
        return found

    def preceding(self, start: str) -> str | None:
        found = self.below.preceding(start)
        while found is not None and self._is_gone(found):
            found = self.below.preceding(found)
        place = bisect_left(self._added, start)
        if place and (found is None or self._added[place - 1] > found):
            return self._added[place - 1]
        return found

    def body(self, start: str) -> bytes:
        found = self.changed.get(start)
        return self.below.body(start) if found is None else found

    def put(self, start: str, page: bytes | None) -> None:
        """Have other bytes under ``start``, or none."""
        is_below = self.below.at(start) == start
        if page is not None and not is_below and start not in self._added:
            insort(self._added, start)
        if page is None and start in self._added:
            self._added.remove(start)
        self.changed[start] = page

    def _is_gone(self, start: str) -> bool:
        return start in self.changed and self.changed[start] is None


class NodeStore:
    """Walks the nodes of a document. The empty key is the document's own."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    def scan(self, low: str = "", high: str = "~") -> Iterator[Entry]:
        """The entries from ``low`` on and before ``high``, in document order."""
        start: str | None = self.pages.at(low)
        while start is not None and start < high:
            for entry in decoded(self.pages.body(start)):
                if entry[0] >= high:
                    return
                if entry[0] >= low:
                    yield entry
            start = self.pages.following(start)

    def subtree(self, key: str) -> Iterator[Entry]:
        """A node and all below it."""
        return self.scan(key, end_of(key))

    def get(self, key: str) -> Entry | None:
        """The node at ``key``."""
        page = decoded(self.pages.body(self.pages.at(key)))
        place = bisect_left(page, (key,))
        return page[place] if place < len(page) and page[place][0] == key else None

    def before(self, key: str) -> Entry | None:
        """The last node before ``key`` in document order."""
        start: str | None = self.pages.at(key)
        while start is not None:
            page = decoded(self.pages.body(start))
            if place := bisect_left(page, (key,)):
                return page[place - 1]
            start = self.pages.preceding(start)
        return None

    def from_(self, key: str) -> Entry | None:
        """The first node at ``key`` or after it."""
        return next(self.scan(key), None)

    def children(self, parent: str) -> Iterator[Entry]:
        """The children of a node, in order."""
        entry = self.first_child(parent)
        while entry is not None:
            yield entry
            entry = self.next_sibling(entry[0])

    def first_child(self, parent: str) -> Entry | None:
        return self._child(self.from_(parent + "." if parent else ""), parent)

    def last_child(self, parent: str) -> Entry | None:
        return self._cut(self.before(end_of(parent)), parent)

    def next_sibling(self, key: str) -> Entry | None:
        return self._child(self.from_(end_of(key)), parent_of(key))

    def previous_sibling(self, key: str) -> Entry | None:
        return self._cut(self.before(key), parent_of(key))

    def _child(self, entry: Entry | None, parent: str) -> Entry | None:
        """``entry`` where it is below ``parent``: what follows a whole subtree is then a child."""
        return entry if entry and (not parent or entry[0].startswith(parent + ".")) else None

    def _cut(self, entry: Entry | None, parent: str) -> Entry | None:
        """The child of ``parent`` that ``entry`` is or is below."""
        if entry is None or entry[0] == parent or (parent and not entry[0].startswith(parent + ".")):
            return None
        key = cut(entry[0], depth_of(parent) + 1)
        return entry if key == entry[0] else self.get(key)

    def labels(self, key: str) -> Labels:
        """The labels of the nodes from the root down to ``key``."""
        found = []
        for depth in range(1, depth_of(key) + 1):
            entry = self.get(cut(key, depth))
            assert entry is not None
            found.append(label_of(entry))
        return tuple(found)

    def string(self, key: str) -> str:
        """The string value of a node."""
        return string_value(self.subtree(key))

    def near(self, key: str, label: str, step: Callable[[str], Entry | None]) -> Entry | None:
        """The nearest sibling in one direction that has ``label``."""
        entry = step(key)
        while entry is not None and label_of(entry) != label:
            entry = step(entry[0])
        return entry

    def part(self, entry: Entry | None) -> str | None:
        """The sibling key of a node that there may be."""
        return None if entry is None else part_of(entry[0])


class EditedStore(NodeStore):
    """A node store that can be changed; what it changed is in ``layer``."""

    def __init__(self, pages: Pages) -> None:
        self.layer = Layer(pages)
        super().__init__(self.layer)

    def replace(self, low: str, high: str, entries: list[Entry]) -> list[Entry]:
        """Have ``entries`` in place of those from ``low`` on and before ``high``, which are returned."""
        layer = self.layer
        start = layer.at(low)
        page = decoded(layer.body(start))
        left, place = bisect_left(page, (low,)), bisect_left(page, (high,))
        gone, kept, following = page[left:place], page[place:], layer.following(start)
        # A page whose start lies among the new keys is taken along: its start need be the key of no node.
        limit = max(high, entries[-1][0] + "!") if entries else high
        while following is not None and following < limit:
            more = decoded(layer.body(following))
            place = bisect_left(more, (high,))
            gone, kept = gone + more[:place], kept + more[place:]
            layer.put(following, None)
            following = layer.following(following)
        self._write(start, page[:left] + entries + kept)
        return gone

    def _write(self, start: str, entries: list[Entry]) -> None:
        if not entries and start:
            self.layer.put(start, None)
            return
        parts = [entries]
        if len(entries) > 2 * PAGE:
            parts = [entries[place : place + PAGE] for place in range(0, len(entries), PAGE)]
        for number, part in enumerate(parts):
            page = encoded(part)
            remember(page, part)
            self.layer.put(part[0][0] if number else start, page)


def packed(entries: Iterable[Entry]) -> Iterator[tuple[str, bytes]]:
    """The pages of new entries in order: starts and bytes."""
    part: list[Entry] = []
    start = ""
    for entry in entries:
        if len(part) == PAGE:
            yield start, encoded(part)
            part, start = [], entry[0]
        part.append(entry)
    yield start, encoded(part)


def changes(layer: Layer) -> Mapping[str, tuple[bytes | None, bytes | None]]:
    """The pages that ``layer`` changes: as they were below, and as they are."""
    found = {}
    for start, page in layer.changed.items():
        before = layer.below.body(start) if layer.below.at(start) == start else None
        if before != page:
            found[start] = before, page
    return found
