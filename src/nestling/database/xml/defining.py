"""Documents and XQuery views come and go: with their tables and hidden views, all at once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from nestling.calculus.types import Record
from nestling.database.backing import Backing
from nestling.database.definitions import HIDDEN
from nestling.database.names import check_name
from nestling.database.xml.definition import PAGES, XQueryDef, navigation_table, page_table
from nestling.database.xml.handles import Progress, XmlDocument, source_entries, strip_argument
from nestling.database.xml.navigation import NavigationTables, Row
from nestling.database.xml.view import ViewHost, XQueryView
from nestling.errors import QueryError
from nestling.frontend.xquery.branches import TableDocument
from nestling.progress import PATIENCE, shown
from nestling.xml.patterns import Navigation
from nestling.xml.store import packed

#: Longer names would make those of their tables too long.
LONGEST = 120


class DefiningHost(ViewHost, Protocol):
    """A database whose definitions change."""

    def _check_name(self, name: str) -> None:
        """Refuse a name that is taken."""

    def _redefine(self, action: Callable[[], None], store: Callable[[Backing], None]) -> None:
        """Change what is defined, here and in the file, or in neither."""

    def _forget(self, kind: str, name: str, action: Callable[[str], None]) -> None:
        """Forget a definition."""


def open_document(
    db: DefiningHost, name: str, source: Any, whitespace: str, progress: Progress | None
) -> XmlDocument:
    """Load a document; without a source, find it."""
    if source is None:
        return XmlDocument(db, db._documents.check(name))
    _check_new_name(name, "a document")
    strip = strip_argument(whitespace)
    with db._access.defining():
        if name in db._documents.names:
            raise QueryError(
                f"there is a document {name!r} already",
                hint=f"db.document({name!r}) finds it; db.drop({name!r}) first",
            )
        db._check_name(name)
        _check_collections(db, name, "load")
        table = page_table(name)

        def load() -> None:
            pages = packed(source_entries(source, strip, progress))
            db._documents.tables.add_document(table, pages)

        with shown(f"document {name}", PATIENCE):
            db._redefine(load, lambda file: file.define("table", table, db._state))
        db._documents.forget()
    return XmlDocument(db, name)


def define_xquery(
    db: DefiningHost, name: str, text: Any, context: str | None, refresh: str, store: str, strict: bool | None
) -> XQueryView:
    """Define an XQuery view, with the tables and hidden views that keep it."""
    _check_new_name(name, "a view")
    with db._access.defining():
        documents = db._documents.names
        if context is not None:
            db._documents.check(context)
        elif len(documents) == 1:
            context = documents[0]
        there = db._state.xqueries.get(name)
        if there is not None:
            if there == XQueryDef(name, text, there.documents, context, refresh, store, there.tables):
                return XQueryView(db, name)
            raise QueryError(
                f"view {name!r} is already defined, and otherwise", hint=f"db.drop({name!r}) first"
            )
        db._check_name(name)
        definition = _xquery_def(db, XQueryDef(name, text, documents, context, refresh, store))
        missing = [table for table in definition.translated.tables if table.name not in db._state.tables]
        tables = [navigation_table(table) for table in missing]

        def define() -> None:
            db._documents.tables.add_xquery(definition, tables, _rows(db, missing), strict)

        new: list[tuple[str, Any]] = [("table", table) for table in tables]
        new += [("view", view) for view in definition.views]
        new += [("constraint", check) for check in definition.checks]
        db._redefine(define, lambda file: file.redefine([*new, ("xquery", definition)], [], db._state))
        db._documents.forget()
    return XQueryView(db, name)


def _xquery_def(db: DefiningHost, definition: XQueryDef) -> XQueryDef:
    """A definition with the tables that it reads as documents."""
    known = tuple(
        TableDocument(name, table.record, table.key)
        for name, table in db._state.tables.items()
        if not name.startswith(HIDDEN) and isinstance(table.record, Record)
    )
    if not known:
        return definition
    tables = replace(definition, tables=known).translated.rows
    return replace(definition, tables=tables) if tables else definition


def _check_collections(db: DefiningHost, name: str, what: str) -> None:
    """Refuse to change which documents are in a collection that a view reads."""
    for each in db._state.xqueries.values():
        for collection in each.translated.collections:
            if name.startswith(f"{collection}/"):
                raise QueryError(
                    f"{each.name} reads the collection {collection}", hint=f"drop it before you {what} {name}"
                )


def _rows(db: DefiningHost, tables: list[Navigation]) -> dict[str, list[Row]]:
    """The rows of new navigation tables, by one scan of each document."""
    found: dict[str, list[Row]] = {}
    for document in {table.document for table in tables}:
        own = NavigationTables(table for table in tables if table.document == document)
        found |= own.rows(db._documents.store(document, None))
    return found


def drop_xquery(db: DefiningHost, name: str) -> None:
    """Forget an XQuery view, and the tables that no other one reads."""
    definition = db._state.xqueries[name]
    others = [each for each in db._state.xqueries.values() if each.name != name]
    used = {table.name for each in others for table in each.translated.tables}
    tables = [table.name for table in definition.translated.tables if table.name not in used]
    views, checks = [v.name for v in definition.views], [c.name for c in definition.checks]

    gone = [("xquery", name), *(("view", v) for v in views), *(("constraint", c) for c in checks)]
    gone += [("table", table) for table in tables]
    for view in (*views, *checks):
        db._subscribers.evaluate_held(view)
    db._redefine(
        lambda: db._documents.tables.drop_xquery(definition, tables),
        lambda file: file.redefine([], gone, db._state),
    )
    for view in (*views, *checks):
        db._subscribers.forget(view)
    db._xml_watches.forget(name)
    db._documents.forget()


def drop_document(db: DefiningHost, name: str) -> None:
    """Forget a document that no view reads."""
    readers = [
        each.name
        for each in db._state.xqueries.values()
        if any(table.document == name for table in each.translated.tables)
    ]
    if readers:
        raise QueryError(f"{name} is read by {', '.join(readers)}", hint="drop these first")
    _check_collections(db, name, "drop")
    db._forget("table", PAGES + name, db._state.drop_table)
    db._documents.forget()
    db._documents.end_all(name)


def _check_new_name(name: object, what: str) -> None:
    check_name(name, what, "·Δ§")
    assert isinstance(name, str)
    if len(name) > LONGEST:
        raise QueryError(f"the name of {what} has {len(name)} characters", hint=f"{LONGEST} at most")
