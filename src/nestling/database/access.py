"""Who may use the engine, and when: one writer at a time, and readers who see what is committed.

Two locks. A writer holds ``writing`` from the beginning of its transaction to its end, so that others queue. Whoever
looks at the engine holds ``lock``: a reader while it reads, a writer only while its events are applied. What a
transaction has not committed is not in the engine, unless its own thread has read a view; then the next other thread
takes it out again before it reads.

Law (13): whatever is raised, and wherever, the next who enters finds the engine as it was before a change or after it,
never in between: a change that was cut off is undone, or done again where the file has it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import TYPE_CHECKING

from nestling.database.commit import recover
from nestling.database.journal import Journal
from nestling.database.overlay import Overlay
from nestling.database.state import State
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError, NestlingError, QueryError

if TYPE_CHECKING:
    from nestling.database.database import Database


class Access:
    """The way to the engine of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.writing, self.lock = RLock(), RLock()
        self.open: Transaction | None = None
        self.journal: Journal | None = None

    @property
    def state(self) -> State:
        return self._database.state

    # -- readers

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The engine holds what this thread may see: what is committed, and the changes of its own transaction."""
        with self.lock:
            if self.journal is not None or self.open is not None or self.state.engine.is_torn:
                self.prepare()
            yield

    def prepare(self) -> None:
        """Bring the engine to what this thread may see."""
        self.settle()
        change = self.open
        if change is None or change.is_over or change.thread != get_ident():
            return
        # On Spark a view is not brought up to date before the commit; reading it there says so.
        if change.events and isinstance(change.stored, Overlay):
            self._try_on(change)

    def settle(self) -> None:
        """Leave nothing in the engine that is half done, or another thread's."""
        journal = self.journal
        if journal is None:
            if self.state.engine.is_torn:
                self.state.rebuild()
            return
        if journal.active:
            raise NestlingError(
                "the database is used by the thread that is changing it",
                hint="a signal handler or finalizer came in between: use it later",
            )
        if journal.is_committing:
            recover(self._database, journal)
        elif journal.torn or journal.thread != get_ident() or self.open is None:
            self.take_off(journal)
        elif self.state.engine.is_torn:
            journal.restore()
            self._now_applied(journal.applied)

    def _try_on(self, change: Transaction) -> None:
        """Apply the events of an open transaction for a reading of its own."""
        journal = self.journal = self.journal or Journal(self.state, change.events)
        change.is_applied = True
        try:
            journal.run()
        except BaseException:
            self.take_off(journal)
            raise
        self._now_applied(journal.applied)

    def take_off(self, journal: Journal) -> None:
        """Take the events of an open transaction out of the engine."""
        journal.undo()
        self._now_applied(0)
        self.journal = None

    def _now_applied(self, applied: int) -> None:
        change = self.open
        if change is not None and isinstance(change.stored, Overlay):
            change.stored.rebase(applied)
            change.is_applied = applied > 0
            self.state.uncommitted = change.events[:applied]

    # -- writers

    @property
    def is_writing(self) -> bool:
        """Whether this thread is changing the database."""
        return self.writing._is_owned()  # type: ignore[attr-defined, no-any-return]

    @contextmanager
    def transaction(self, make: Callable[[], Transaction]) -> Iterator[Transaction]:
        """A transaction, when those before it have ended; over at the end of the block, whatever happens in it."""
        with self.writing:
            if self.open is not None and not self.open.is_over:
                raise ChangeError("a transaction is already open", hint="use it, or commit it first")
            change = self.open = make()
            try:
                yield change
            finally:
                change.is_over = True
                self._close(change)

    def _close(self, change: Transaction) -> None:
        try:
            journal = self.journal
            if journal is not None and not journal.is_committing:
                with self.lock:
                    self.take_off(journal)
        finally:
            # What could not be taken out now, whoever enters next takes out.
            self.open, self.state.uncommitted = None, []

    @contextmanager
    def defining(self, what: str = "definitions") -> Iterator[None]:
        """Nobody else writes or reads."""
        with self.writing, self.lock:
            if self.open is not None and not self.open.is_over:
                raise QueryError(f"{what} cannot change inside a transaction", hint="commit it first")
            self.settle()
            yield

    def committing(self, change: Transaction) -> Journal:
        """The journal of a transaction that is to be committed; the caller holds ``lock``."""
        self.settle()
        journal = self.journal or Journal(self.state, change.events)
        journal.active = journal.is_committing = True
        self.journal, self.state.uncommitted = journal, []
        return journal
