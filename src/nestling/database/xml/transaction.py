"""Transactions that change documents beside tables."""

from __future__ import annotations

from nestling.database.changing import Shredders
from nestling.database.state import State
from nestling.database.transaction import Applying, Transaction
from nestling.database.xml.documents import Documents
from nestling.database.xml.handles import XmlDocument
from nestling.database.xml.host import DocumentHost


class DocumentTransaction(Transaction):
    """A transaction of a database that has documents."""

    def __init__(
        self, state: State, shredder: Shredders, access: Applying, host: DocumentHost, documents: Documents
    ) -> None:
        super().__init__(state, shredder, access)
        self._host, self._documents = host, documents

    def document(self, name: str) -> XmlDocument:
        """A document whose changes are part of this transaction."""
        return XmlDocument(self._host, self._documents.check(name), self)

    def xquery(self, text: str) -> None:
        """Run the updates of an XQuery text: all are evaluated on the state before it."""
        self._documents.update(text, self)
