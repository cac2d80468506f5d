"""What a transaction does with documents: the events of edits and of update texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nestling.database.rows import RowEvent
from nestling.errors import ChangeError

if TYPE_CHECKING:
    from nestling.database.core import Core
    from nestling.database.transaction import Transaction
    from nestling.database.xml.edits import Edit
    from nestling.database.xml.handles import XmlDocument


def _embedded(database: Core | None) -> Core:
    if database is None or database._state.engine.is_remote:
        raise ChangeError("documents live in an embedded database", hint='nl.Database("file.nest")')
    return database


def document_in(database: Core | None, name: str, change: Transaction) -> XmlDocument:
    """A document whose changes are part of ``change``."""
    from nestling.database.xml.handles import XmlDocument

    found = _embedded(database)
    return XmlDocument(found, found._documents.check(name), change)


def edit_events(
    database: Core | None, name: str, action: Callable[[Edit], object], change: Transaction
) -> list[RowEvent]:
    """The events that ``action`` comes to."""
    found = _embedded(database)
    edit = _edit(found, name, change)
    action(edit)
    return _events(found, [edit])


def update_events(database: Core | None, text: str, change: Transaction) -> list[RowEvent]:
    """The events that the updates of a text come to."""
    from nestling.database.xml.updates import run_updates

    found = _embedded(database)
    edits: dict[str, Edit] = {}

    def edit(name: str) -> Edit:
        if name not in edits:
            edits[name] = _edit(found, name, change)
        return edits[name]

    documents = found._documents
    run_updates(text, lambda name: documents.store(documents.check(name), change), documents.names, edit)
    return _events(found, list(edits.values()))


def _edit(database: Core, name: str, change: Transaction) -> Edit:
    from nestling.database.xml.edits import Edit

    documents = database._documents
    return Edit(
        documents.check(name), documents.pages(name, change), documents.navigation(name), change.stored
    )


def _events(database: Core, edits: list[Edit]) -> list[RowEvent]:
    found = [event for edit in edits for event in edit.events()]
    database._documents.renewed += [(edit.document, parent) for edit in edits for parent in edit.renewed]
    return found
