"""Navigation tables: which an entry belongs to, with what row, and their first filling.

Law: after any edits each table equals its definition evaluated over the whole document, but for stamps, which count the
edits below a node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.xml.entries import Entry, Labels, attribute_of, label_of, labelled, listed
from nestling.xml.orderkeys import cut, parent_of
from nestling.xml.patterns import (
    ALL_ATTRIBUTES,
    IS_FIRST,
    IS_LAST,
    LABEL_NAME,
    PARENT,
    STAMP,
    STRING,
    Navigation,
    contexts,
)
from nestling.xml.store import NodeStore

Row = tuple[Any, ...]
#: A table, and the depth of the context from which a node is in it.
Hit = tuple[Navigation, int]
BELOW = frozenset((STRING, STAMP))
FLAGS = frozenset((IS_FIRST, IS_LAST))


class NavigationTables:
    """The navigation tables of one document."""

    def __init__(self, tables: Iterable[Navigation]) -> None:
        self.tables = tuple(tables)
        self._hits: dict[Labels, tuple[Hit, ...]] = {}
        self.have_flags = any(FLAGS.intersection(table.columns) for table in self.tables)
        self.depend_on_below = any(BELOW.intersection(table.columns) for table in self.tables)

    def hits(self, labels: Labels) -> tuple[Hit, ...]:
        """The tables that a node with these labels is in; computed once for each."""
        found = self._hits.get(labels)
        if found is None:
            found = tuple((table, depth) for table in self.tables for depth in contexts(table, labels))
            if len(self._hits) > 100_000:
                self._hits.clear()
            self._hits[labels] = found
        return found

    def rows(self, store: NodeStore) -> dict[str, list[Row]]:
        """The rows of all tables, by one scan."""
        found: dict[str, list[Row]] = {table.name: [] for table in self.tables}
        for labels, entry in labelled(store.scan(), ()):
            for table, depth in self.hits(labels):
                found[table.name].append(row_of(table, depth, entry, store, 0))
        return found


def row_of(table: Navigation, depth: int, entry: Entry, store: NodeStore, stamp: int) -> Row:
    """The row of a node that is in ``table`` from the context at ``depth``."""
    key = entry[0]
    row: list[Any] = [cut(key, depth), key] if table.context else [key]
    for column in table.columns:
        if column == ALL_ATTRIBUTES:
            row.append(listed(entry))
        elif column[0] == "@":
            row.append(attribute_of(entry, column[1:]))
        elif column == STRING:
            row.append(store.string(key))
        elif column == STAMP:
            row.append(stamp)
        elif column == IS_FIRST:
            row.append(int(store.near(key, label_of(entry), store.previous_sibling) is None))
        elif column == IS_LAST:
            row.append(int(store.near(key, label_of(entry), store.next_sibling) is None))
        elif column == LABEL_NAME:
            row.append(label_of(entry))
        else:
            assert column == PARENT
            row.append(parent_of(key))
    return tuple(row)


def row_key(table: Navigation, depth: int, key: str) -> tuple[str, ...]:
    """The key of such a row."""
    return (cut(key, depth), key) if table.is_shared else (key,)
