"""Who is told of the changes of XQuery views, and with what patch.

A watched view keeps its items as they are written, in order. A commit says which rows of its hidden views came and
went; only these are written anew, and the difference of the two trees is the patch. Finding it costs a comparison per
child of the elements that the query itself makes, and what changed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from nestling.database.subscription import OnError, Subscription, Told
from nestling.database.xml.definition import XQueryDef
from nestling.database.xml.host import DocumentHost
from nestling.database.xml.reading import ATOM, NODE, TEXT, WrittenItem, XmlReader, sort_key
from nestling.errors import NestlingError
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
from nestling.xml.entries import string_value
from nestling.xml.load import fragment_entries
from nestling.xml.patch import PatchChild, PatchOperation, PatchTree, patch

Row = tuple[Any, ...]
#: What an item is sorted by, its row, its template, and how it is written.
Placed = tuple[tuple[Any, ...], Row | None, ItemTemplate, PatchChild | None]


class XmlChange:
    """The change of one XQuery view: the operations that lead from the text before to the one after."""

    __slots__ = ("operations", "version", "view")

    def __init__(self, view: str, version: int, operations: tuple[PatchOperation, ...]) -> None:
        self.view, self.version, self.operations = view, version, operations

    def to_xml_patch(self) -> str:
        """The change as a patch of RFC 5261."""
        return f"<diff>{''.join(map(str, self.operations))}</diff>"

    def __repr__(self) -> str:
        return f"XmlChange({self.view}, version {self.version}, {len(self.operations)} operations)"


class _Sequence:
    """The items of one enclosed expression of the query itself, in order."""

    def __init__(self, model: _Model, sources: Sequence[Any]) -> None:
        self.sources = sources
        self.placed: list[Placed] = []
        for source in sources:
            if source.column is None:
                model.fixed(source.item)
                self.placed.append((sort_key(source.order, ()), None, source.item, None))
            else:
                model.homes[source.column] = self
        self.placed.sort(key=itemgetter(0))

    def change(self, column: int, rows: ZBag, reader: XmlReader) -> None:
        """Rows of a view came and went."""
        source = next(source for source in self.sources if source.column == column)
        for sign in (-1, 1):
            for row, times in rows.items():
                for _ in range(sign * times):
                    self._move(sort_key(source.order, row), row, source.item, sign, reader)

    def _move(self, key: tuple[Any, ...], row: Row, item: ItemTemplate, sign: int, reader: XmlReader) -> None:
        if sign > 0:
            written = reader.written(item, row)
            child = None if written is None else _child(written)
            self.placed.insert(bisect_right(self.placed, key, key=itemgetter(0)), (key, row, item, child))
            return
        place = bisect_left(self.placed, key, key=itemgetter(0))
        while self.placed[place][1] != row:
            place += 1
        del self.placed[place]


class _Model:
    """A watched view: the sequences that its template has outside rows."""

    def __init__(self, template: Sequence[Part]) -> None:
        #: Which sequence the rows of a view are in.
        self.homes: dict[int, _Sequence] = {}
        self._made: dict[int, _Sequence] = {}
        self.template = template
        for part in template:
            self._add(part)

    def _add(self, part: Part) -> None:
        if not isinstance(part, StaticText | StaticComment):
            self._made[id(part)] = _Sequence(self, part.sources)

    def fixed(self, item: ItemTemplate) -> None:
        """An item that is always there: what it encloses are sequences of their own."""
        if isinstance(item, ElementPart | MadeText):
            attributes = item.attributes if isinstance(item, ElementPart) else ()
            for part in (*item.content, *(part for _, parts in attributes for part in parts)):
                self._add(part)

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
        for _, row, item, child in self._made[id(part)].placed:
            each = self._fixed_child(item, reader) if row is None else child
            if each is not None:
                yield each

    def _fixed_child(self, item: ItemTemplate, reader: XmlReader) -> PatchChild | None:
        if isinstance(item, MadeText):
            text = self._value(item.content, reader)
            return PatchChild(f"@{item.name}" if item.name else "text()", text)
        if not isinstance(item, ElementPart):
            written = reader.written(item, None)
            return None if written is None else _child(written)
        tree = PatchTree(item.name, {name: self._value(parts, reader) for name, parts in item.attributes})
        more, tree.children = self.children(item.content, reader)
        tree.attributes |= more
        return tree.as_child()

    def _value(self, parts: Sequence[Part], reader: XmlReader) -> str:
        texts: list[str] = []
        for part in parts:
            if isinstance(part, StaticText):
                texts.append(part.text)
            elif not isinstance(part, StaticComment):
                texts.append(" ".join([_string(child) for child in self._items(part, reader)]))
        return "".join(texts)


def _string(child: PatchChild) -> str:
    return string_value(fragment_entries(child.text)) if child.kind == "*" else child.text


def _put(found: list[PatchChild], child: PatchChild) -> None:
    if child.kind == "text()" and not child.text:
        return
    if child.kind == "text()" and found and found[-1].kind == "text()":
        found[-1] = PatchChild("text()", found[-1].text + child.text)
    else:
        found.append(child)


def _child(written: WrittenItem) -> PatchChild:
    if written.kind == NODE:
        if written.text.startswith("<!--"):
            return PatchChild("comment()", written.text[4:-3])
        if written.text.startswith("<?"):
            return PatchChild("processing-instruction()", written.text[2:-2])
        return PatchChild("*", written.text)
    if written.kind in (TEXT, ATOM):
        return PatchChild("text()" if written.kind == TEXT else ATOM, written.text)
    return PatchChild(f"@{written.name}", written.text)


class XmlWatch:
    """The readers of the changes of one view."""

    def __init__(self, database: DocumentHost, definition: XQueryDef) -> None:
        self.database, self.definition = database, definition
        self.subscriptions: tuple[Subscription, ...] = ()
        self.kept: deque[XmlChange] = deque(maxlen=0)
        self.since = database.version
        self._waiting: list[tuple[int, ZBag]] = []
        self._model = _Model(definition.translated.template)
        self._hidden = []
        for number, view in enumerate(definition.views):
            told = self._hear(number)
            self._hidden.append(database._subscribers.subscribe(view.name, told))
        with database._reading():
            for number, view in enumerate(definition.views):
                self._model.homes[number].change(number, database._state.read(view.name), self._reader())
            self._tree = self._now()

    def _hear(self, number: int) -> Told:
        return lambda change: self._waiting.append((number, change.whole()))

    def _reader(self) -> XmlReader:
        documents, access = self.database._documents, self.database._access
        return XmlReader([], lambda name: documents.store(name, access.own))

    def _now(self) -> PatchTree:
        """The answer as a tree; what is no single element, inside one."""
        _, children = self._model.children(self.definition.translated.template, self._reader())
        if len(children) == 1 and children[0].kind == "*":
            return children[0].opened()
        return PatchTree("", {}, children)

    def deliver(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        with self.database._reading():
            reader = self._reader()
            for number, rows in waiting:
                self._model.homes[number].change(number, rows, reader)
            before, self._tree = self._tree, self._now()
            version = self.database.version
        operations = _patched(before, self._tree)
        if not operations:
            return
        change = XmlChange(self.definition.name, version, tuple(operations))
        self.kept.append(change)
        for subscription in self.subscriptions:
            if subscription.active:
                subscription.tell(change)  # type: ignore[arg-type]

    def resize(self, kept: int) -> None:
        """Keep as many changes as any reader asks for."""
        most = max(kept, self.kept.maxlen or 0, *(each.history for each in self.subscriptions), 0)
        if most != self.kept.maxlen:
            self.kept = deque(self.kept, maxlen=most)

    def end(self) -> None:
        for subscription in self._hidden:
            subscription.cancel()


def _patched(before: PatchTree, after: PatchTree) -> list[PatchOperation]:
    if bool(before.name) == bool(after.name):
        return patch(before, after)
    # A single element has come to stand beside others, or stands alone now.
    trees = [tree if not tree.name else PatchTree("", {}, [tree.as_child()]) for tree in (before, after)]
    return patch(*trees)


class XmlWatches:
    """The subscribers of XQuery views."""

    def __init__(self, database: DocumentHost) -> None:
        self._database = database
        self._watched: dict[str, XmlWatch] = {}

    def deliver(self) -> None:
        """Tell what has changed since it was last told; no lock is held."""
        for watch in tuple(self._watched.values()):
            watch.deliver()

    def subscribe(
        self, definition: XQueryDef, function: Told, history: int = 0, on_error: OnError | None = None
    ) -> Subscription:
        """Tell ``function`` of every change from now on."""
        watch = self._watch(definition)
        subscription = Subscription(self._cancel, definition.name, function, history, on_error)
        watch.subscriptions = (*watch.subscriptions, subscription)
        watch.resize(0)
        return subscription

    def changes(self, definition: XQueryDef, since: int | None, history: int) -> list[XmlChange]:
        """The changes after ``since`` that are kept."""
        watch = self._watch(definition)
        watch.resize(history)
        found = list(watch.kept)
        if since is not None and since < watch.since:
            raise NestlingError(
                f"the changes of {definition.name} are kept since version {watch.since}",
                hint="read the view anew",
            )
        return found if since is None else [change for change in found if change.version > since]

    def forget(self, view: str) -> None:
        """A view was dropped."""
        self._watched.pop(view, None)

    def _watch(self, definition: XQueryDef) -> XmlWatch:
        found = self._watched.get(definition.name)
        if found is None:
            found = self._watched[definition.name] = XmlWatch(self._database, definition)
        return found

    def _cancel(self, subscription: Subscription) -> None:
        subscription.active = False
        watch = self._watched.get(subscription.view)
        if watch is None:
            return
        watch.subscriptions = tuple(each for each in watch.subscriptions if each is not subscription)
        if not watch.subscriptions and not watch.kept.maxlen:
            watch.end()
            del self._watched[subscription.view]
