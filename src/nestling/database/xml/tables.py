"""How the tables of documents are kept: what a state in this process and one over a lake do each in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from nestling.database.definitions import TableDef
from nestling.database.rows import Row, RowEvent
from nestling.database.xml.definition import XQueryDef
from nestling.errors import QueryError, StoreError
from nestling.xml.store import Pages


class DocumentTables(Protocol):
    """The tables of pages, and the tables and hidden views that keep XQuery views, of one database."""

    def add_document(self, table: TableDef, pages: Iterable[Row]) -> None:
        """Have one more table of pages, with these in it."""

    def add_xquery(
        self, definition: XQueryDef, tables: Sequence[TableDef], rows: Mapping[str, list[Row]], strict: Any
    ) -> None:
        """Have one more XQuery view: new navigation tables with their rows, and its hidden views and checks."""

    def drop_xquery(self, definition: XQueryDef, tables: Sequence[str]) -> None:
        """Have it no more, nor these tables."""

    def pages(self, document: str) -> Pages:
        """The pages of a document, as this thread sees it, without the changes of an open transaction."""

    def follow(self, events: Iterable[RowEvent]) -> None:
        """Rows came and went by a commit."""

    def forget(self) -> None:
        """What there is has changed in another way: it is read again."""


def check_first(document: str, starts: Iterable[str]) -> None:
    """Refuse a document without the page that every key is looked for from."""
    if "" not in starts:
        raise StoreError(f"the first page of {document} is missing", hint="restore it from a copy")


def not_empty(definition: XQueryDef, check: str) -> QueryError:
    """The refusal of an XQuery view of which a check is not empty."""
    return QueryError(f"{definition.message(check)}, and has not", hint="change the document, or the query")
