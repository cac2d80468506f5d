"""The documents of a database: their pages as a reader sees them, and as an open transaction does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol
from weakref import WeakValueDictionary

from nestling.database.accept import known
from nestling.database.refresh import Refresh
from nestling.database.rows import RowEvent
from nestling.database.state import State
from nestling.database.transaction import Transaction, all_or_nothing
from nestling.database.xml.definition import PAGES
from nestling.database.xml.edits import Edit
from nestling.database.xml.navigation import NavigationTables
from nestling.database.xml.tables import DocumentTables
from nestling.database.xml.updates import run_updates
from nestling.errors import QueryError, brief
from nestling.xml.patterns import Navigation
from nestling.xml.store import Layer, NodeStore, Pages


class Transacting(Protocol):
    """Who has a state, and makes transactions on it."""

    @property
    def _state(self) -> State: ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All or nothing."""


class Life:
    """Whether a node may still be there: a key is given to another one when it has gone."""

    def __init__(self) -> None:
        self.is_over = False


class Documents:
    """What is kept in memory beside the tables of documents."""

    def __init__(self, holder: Transacting, tables: DocumentTables) -> None:
        self._holder, self.tables = holder, tables
        self._navigation: dict[str, NavigationTables] = {}
        #: The transaction whose layers these are, and how many of its events they contain.
        self._owner: Transaction | None = None
        self._seen = 0
        self._layers: dict[str, Layer] = {}
        #: The nodes whose children got other keys, in the order of these events.
        self.renewed: list[tuple[str, str]] = []
        #: The nodes, by document and key, of which somebody has a handle.
        self._lives: WeakValueDictionary[tuple[str, str], Life] = WeakValueDictionary()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name[len(PAGES) :] for name in self._holder._state.tables if name.startswith(PAGES))

    def check(self, name: object) -> str:
        """Refuse what is no document."""
        if not isinstance(name, str) or name not in self.names:
            raise QueryError(f"there is no document {brief(name)}", hint=known(self.names))
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

    # -- changes

    def edit(self, name: str, action: Callable[[Edit], object], change: Transaction | None) -> Refresh | None:
        """Change a document by the primitives of an edit: in ``change``, or in a transaction of its own."""
        if change is not None:
            self._edit(change, name, action)
            return None
        with self._holder.transaction() as own:
            self._edit(own, name, action)
        return own.refresh

    def _edit(self, change: Transaction, name: str, action: Callable[[Edit], object]) -> None:
        def make(change: Transaction) -> None:
            edit = self._started(name, change)
            action(edit)
            change.events += self._events([edit])

        all_or_nothing(make)(change)

    def update(self, text: object, change: Transaction) -> None:
        """Run the updates of an XQuery text, all evaluated on the state before it, as one change."""

        def make(change: Transaction) -> None:
            edits: dict[str, Edit] = {}

            def edit(name: str) -> Edit:
                if name not in edits:
                    edits[name] = self._started(name, change)
                return edits[name]

            run_updates(text, lambda name: self.store(self.check(name), change), self.names, edit)
            change.events += self._events(list(edits.values()))

        all_or_nothing(make)(change)

    def _started(self, name: str, change: Transaction) -> Edit:
        return Edit(self.check(name), self.pages(name, change), self.navigation(name), change.stored)

    def _events(self, edits: list[Edit]) -> list[RowEvent]:
        found = [event for edit in edits for event in edit.events()]
        self.renewed += [(edit.document, parent) for edit in edits for parent in edit.renewed]
        if self._lives:
            for edit in edits:
                for key in edit.inserted:
                    self._end(edit.document, key)
        return found

    # -- handles

    def life(self, name: str, key: str) -> Life:
        """That of the node that has a key now."""
        return self._lives.setdefault((name, key), Life())

    def _end(self, name: str, key: str) -> None:
        """A node came at a key: another that had it is gone, whoever still has its handle."""
        life = self._lives.pop((name, key), None)
        if life is not None:
            life.is_over = True

    def end_all(self, name: str) -> None:
        """The document is gone, and with it its nodes."""
        for _, key in [each for each in self._lives if each[0] == name]:
            self._end(name, key)

    # -- pages

    def store(self, name: str, change: Transaction | None) -> NodeStore:
        """A document as it is committed, with the changes of ``change``."""
        return NodeStore(self.pages(name, change))

    def pages(self, name: str, change: Transaction | None) -> Pages:
        found = self.tables.pages(name)
        return found if change is None or not change.events else self._layer(name, found, change)

    def _layer(self, name: str, below: Pages, change: Transaction) -> Layer:
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
        self.tables.follow(events)
        self._owner, self._layers = None, {}

    def forget(self) -> None:
        """What there is has changed in another way: it is read again."""
        self.tables.forget()
        self._navigation = {}
        self._owner, self._layers = None, {}
