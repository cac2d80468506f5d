"""The documents of a database: where their pages are, as a reader sees them and as an open transaction does.

The starts of pages are read once and followed through commits, as references are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nestling.database.accept import known
from nestling.database.rows import RowEvent
from nestling.database.xml.definition import PAGES
from nestling.database.xml.navigation import NavigationTables
from nestling.errors import QueryError
from nestling.xml.patterns import Navigation
from nestling.xml.store import Layer, NodeStore, Pages, Stored

if TYPE_CHECKING:
    from nestling.database.state import Holder
    from nestling.database.transaction import Transaction


class Documents:
    """What is kept in memory beside the tables of documents."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._stored: dict[str, Stored] = {}
        self._navigation: dict[str, NavigationTables] = {}
        #: The transaction whose layers these are, and how many of its events they contain.
        self._owner: Transaction | None = None
        self._seen = 0
        self._layers: dict[str, Layer] = {}
        #: The nodes whose children got other keys, in the order of these events.
        self.renewed: list[tuple[str, str]] = []

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name[len(PAGES) :] for name in self._holder._state.tables if name.startswith(PAGES))

    def check(self, name: object) -> str:
        """Refuse what is no document."""
        if not isinstance(name, str) or name not in self.names:
            raise QueryError(f"there is no document {name!r:.60}", hint=known(self.names))
        return name

    def navigation(self, name: str) -> NavigationTables:
        """The navigation tables of a document."""
        found = self._navigation.get(name)
        if found is None:
            tables: dict[str, Navigation] = {}
            for definition in self._holder._state.xqueries.values():
                tables |= {t.name: t for t in definition.translated.tables if t.document == name}
            found = self._navigation[name] = NavigationTables(tables.values())
        return found

    # -- pages

    def store(self, name: str, change: Transaction | None) -> NodeStore:
        """A document as it is committed, with the changes of ``change``."""
        return NodeStore(self.pages(name, change))

    def pages(self, name: str, change: Transaction | None) -> Pages:
        found = self._stored.get(name)
        if found is None:
            found = self._stored[name] = self._read(name)
        return found if change is None or not change.events else self._layer(name, found, change)

    def _read(self, name: str) -> Stored:
        table = PAGES + name

        def body(start: str) -> bytes:
            row = self._holder._state.engine.by_key(table, (start,))
            assert row is not None, f"the page {start!r} of {name} is missing"
            page: bytes = row[1]
            return page

        return Stored((row[0] for row in self._holder._state.engine.table(table)), body)

    def _layer(self, name: str, below: Stored, change: Transaction) -> Layer:
        if self._owner is not change or self._seen > len(change.events):
            self._owner, self._seen, self._layers = change, 0, {}
        for table, row, times in change.events[self._seen :]:
            if table.startswith(PAGES):
                document = table[len(PAGES) :]
                layer = self._layers.get(document)
                if layer is None:
                    layer = self._layers[document] = Layer(self.pages(document, None))
                layer.put(row[0], row[1] if times > 0 else None)
        self._seen = len(change.events)
        return self._layers.get(name) or Layer(below)

    def follow(self, events: Iterable[RowEvent]) -> None:
        """Pages came and went by a commit."""
        if not self._stored:
            return
        counts: dict[tuple[str, str], int] = {}
        for table, row, times in events:
            if table.startswith(PAGES) and table[len(PAGES) :] in self._stored:
                at = table[len(PAGES) :], row[0]
                counts[at] = counts.get(at, 0) + times
        for (name, start), times in counts.items():
            if times > 0:
                self._stored[name].add(start)
            elif times < 0:
                self._stored[name].remove(start)
        self._owner, self._layers = None, {}

    def forget(self) -> None:
        """What there is has changed in another way: it is read again."""
        self._stored, self._navigation = {}, {}
        self._owner, self._layers = None, {}
