"""Documents and XQuery views come and go: with their tables and hidden views, all at once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from nestling.calculus.types import Record
from nestling.database.backing import Backing
from nestling.database.durable import DatabaseFile
from nestling.database.names import check_name
from nestling.database.row_state import RowState
from nestling.database.xml.definition import HIDDEN, PAGES, XQueryDef, navigation_table, page_table
from nestling.database.xml.handles import Progress, XmlDocument, source_entries
from nestling.database.xml.navigation import NavigationTables
from nestling.database.xml.view import ViewHost, XQueryView
from nestling.errors import QueryError, shown
from nestling.frontend.xquery.branches import TableDocument
from nestling.xml.store import NodeStore, packed

#: Longer names would make those of their tables too long.
LONGEST = 120
_BATCH = 256


class DefiningHost(ViewHost, Protocol):
    """A database whose definitions change."""

    @property
    def _state(self) -> RowState: ...

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
    embedded(db)
    if source is None:
        return XmlDocument(db, db._documents.check(name))
    _check_new_name(name, "a document")
    if whitespace not in ("keep", "strip"):
        raise QueryError(f"whitespace={shown(whitespace)} is unknown", hint='"keep" or "strip"')
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
            db._state.add_table(table)
            pages: list[tuple[tuple[Any, ...], int]] = []
            for page in packed(source_entries(source, whitespace == "strip", progress)):
                pages.append((page, 1))
                if len(pages) == _BATCH:
                    db._state.engine.batches[table.name](pages)
                    pages = []
            db._state.engine.batches[table.name](pages)

        db._redefine(load, lambda file: file.define("table", table, db._state))
        db._documents.forget()
    return XmlDocument(db, name)


def define_xquery(
    db: DefiningHost, name: str, text: Any, context: str | None, refresh: str, store: str, strict: bool | None
) -> XQueryView:
    """Define an XQuery view, with the tables and hidden views that keep it."""
    embedded(db)
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
        tables = [table for table in definition.translated.tables if table.name not in db._state.tables]

        def define() -> None:
            state = db._state
            for table in tables:
                state.tables[table.name] = navigation_table(table)
            state.reinstall()
            _fill(db, tables)
            for view in definition.views:
                state.add_view(view, strict=strict)
            for check in definition.checks:
                state.define(check, constraint=True)
                state.reinstall()
                if state.read(check.name):
                    raise QueryError(
                        f"{definition.message(check.name)}, and has not",
                        hint="change the document, or the query",
                    )
            state.xqueries[name] = definition

        new: list[tuple[str, Any]] = [("table", navigation_table(table)) for table in tables]
        new += [("view", view) for view in definition.views]
        new += [("constraint", check) for check in definition.checks]
        db._redefine(define, lambda file: _file(file).redefine([*new, ("xquery", definition)], [], db._state))
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


def _file(backing: Backing) -> DatabaseFile:
    assert isinstance(backing, DatabaseFile)  # documents live in an embedded database
    return backing


def _fill(db: DefiningHost, tables: list[Any]) -> None:
    for document in {table.document for table in tables}:
        new = NavigationTables(table for table in tables if table.document == document)
        store: NodeStore = db._documents.store(document, None)
        for name, rows in new.rows(store).items():
            if rows:
                db._state.engine.batches[name]([(row, 1) for row in rows])


def drop_xquery(db: DefiningHost, name: str) -> None:
    """Forget an XQuery view, and the tables that no other one reads."""
    definition = db._state.xqueries[name]
    others = [each for each in db._state.xqueries.values() if each.name != name]
    used = {table.name for each in others for table in each.translated.tables}
    tables = [table.name for table in definition.translated.tables if table.name not in used]
    views, checks = [v.name for v in definition.views], [c.name for c in definition.checks]

    def drop() -> None:
        state = db._state
        del state.xqueries[name]
        for view in (*views, *checks):
            state.views = state.views.without(view)
        for table in tables:
            del state.tables[table]
        state.reinstall()

    gone = [("xquery", name), *(("view", v) for v in views), *(("constraint", c) for c in checks)]
    gone += [("table", table) for table in tables]
    for view in (*views, *checks):
        db._subscribers.evaluate_held(view)
    db._redefine(drop, lambda file: _file(file).redefine([], gone, db._state))
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


def embedded(db: DefiningHost) -> None:
    """Refuse documents where they do not live."""
    if db._state.engine.is_remote:
        raise QueryError("documents live in an embedded database", hint='nl.Database("file.nest")')


def _check_new_name(name: object, what: str) -> None:
    check_name(name, what, "·Δ§")
    assert isinstance(name, str)
    if len(name) > LONGEST:
        raise QueryError(f"the name of {what} has {len(name)} characters", hint=f"{LONGEST} at most")
