"""XQuery views as they are defined and stored: a text, the document that ``/`` means, and the hidden views and tables.

An XQuery view is kept by ordinary views over ordinary tables, whose names begin with ``§``: ``§d NAME`` holds the
pages of a document, ``§n …`` a navigation table, ``§v NAME 0`` the rows of a view, ``§c NAME 0`` a check of it, which
must stay empty.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property

from nestling.calculus.types import SCALARS, STR, Record, Scalar
from nestling.database.definitions import HIDDEN, TableDef, ViewDef
from nestling.errors import QueryError, StoreError
from nestling.frontend.xquery import TranslatedQuery, translate
from nestling.frontend.xquery.branches import TableDocument, row_type
from nestling.xml.patterns import Navigation

PAGES = "§d "
_MEMBERS = ("text", "documents", "context", "refresh", "store")
#: A table that is read as a document, as a file has it: its name, its key, and each column with its type.
_StoredTable = tuple[str, list[str], list[tuple[str, str, bool]]]


@dataclass(frozen=True)
class XQueryDef:
    """An XQuery view. ``documents`` are those there were when it was defined, ``context`` the one that ``/`` means,
    ``tables`` those that it reads as documents.
    """

    name: str
    text: str
    documents: tuple[str, ...]
    context: str | None
    refresh: str = "eager"
    store: str = "auto"
    tables: tuple[TableDocument, ...] = ()

    @cached_property
    def translated(self) -> TranslatedQuery:
        return translate(self.text, self.documents, self.context, self.tables)

    @cached_property
    def views(self) -> tuple[ViewDef, ...]:
        """The hidden views that hold its rows."""
        return tuple(
            ViewDef(f"§v {self.name} {number}", query, self.refresh, self.store)
            for number, query in enumerate(self.translated.views)
        )

    @cached_property
    def checks(self) -> tuple[ViewDef, ...]:
        """The hidden views that must stay empty."""
        return tuple(
            ViewDef(f"§c {self.name} {number}", check.query)
            for number, check in enumerate(self.translated.checks)
        )

    def message(self, hidden: str) -> str | None:
        """What it means that one of its checks is not empty."""
        for check, view in zip(self.translated.checks, self.checks, strict=True):
            if view.name == hidden:
                return f"{self.name}: {check.message}"
        return None


def public(name: str) -> str:
    """A name that users may have given; ``KeyError`` where it is one of ours."""
    if isinstance(name, str) and name.startswith(HIDDEN):
        raise KeyError(name)
    return name


def view_of(name: str) -> str:
    """The name of the view that users know, of one of its hidden views.

    >>> view_of("§v dear 0"), view_of("dear")
    ('dear', 'dear')
    """
    return name[3:].rpartition(" ")[0] if name.startswith(HIDDEN) else name


def listed(names: Iterable[str]) -> str:
    """The names among these that users have given."""
    return ", ".join([name for name in names if not name.startswith(HIDDEN)]) or "none yet"


def page_table(document: str) -> TableDef:
    """The table of a document's pages."""
    return TableDef(PAGES + document, Record((("start", STR), ("body", Scalar("bytes")))), ("start",))


def navigation_table(table: Navigation) -> TableDef:
    """A navigation table, as the database declares it."""
    return TableDef(table.name, row_type(table), ("ctx", "id") if table.is_shared else ("id",))


def xquery_text(definition: XQueryDef) -> str:
    """What a file has of an XQuery view."""
    members: dict[str, object] = {name: getattr(definition, name) for name in _MEMBERS}
    if definition.tables:
        members["tables"] = [_stored(table) for table in definition.tables]
    return json.dumps(members)


def _stored(table: TableDocument) -> _StoredTable:
    columns = [(name, t.name, t.nullable) for name, t in table.record.fields if isinstance(t, Scalar)]
    return table.name, list(table.key), columns


def _read_tables(stored: list[_StoredTable]) -> tuple[TableDocument, ...]:
    found = []
    for name, key, columns in stored:
        fields = tuple((column, Scalar(type_, nullable)) for column, type_, nullable in columns)
        is_sound = all(type_ in SCALARS and nullable in (True, False) for _, type_, nullable in columns)
        if not is_sound or not all(
            isinstance(each, str) for each in (name, *key, *(c for c, _, _ in columns))
        ):
            raise ValueError("a table of it is none")
        found.append(TableDocument(name, Record(fields), tuple(key)))
    return tuple(found)


def read_xquery(name: str, text: str) -> XQueryDef:
    """The XQuery view that a file has."""
    try:
        stored = json.loads(text)
        documents, context = stored["documents"], stored["context"]
        parts = [stored[each] for each in ("text", "refresh", "store")]
        tables = _read_tables(stored.get("tables", []))
        is_sound = set(stored) - {"tables"} == set(_MEMBERS) and all(
            isinstance(each, str) for each in (*parts, *documents)
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"it is no XQuery view: {error}") from error
    if not is_sound or not isinstance(context, str | None):
        raise StoreError("it is no XQuery view")
    definition = XQueryDef(name, parts[0], tuple(documents), context, parts[1], parts[2], tables)
    try:
        definition.translated  # noqa: B018 (it is translated here, so that a bad text is refused here)
    except QueryError as error:
        raise StoreError(error.what) from error
    return definition


def check_kept(definition: XQueryDef, tables: Container[str], views: Container[str]) -> None:
    """Refuse an XQuery view of a file that lacks what keeps it."""
    names = [PAGES + table.document for table in definition.translated.tables]
    names += [table.name for table in definition.translated.tables]
    names += [table.name for table in definition.tables]
    if not all(name in tables for name in names):
        raise StoreError("a table that keeps it is missing, as where another version made it")
    if not all(view.name in views for view in (*definition.views, *definition.checks)):
        raise StoreError("a view that keeps it is missing")
