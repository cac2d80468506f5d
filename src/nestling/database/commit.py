"""The end of a transaction: its events are applied, checked and stored, or nothing of it is left.

Law (13): all of it, or nothing, whatever is raised. Until ``_committed`` has run to its end the journal stays with the
``Access``, and whoever enters next calls ``recover``.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from nestling.database.constraints import check_state
from nestling.database.journal import Journal
from nestling.database.refresh import Refresh
from nestling.database.transaction import Transaction

if TYPE_CHECKING:
    from nestling.database.database import Database


def commit(db: Database, change: Transaction, began: float) -> Refresh:
    """Apply the events, check what they lead to, and store them; nobody reads meanwhile."""
    is_nested = db._access.is_locked
    with db._access.lock:
        refresh = _stored(db, db._access.committing(change, is_nested), began)
        if db._file is not None:
            db._file.tidy(db.state)
        return refresh


def _stored(db: Database, journal: Journal, began: float) -> Refresh:
    try:
        journal.run()
        check_state(db.state)
        db._references.check(journal.events)
        if db._file is not None and journal.events:
            db._file.append(journal.events)
        return _committed(db, journal, began)
    except BaseException:
        recover(db, journal)
        raise


def recover(db: Database, journal: Journal) -> None:
    """Put an end to a commit that was cut off: the file has it, or it is undone."""
    is_stored = db._file is not None and db._file.stored_version() > db.version
    journal.undo()
    db._references.forget()
    db.subscribers.withdraw(db.version)
    if is_stored:
        journal.run()
        _committed(db, journal, perf_counter())
    db._access.journal = None


def _committed(db: Database, journal: Journal, began: float) -> Refresh:
    """The change is stored: tell of it."""
    journal.torn = True  # lazy views are told one after the other
    events = journal.events
    version = db.version + bool(events)  # what changes nothing is not stored, and has no version of its own
    db.state.committed(events)
    db._references.follow(events)
    tables: dict[str, int] = {}
    for event in events:
        tables[event.table] = tables.get(event.table, 0) + 1
    changes = db.subscribers.note(version)
    statements = sum([db.state.statements_of(table) * n for table, n in tables.items()])
    refresh = Refresh(version, perf_counter() - began, len(events), statements, tables, changes)
    db.version, db.last_refresh, db._access.journal = version, refresh, None
    return refresh
