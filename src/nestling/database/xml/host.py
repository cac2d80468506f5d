"""What documents, their handles and their views use of a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from nestling.database.access import Access
from nestling.database.state import State
from nestling.database.subscribers import Subscribers
from nestling.database.transaction import Transaction
from nestling.database.xml.navigation import NavigationTables
from nestling.database.xml.tables import DocumentTables
from nestling.xml.store import NodeStore


class DocumentStores(Protocol):
    """The documents of a database."""

    renewed: list[tuple[str, str]]
    tables: DocumentTables

    @property
    def names(self) -> tuple[str, ...]: ...

    def check(self, name: object) -> str:
        """Refuse what is no document."""

    def store(self, name: str, change: Transaction | None) -> NodeStore:
        """A document, with the changes of a transaction."""

    def navigation(self, name: str) -> NavigationTables:
        """The navigation tables of a document."""

    def edit(self, name: str, action: Callable[[Any], object], change: Transaction | None) -> Any:
        """Change a document: in a transaction, or in one of its own, whose ``Refresh`` is returned."""

    def life(self, name: str, key: str) -> Any:
        """That of the node that has a key now; ``is_over`` when it has gone and another has the key."""

    def end_all(self, name: str) -> None:
        """The document is gone, and with it its nodes."""

    def forget(self) -> None:
        """Read everything again."""


class DocumentHost(Protocol):
    """A database that has documents."""

    version: int
    _access: Access
    _subscribers: Subscribers

    @property
    def _state(self) -> State: ...

    @property
    def _documents(self) -> DocumentStores: ...

    def _reading(self, *views: str) -> AbstractContextManager[None]:
        """A block in which the state stays as it is, with the changes of this thread; these views are read."""

    def _reading_documents(self) -> AbstractContextManager[None]:
        """The same for documents alone, over which their reader lays the changes of its transaction."""

    def _verify(self, names: Sequence[str], maps: bool) -> None:
        """Compute views anew from their tables and compare."""

    def _explain_view(self, name: str, format: str, code: bool) -> str:
        """How a view is kept, and what that costs."""
