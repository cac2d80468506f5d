"""An edit: primitives on the node store of a document, and the events on tables that they come to.

Law: after ``events`` are applied, the pages hold the edited document and each navigation table equals its definition.

The primitives change a layer over the pages; which rows of which tables change is found at the end, from the document
as it then is: rows of nodes that went go, rows of nodes that came come, and of their ancestors and of the nearest
siblings of their names those rows are made anew that depend on what is below or beside. Equal rows cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from nestling.database.rows import RowEvent
from nestling.database.xml.definition import PAGES
from nestling.database.xml.navigation import BELOW, FLAGS, Hit, NavigationTables, Row, holds, row_key, row_of
from nestling.errors import ChangeError
from nestling.xml.entries import ELEMENT, TEXT, Attributes, Entry, Labels, label_of, labelled, moved
from nestling.xml.orderkeys import (
    LONGEST,
    RENEWED,
    child_of,
    end_of,
    only,
    parent_of,
    part_of,
    spread,
)
from nestling.xml.patterns import STAMP, Navigation
from nestling.xml.store import EditedStore, Pages, changes

#: How many siblings get new keys at least, where keys have become too long.
WINDOW = 64


class KeyedRows(Protocol):
    """Stored rows by their key."""

    def by_key(self, table: str, key: Row) -> Row | None:
        """The row with this key."""

    def prefetch_keys(self, table: str, keys: Iterable[Row]) -> None:
        """Find the rows with these keys, which will be looked up."""


class Remade(NamedTuple):
    """A node whose row in ``table`` is made anew; whether it changed, or what is below it."""

    table: Navigation
    depth: int
    entry: Entry
    is_changed: bool


#: Rows by table and key: made of a node, or gone.
Pending = dict[tuple[str, Row], Remade | None]


class Edit:
    """Changes of one document by one statement."""

    def __init__(self, document: str, pages: Pages, tables: NavigationTables, stored: KeyedRows) -> None:
        self.document, self.tables, self._rows = document, tables, stored
        self.store = EditedStore(pages)
        #: The nodes that went, the tops of subtrees that came or changed, and the parents of all of these.
        self._gone: list[tuple[Labels, str]] = []
        self._came: dict[str, None] = {}
        #: Elements that have other attributes, while what is below them is as it was.
        self._touched: dict[str, None] = {}
        self._parents: dict[str, None] = {}
        #: Where a node with some label came or went, and where texts may have become neighbours.
        self._spots: dict[tuple[str, str], None] = {}
        self._joints: dict[str, None] = {}
        self._crowded: dict[str, None] = {}
        #: The nodes below which something changed.
        self._above: set[str] = set()
        #: The parents whose children got other keys; and the keys at which nodes came.
        self.renewed: list[str] = []
        self.inserted: list[str] = []

    # -- primitives

    def insert(
        self, parent: str, before: str | None, after: str | None, entries: Sequence[Entry]
    ) -> list[str]:
        """Put trees, whose keys begin with that of the document, between two children of ``parent``; their keys."""
        tops = [entry[0] for entry in entries if "." not in entry[0]]
        low = None if before is None else part_of(before)
        high = None if after is None else part_of(after)
        parts = spread(low, high, len(tops))
        keys = [child_of(parent, part) for part in parts]
        self._crowded |= {key: None for key, part in zip(keys, parts, strict=True) if len(part) > LONGEST}
        new: list[Entry] = []
        number = -1
        for key, kind, name, value in entries:
            number += "." not in key
            new.append((keys[number] + key[len(tops[number]) :], kind, name, value))
        self.inserted += [entry[0] for entry in new]
        if keys:
            self.store.replace(keys[0], keys[0], new)
            self._note(parent, keys)
        return keys

    def delete(self, key: str) -> None:
        """Take a node out, with all below it."""
        labels = self._labels_above(key)
        gone = self.store.replace(key, end_of(key), [])
        self._forget(labels, gone)
        self._note(parent_of(key), [key], gone)

    def set_value(self, key: str, value: str) -> None:
        """Give a text, comment or processing instruction other content."""
        entry = self._entry(key)
        self.store.replace(key, only(key), [(key, entry[1], entry[2], value)])
        self._note(parent_of(key), [key], [entry])

    def set_attributes(self, key: str, attributes: Attributes) -> None:
        """Give an element other attributes."""
        entry = self._entry(key)
        self.store.replace(key, only(key), [(key, entry[1], entry[2], attributes)])
        self._parents[key] = None
        (self._came if self.tables.depend_on_above else self._touched)[key] = None

    def rename(self, key: str, name: str) -> None:
        """Give an element or a processing instruction another name: the labels of all below it change."""
        labels, old = self._labels_above(key), list(self.store.subtree(key))
        self._forget(labels, old)
        self.store.replace(key, only(key), [(key, old[0][1], name, old[0][3])])
        self._note(parent_of(key), [key], old[:1])

    def _entry(self, key: str) -> Entry:
        entry = self.store.get(key)
        if entry is None:
            raise ChangeError("the node is no longer there", hint="look it up again: document.at(…)")
        return entry

    def _labels_above(self, key: str) -> Labels:
        return self.store.labels(parent_of(key)) if self.tables.tables else ()

    def _forget(self, above: Labels, gone: Sequence[Entry]) -> None:
        if self.tables.tables:
            self._gone += [(labels, entry[0]) for labels, entry in labelled(gone, above)]

    def _note(self, parent: str, keys: Sequence[str], old: Sequence[Entry] = ()) -> None:
        """Nodes came to or went from ``parent``; ``old`` is what was under the first key."""
        self._parents[parent] = None
        for key in keys:
            self._came[key] = None
            entry = self.store.get(key)
            if self.tables.have_flags:
                for each in (*old[:1], *([entry] if entry else [])):
                    self._spots[key, label_of(each)] = None
        for key in (keys[0], keys[-1]):
            self._joints[key] = None

    # -- the end of a statement

    def events(self) -> list[RowEvent]:
        """The rows of all tables that go and come."""
        for key in tuple(self._joints):
            self._join_texts(key)
        for key in tuple(self._crowded):
            self._renew(key)
        self._check_document()
        table = PAGES + self.document
        found: list[RowEvent] = []
        for start, (old, new) in changes(self.store.layer).items():
            found += [
                RowEvent(table, (start, page), times)
                for page, times in ((old, -1), (new, 1))
                if page is not None
            ]
        return [*found, *self._row_events()]

    def _check_document(self) -> None:
        if "" not in self._parents:
            return
        kinds = [entry[1] for entry in self.store.children("")]
        if kinds.count(ELEMENT) != 1 or TEXT in kinds:
            raise ChangeError(
                f"{self.document} would have no single root element (XUDY0021)",
                hint="replace the root element, or change what is inside it",
            )

    def _join_texts(self, key: str) -> None:
        """Make one text of those that have become neighbours around ``key``, and none of an empty one."""
        store = self.store
        run: list[Entry] = []
        entry = store.get(key)
        left = store.previous_sibling(key)
        while left is not None and left[1] == TEXT:
            run.insert(0, left)
            left = store.previous_sibling(left[0])
        if entry is not None and entry[1] != TEXT:
            self._merge(run)
            run = []
        elif entry is not None:
            run.append(entry)
        right = store.next_sibling(key)
        while right is not None and right[1] == TEXT:
            run.append(right)
            right = store.next_sibling(right[0])
        self._merge(run)

    def _merge(self, run: list[Entry]) -> None:
        if not run or (len(run) == 1 and run[0][3]):
            return
        whole = "".join([entry[3] for entry in run])
        for entry in run[1:] if whole else run:
            self.delete(entry[0])
        if whole and whole != run[0][3]:
            self.set_value(run[0][0], whole)

    def _renew(self, key: str) -> None:
        """Give the siblings around a key that has become long shorter ones."""
        store, parent, size = self.store, parent_of(key), WINDOW
        if len(part_of(key)) <= LONGEST or store.get(key) is None:
            return
        while True:
            siblings, before, after = self._around(key, size // 2)
            parts = spread(before, after, len(siblings))
            if max(map(len, parts)) <= RENEWED or (before is None and after is None):
                break
            size *= 2
        trees = [list(store.subtree(each)) for each in siblings]
        labels = self._labels_above(key)
        keys = [child_of(parent, part) for part in parts]
        new = [e for tree, each in zip(trees, keys, strict=True) for e in moved(tree, tree[0][0], each)]
        self._forget(labels, store.replace(siblings[0], end_of(siblings[-1]), new))
        self._parents[parent] = None
        self._came.update(dict.fromkeys(keys))
        self.renewed.append(parent)

    def _around(self, key: str, number: int) -> tuple[list[str], str | None, str | None]:
        """So many siblings on either side of a node, and the sibling keys that bound them."""
        store, siblings = self.store, [key]
        left, right = store.previous_sibling(key), store.next_sibling(key)
        for _ in range(number):
            if left is not None:
                siblings.insert(0, left[0])
                left = store.previous_sibling(left[0])
            if right is not None:
                siblings.append(right[0])
                right = store.next_sibling(right[0])
        return siblings, store.part(left), store.part(right)

    # -- rows

    def _row_events(self) -> list[RowEvent]:
        pending: Pending = {}
        if not self.tables.tables:
            return []
        for labels, key in self._gone:
            for table, depth in self.tables.hits(labels):
                pending[table.name, row_key(table, depth, key)] = None
        for top in self._came:
            if self.store.get(top) is not None:
                for labels, entry in labelled(self.store.subtree(top), self.store.labels(parent_of(top))):
                    self._make(self.tables.hits(labels), entry, pending, True)
        for key in self._touched:
            if (touched := self.store.get(key)) is not None:
                self._make(self.tables.hits(self.store.labels(key)), touched, pending, True)
        self._make_ancestors(pending)
        self._make_siblings(pending)
        return self._differences(pending)

    def _differences(self, pending: Pending) -> list[RowEvent]:
        """What there is to change: equal rows stay. What is looked up is looked up together."""
        found: list[RowEvent] = []
        keys: dict[str, list[Row]] = {}
        for name, key in pending:
            keys.setdefault(name, []).append(key)
        for name, some in keys.items():
            self._rows.prefetch_keys(name, some)
        for (name, key), made in sorted(pending.items(), key=lambda item: item[0]):
            old = self._rows.by_key(name, key)
            row = None if made is None else self._row(made, old)
            if old != row:
                found += [
                    RowEvent(name, each, times) for each, times in ((old, -1), (row, 1)) if each is not None
                ]
        return found

    def _make(self, hits: Iterable[Hit], entry: Entry, pending: Pending, changed: bool) -> None:
        """Note the rows of a node, which are made as it is now."""
        for table, depth in hits:
            pending[table.name, row_key(table, depth, entry[0])] = Remade(table, depth, entry, changed)

    def _row(self, made: Remade, old: Row | None) -> Row | None:
        """The row of a node; where it or what is below it changed, with another stamp than it had."""
        table, depth, entry, is_changed = made
        if not holds(table, depth, entry, self.store):
            return None
        stamp = 0
        if old is not None and STAMP in table.columns:
            stamp = old[len(old) - len(table.columns) + table.columns.index(STAMP)] + is_changed
        return row_of(table, depth, entry, self.store, stamp)

    def _make_ancestors(self, pending: Pending) -> None:
        if not self.tables.depend_on_below:
            return
        for parent in self._parents:
            key = parent
            while key and key not in self._above:
                self._above.add(key)
                entry = self.store.get(key)
                if entry is not None:
                    hits = [
                        h
                        for h in self.tables.hits(self.store.labels(key))
                        if BELOW.intersection(h[0].columns)
                    ]
                    self._make(hits, entry, pending, True)
                key = parent_of(key)

    def _make_siblings(self, pending: Pending) -> None:
        for key, label in self._spots:
            parent = parent_of(key)
            if parent and self.store.get(parent) is None:
                continue
            hits = [
                h
                for h in self.tables.hits((*self.store.labels(parent), label))
                if FLAGS.intersection(h[0].columns)
            ]
            for step in (self.store.previous_sibling, self.store.next_sibling) if hits else ():
                near = self.store.near(key, label, step)
                if near is not None and near[0] not in self._came and near[0] not in self._touched:
                    self._make(hits, near, pending, near[0] in self._above)


def attributes_with(entry: Entry, name: str, value: str | None) -> Attributes:
    """The attributes of an element with another value for one of them, or without it."""
    pairs: list[tuple[str, Any]] = list(entry[3])
    names = [each for each, _ in pairs]
    if name in names:
        place = names.index(name)
        pairs[place : place + 1] = [] if value is None else [(name, value)]
    elif value is not None:
        pairs.append((name, value))
    return tuple(pairs)
