"""A watched view: its items as they are written, in order, and where in its text they stand.

Rows that come and go are found by what they are sorted by. Where an element of the query's own holds elements alone,
the places that change tell the operations of the patch, and nothing else is looked at; where there is text beside
them, the trees before and after are compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from nestling.database.xml.reading import ATOM, NODE, TEXT, WrittenItem, XmlReader, sort_key
from nestling.frontend.xquery.template import (
    ElementPart,
    ItemTemplate,
    MadeText,
    Part,
    SequencePart,
    StaticComment,
    StaticText,
)
from nestling.values.bag import ZBag
from nestling.xml.entries import string_value, written
from nestling.xml.load import fragment_entries
from nestling.xml.namespaces import NONE, Scope, declarations, within
from nestling.xml.patch import (
    PatchChild,
    PatchGap,
    PatchOperation,
    PatchPath,
    PatchTree,
    patch,
    patch_elements,
)

Row = tuple[Any, ...]
#: What an item is sorted by, its row, its template, and how it is written.
Placed = tuple[tuple[Any, ...], Row | None, ItemTemplate, PatchChild | None]
#: Items from one place to another that go, and those that come there.
Planned = tuple[int, int, list[Placed]]


class _Element:
    """An element of the query's own: the sequences in it, and the one that it stands in."""

    def __init__(self, item: ElementPart, key: tuple[Any, ...], home: WatchedSequence) -> None:
        self.item, self.key, self.home = item, key, home
        self.scope = within(item.name, dict(item.namespaces), home.scope)
        self.sequences: list[WatchedSequence] = []
        self.has_statics = any(isinstance(part, StaticText | StaticComment) for part in item.content)

    def is_plain(self) -> bool:
        """Whether this element and all above it contain elements alone."""
        if self.has_statics or any(each.others for each in self.sequences):
            return False
        return self.home.parent is None or self.home.parent.is_plain()

    def size(self) -> int:
        return sum(len(each.placed) for each in self.sequences)

    def before(self, sequence: WatchedSequence) -> int:
        """How many children come before those of one of its sequences."""
        return sum(len(each.placed) for each in self.sequences[: self.sequences.index(sequence)])

    def path(self) -> str:
        """The selector of a plain element."""
        above = self.home.parent
        if above is None:
            return "/*"
        place = bisect_left(self.home.placed, self.key, key=itemgetter(0))
        while self.home.placed[place][2] is not self.item:
            place += 1
        return f"{above.path()}/*[{above.before(self.home) + place + 1}]"


class WatchedSequence:
    """The items of one enclosed expression of the query itself, in order."""

    def __init__(self, model: WatchedModel, part: SequencePart, parent: _Element | None, shown: bool) -> None:
        self.sources, self.parent = part.sources, parent
        #: The namespaces that its items see: no data change them.
        self.scope: Scope = NONE if parent is None else parent.scope
        self.placed: list[Placed] = []
        #: How many items are no element.
        self.others = 0
        for source in self.sources:
            if source.column is None:
                key = sort_key(source.order, ())
                model.fixed(source.item, key, self, shown)
                self._put([(key, None, source.item, None)], 0, 0)
            else:
                model.homes[source.column] = self
        self.placed.sort(key=itemgetter(0))

    def planned(self, rows: Mapping[int, ZBag], reader: XmlReader) -> list[Planned]:
        """What rows that came and went do, from left to right: items that go, and those in their place."""
        gone: set[int] = set()
        come: list[Placed] = []
        for column, bag in rows.items():
            source = next(source for source in self.sources if source.column == column)
            for row, times in bag.items():
                key = sort_key(source.order, row)
                if times > 0:
                    made = reader.written(source.item, row, self.scope)
                    come += [(key, row, source.item, None if made is None else _child(made))] * times
                    continue
                place = bisect_left(self.placed, key, key=itemgetter(0))
                for _ in range(-times):
                    while place in gone or self.placed[place][1] != row:
                        place += 1
                    gone.add(place)
        come.sort(key=itemgetter(0))
        spans: list[Planned] = [(place, place + 1, []) for place in gone]
        for each in come:
            place = bisect_right(self.placed, each[0], key=itemgetter(0))
            spans.append((place, place, [each]))
        spans.sort(key=itemgetter(0, 1))
        return _merged(spans)

    def apply(self, plan: Sequence[Planned]) -> None:
        for low, high, new in reversed(plan):
            self._put(new, low, high)

    def _put(self, new: list[Placed], low: int, high: int) -> None:
        self.others += sum(map(_is_other, new)) - sum(map(_is_other, self.placed[low:high]))
        self.placed[low:high] = new


