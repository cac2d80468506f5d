"""The difference of two documents: the nodes that stay, and what becomes of the others.

Law: the steps, made in order on the old document, give the new one; a node that stays keeps its key. One node inserted,
deleted or changed is one step; what is equal on both sides is in none.

Equal subtrees share a number, so that nothing is compared twice. Children are aligned by these numbers, or by the key
that an element has (an attribute); of those that were at other places, the heavier ones stay and the others go and
come. What is left between them is paired by what it contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from nestling.xml.align import Pair, aligned, paired
from nestling.xml.entries import ELEMENT, Entry, attribute_of, expanded
from nestling.xml.orderkeys import parent_of

#: The attributes that name an element where nothing else is said.
_IDS = ("{http://www.w3.org/XML/1998/namespace}id", "id")
#: How many children are looked at, at most, to pair what is left by what it contains.
_LOOKS = 1_000_000


class RemovedNode(NamedTuple):
    """A node goes, with all below it."""

    key: str


class ChangedNode(NamedTuple):
    """A node gets another name, other attributes or other content."""

    key: str
    entry: Entry


class InsertedNodes(NamedTuple):
    """Trees come between two children of ``parent``; their keys begin with that of the document."""

    parent: str
    before: str | None
    after: str | None
    entries: list[Entry]


DifferenceStep: TypeAlias = RemovedNode | ChangedNode | InsertedNodes


def difference(
    old: Sequence[Entry], new: Sequence[Entry], keys: Mapping[str, str] | None = None
) -> list[DifferenceStep]:
    """The steps from one document to another: changes, then insertions, then removals.

    ``keys`` has the attribute that names elements, by their expanded names; without it, ``xml:id`` and ``id`` do.

    >>> from nestling.xml.load import document_entries
    >>> old, new = (list(document_entries([text])) for text in ("<s><a/><b>1</b></s>", "<s><b>2</b><c/></s>"))
    >>> for step in difference(old, new):
    ...     print(step)
    ChangedNode(key='a0.a1.a0', entry=('a0.a0.a0', 't', '', '2'))
    InsertedNodes(parent='a0', before='a0.a1', after=None, entries=[('a1', 'e', 'c', ())])
    RemovedNode(key='a0.a0')
    """
    numbers: dict[Hashable, int] = {}
    return _Difference(_Numbered(old, numbers), _Numbered(new, numbers), keys).steps()


class _Numbered:
    """Entries with their children, the sizes of subtrees, and numbers that equal ones share; -1 is the document."""

    def __init__(self, entries: Sequence[Entry], numbers: dict[Hashable, int]) -> None:
        self.entries = entries
        self.children: dict[int, list[int]] = {-1: []}
        above = [-1]
        for place, entry in enumerate(entries):
            del above[entry[0].count(".") + 1 :]
            self.children.setdefault(above[-1], []).append(place)
            above.append(place)
        self.sizes, self.numbers = [1] * len(entries), [0] * len(entries)
        for place in range(len(entries) - 1, -1, -1):
            below = self.children.get(place, ())
            self.sizes[place] += sum([self.sizes[child] for child in below])
            content = (*entries[place][1:], *[self.numbers[child] for child in below])
            self.numbers[place] = numbers.setdefault(content, len(numbers))

    def below(self, place: int) -> list[int]:
        return self.children.get(place, [])

    def key(self, place: int) -> str:
        return "" if place < 0 else self.entries[place][0]


class _Difference:
    def __init__(self, old: _Numbered, new: _Numbered, keys: Mapping[str, str] | None) -> None:
        self.old, self.new, self.keys = old, new, keys
        self.removed: list[DifferenceStep] = []
        self.changed: list[DifferenceStep] = []
        self.inserted: list[DifferenceStep] = []

    def steps(self) -> list[DifferenceStep]:
        open_ = [(-1, -1)]
        while open_:
            x, y = open_.pop()
            if x >= 0 and self.old.entries[x][1:] != self.new.entries[y][1:]:
                self.changed.append(ChangedNode(self.old.key(x), self.new.entries[y]))
            open_ += self._children(x, y)
        return [*self.changed, *self.inserted, *self.removed]

    def _children(self, parent: int, other: int) -> list[Pair]:
        """Note which children of a node go and come; those that stay, and are not equal, are returned."""
        olds, news = self.old.below(parent), self.new.below(other)
        stay = aligned(
            [self._token(self.old, each) for each in olds],
            [self._token(self.new, each) for each in news],
            lambda place: self.old.sizes[olds[place]],
        )
        pairs: list[Pair] = []
        a = c = 0
        for b, d in (*stay, (len(olds), len(news))):
            pairs += [(a + x, c + y) for x, y in self._alike(olds[a:b], news[c:d])]
            if b < len(olds):
                pairs.append((b, d))
            a, c = b + 1, d + 1
        a = c = 0
        for b, d in (*pairs, (len(olds), len(news))):
            self.removed += [RemovedNode(self.old.key(each)) for each in olds[a:b]]
            if c < d:
                # Behind the siblings that go, so that none of their keys is given to another node.
                before = self.old.key(olds[b - 1]) if b else None
                after = self.old.key(olds[b]) if b < len(olds) else None
                self.inserted.append(
                    InsertedNodes(self.old.key(parent), before, after, self._trees(news[c:d]))
                )
            a, c = b + 1, d + 1
        return [
            (olds[x], news[y]) for x, y in pairs if self.old.numbers[olds[x]] != self.new.numbers[news[y]]
        ]

    def _trees(self, tops: Sequence[int]) -> list[Entry]:
        first = self.new.key(tops[0])
        cut = len(parent_of(first)) + 1 if "." in first else 0
        stop = tops[-1] + self.new.sizes[tops[-1]]
        return [(key[cut:], *rest) for key, *rest in self.new.entries[tops[0] : stop]]

    def _token(self, tree: _Numbered, place: int) -> Hashable:
        """What a child is aligned by: its name and key, or its number."""
        name = self._name(tree.entries[place])
        return tree.numbers[place] if name is None else name

    def _name(self, entry: Entry) -> Hashable:
        if entry[1] != ELEMENT:
            return None
        name = expanded(entry[2])
        if self.keys is not None:
            attributes: Sequence[str] = (self.keys[name],) if name in self.keys else ()
        else:
            attributes = _IDS
        for attribute in attributes:
            if (value := attribute_of(entry, attribute)) is not None:
                return name, attribute, value
        return None

    def _alike(self, olds: Sequence[int], news: Sequence[int]) -> list[Pair]:
        """Pairs of what is left between nodes that stay."""
        if not olds or not news:
            return []
        if len(olds) == len(news) == 1:
            return [(0, 0)] if self._may_pair(olds[0], news[0]) else []
        looks = len(news) * sum(1 + len(self.old.below(each)) for each in olds)
        if looks > _LOOKS:
            found = aligned(
                [self._label(self.old, x) for x in olds],
                [self._label(self.new, y) for y in news],
                lambda x: 1,
            )
            return [(x, y) for x, y in found if self._may_pair(olds[x], news[y])]
        inside = [Counter([self.old.numbers[child] for child in self.old.below(each)]) for each in olds]
        others = [Counter([self.new.numbers[child] for child in self.new.below(each)]) for each in news]
        weights = {self.old.numbers[c]: self.old.sizes[c] for each in olds for c in self.old.below(each)}

        def score(x: int, y: int) -> int:
            if not self._may_pair(olds[x], news[y]):
                return 0
            shared = sum([weights[number] * times for number, times in (inside[x] & others[y]).items()])
            one, other = self.old.entries[olds[x]], self.new.entries[news[y]]
            is_root = "." not in one[0] and one[1] == ELEMENT
            is_alike = is_root or (one[2] == other[2] and self._name(one) == self._name(other))
            return 2 * shared + (1 if is_alike else 0)

        return paired(len(olds), len(news), score)

    def _label(self, tree: _Numbered, place: int) -> Hashable:
        return tree.entries[place][1:3]

    def _may_pair(self, x: int, y: int) -> bool:
        """Whether a node may become another: of one kind, and not where given keys say that they are two."""
        one, other = self.old.entries[x], self.new.entries[y]
        if one[1] != other[1]:
            return False
        return self.keys is None or self._name(one) == self._name(other)
