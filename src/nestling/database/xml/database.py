"""What a database has for documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.database import arguments
from nestling.database.exporting import Exporting
from nestling.database.refresh import Refresh
from nestling.database.xml.defining import open_document
from nestling.database.xml.handles import Progress, XmlDocument


class DocumentDatabase(Exporting):
    """A database that holds XML documents beside tables."""

    @property
    def documents(self) -> Mapping[str, XmlDocument]:
        """The documents by name."""
        return {name: XmlDocument(self, name) for name in self._documents.names}

    def document(
        self, name: str, source: Any = None, *, whitespace: str = "keep", progress: Progress | None = None
    ) -> XmlDocument:
        """Load an XML document: from a path, a file, bytes, markup or an lxml tree; without a source, find it.

        ``whitespace="strip"`` leaves texts of white space alone out. ``progress(done, total)`` is told as it is read.
        """
        return open_document(self, arguments.name_argument(name, "document"), source, whitespace, progress)

    def xquery(self, text: str) -> Refresh:
        """Run the updates of an XQuery text, all of them evaluated on the state before, in one transaction."""
        with self.transaction() as change:
            change.xquery(text)
        return change.refresh