def _merged(spans: Sequence[Planned]) -> list[Planned]:
    """Spans that touch are one; what comes is in order already."""
    found: list[Planned] = []
    for low, high, new in spans:
        if found and low <= found[-1][1]:
            found[-1][2].extend(new)
            found[-1] = found[-1][0], max(high, found[-1][1]), found[-1][2]
        else:
            found.append((low, high, new))
    return found


def _is_other(placed: Placed) -> bool:
    """Whether an item is no element."""
    _, row, item, child = placed
    return not isinstance(item, ElementPart) if row is None else child is None or child.kind != "*"


class WatchedModel:
    """A watched view: the sequences that its template has outside rows."""

    def __init__(self, template: Sequence[Part]) -> None:
        #: Which sequence the rows of a view are in.
        self.homes: dict[int, WatchedSequence] = {}
        self._made: dict[int, WatchedSequence] = {}
        self.template = template
        #: The answer as it was last compared, while that is known.
        self._tree: PatchTree | None = None
        for part in template:
            self._add(part, None, True)
        sources = [source for part in template if isinstance(part, SequencePart) for source in part.sources]
        #: Whether the answer is always one element, which the query makes.
        self.is_rooted = (
            len(template) == len(sources) == 1
            and sources[0].column is None
            and isinstance(sources[0].item, ElementPart)
        )

    def _add(self, part: Part, parent: _Element | None, shown: bool) -> None:
        if not isinstance(part, StaticText | StaticComment):
            made = self._made[id(part)] = WatchedSequence(self, part, parent, shown)
            if parent is not None:
                parent.sequences.append(made)

    def fixed(self, item: ItemTemplate, key: tuple[Any, ...], home: WatchedSequence, shown: bool) -> None:
        """An item that is always there: what it encloses are sequences of their own."""
        if isinstance(item, ElementPart):
            element = _Element(item, key, home) if shown else None
            for part in item.content:
                self._add(part, element, shown)
            for _, parts in item.attributes:
                for part in parts:
                    self._add(part, None, False)
        elif isinstance(item, MadeText):
            for part in item.content:
                self._add(part, None, False)

    def fill(self, rows: Mapping[int, ZBag], reader: XmlReader) -> None:
        """The rows that are there at first."""
        for column, bag in rows.items():
            home = self.homes[column]
            home.apply(home.planned({column: bag}, reader))

    def change(self, rows: Mapping[int, ZBag], reader: XmlReader) -> list[PatchOperation]:
        """Rows of views came and went; the operations that lead from the old text to the new one."""
        changed: dict[int, tuple[WatchedSequence, dict[int, ZBag]]] = {}
        for column in sorted(rows):
            home = self.homes[column]
            changed.setdefault(id(home), (home, {}))[1][column] = rows[column]
        plans = [(home, home.planned(bags, reader)) for home, bags in changed.values()]
        plans = [(home, plan) for home, plan in plans if plan]
        placed = self._placed(plans)
        if placed is not None:
            self._tree = None
            return placed
        before = self._tree or self._now(reader)
        for home, plan in plans:
            home.apply(plan)
        self._tree = self._now(reader)
        return patch(before, self._tree)

    def difference(self, before: WatchedModel, reader: XmlReader) -> list[PatchOperation]:
        """The operations that lead from the text of ``before`` to this one."""
        self._tree = self._now(reader)
        return patch(before._tree or before._now(reader), self._tree)

    def _placed(self, plans: list[tuple[WatchedSequence, list[Planned]]]) -> list[PatchOperation] | None:
        """Make a change and find its operations by places; none, and no change, where there is text beside elements."""
        within: list[tuple[WatchedSequence, list[Planned], _Element]] = []
        for home, plan in plans:
            if not self.is_rooted or home.parent is None or not home.parent.is_plain():
                return None
            if any(_is_other(each) for _, _, new in plan for each in new):
                return None
            within.append((home, plan, home.parent))
        within.sort(key=lambda each: each[2].before(each[0]))
        before = [(parent.path(), parent.size(), parent.before(home)) for home, _, parent in within]
        found: list[PatchOperation] = []
        for (home, plan, parent), (path, size, first) in zip(within, before, strict=True):
            now, start = PatchPath(parent.path(), path, parent.scope), parent.before(home)
            grown = parent.size() - size
            gaps: list[PatchGap] = []
            shift = 0
            for low, high, new in plan:
                gone = [child for *_, child in home.placed[low:high] if child is not None]
                come = [child for *_, child in new if child is not None]
                gaps.append(PatchGap(first + low, gone, start + low + shift, come))
                shift += len(new) - (high - low)
            home.apply(plan)
            found += patch_elements(gaps, size, now, start - first, grown)
        return found

    def _now(self, reader: XmlReader) -> PatchTree:
        """The answer as a tree; a sequence of the query's own stands inside an element."""
        _, children = self.children(self.template, reader)
        return children[0].opened(NONE) if self.is_rooted else PatchTree("", {}, children)

    def children(self, parts: Sequence[Part], reader: XmlReader) -> tuple[dict[str, str], list[PatchChild]]:
        """The attributes and children that parts come to; neighbouring texts are one."""
        attributes: dict[str, str] = {}
        found: list[PatchChild] = []
        for part in parts:
            if isinstance(part, StaticText):
                _put(found, PatchChild("text()", part.text))
            elif isinstance(part, StaticComment):
                found.append(PatchChild("comment()", part.text))
            else:
                before = ""
                for each in self._items(part, reader):
                    if each.kind == before == ATOM:
                        _put(found, PatchChild("text()", " "))
                    if each.kind.startswith("@"):
                        attributes[each.kind[1:]] = each.text
                    else:
                        _put(found, PatchChild("text()", each.text) if each.kind == ATOM else each)
                    before = each.kind
        return attributes, found

    def _items(self, part: SequencePart, reader: XmlReader) -> Iterator[PatchChild]:
        """The items of a sequence, in order."""
        sequence = self._made[id(part)]
        for _, row, item, child in sequence.placed:
            each = self._fixed_child(item, reader, sequence.scope) if row is None else child
            if each is not None:
                yield each

    def _fixed_child(self, item: ItemTemplate, reader: XmlReader, outside: Scope) -> PatchChild | None:
        if isinstance(item, MadeText):
            text = self._value(item.content, reader)
            return PatchChild(f"@{written(item.name)}" if item.name else "text()", text)
        if not isinstance(item, ElementPart):
            made = reader.written(item, None, outside)
            return None if made is None else _child(made)
        tree = PatchTree(written(item.name))
        if item.namespaces or outside:
            tree.attributes |= declarations(within(item.name, dict(item.namespaces), outside), outside)
        for name, parts in item.attributes:
            tree.attributes[written(name)] = self._value(parts, reader)
        more, tree.children = self.children(item.content, reader)
        tree.attributes |= more
        return tree.as_child()

    def _value(self, parts: Sequence[Part], reader: XmlReader) -> str:
        texts: list[str] = []
        for part in parts:
            if isinstance(part, StaticText):
                texts.append(part.text)
            elif not isinstance(part, StaticComment):
                scope = self._made[id(part)].scope
                texts.append(" ".join([_string(child, scope) for child in self._items(part, reader)]))
        return "".join(texts)


def _string(child: PatchChild, scope: Scope) -> str:
    return string_value(fragment_entries(child.text, scope)) if child.kind == "*" else child.text


def _put(found: list[PatchChild], child: PatchChild) -> None:
    if child.kind == "text()" and not child.text:
        return
    if child.kind == "text()" and found and found[-1].kind == "text()":
        found[-1] = PatchChild("text()", found[-1].text + child.text)
    else:
        found.append(child)


def _child(item: WrittenItem) -> PatchChild:
    if item.kind == NODE:
        if item.text.startswith("<!--"):
            return PatchChild("comment()", item.text[4:-3])
        if item.text.startswith("<?"):
            return PatchChild("processing-instruction()", item.text[2:-2])
        return PatchChild("*", item.text)
    if item.kind in (TEXT, ATOM):
        return PatchChild("text()" if item.kind == TEXT else ATOM, item.text)
    return PatchChild(f"@{written(item.name)}", item.text)
