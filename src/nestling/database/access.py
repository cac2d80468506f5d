"""Locks around the engine: one writer at a time, and readers that see committed states.

There are two locks. A writer holds ``writing`` from the beginning of its transaction to its end, so that other writers
queue. Every access to the engine holds ``lock``: a reader while it reads, a writer only while its events are applied.
Uncommitted events are not in the engine, unless the transaction's own thread has read a view; then the next other
thread undoes them before it reads. An engine that has snapshots is read without ``lock``: its readers wait for nobody.

Law (13): whatever exception is raised, at whatever line, the next access finds the engine in the state before a change
or after it: an interrupted change is undone, or redone if the file contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock

from nestling.database.journal import Journal, Journals
from nestling.database.state import Holder, State
from nestling.database.transaction import Transaction
from nestling.errors import NestlingError, QueryError


class Access:
    """Guards the access to a database's engine.

    ``recover`` puts an end to a commit that was cut off, or where none was, to whatever else was.
    """

    def __init__(self, holder: Holder, recover: Callable[[Journal | None], None], journals: Journals) -> None:
        self._holder, self._recover, self._journals = holder, recover, journals
        self.writing, self.lock = RLock(), RLock()
        self.open: Transaction | None = None
        self.journal: Journal | None = None

    @property
    def state(self) -> State:
        return self._holder._state

    @property
    def version(self) -> int:
        return self._holder.version

    # -- readers

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The engine holds what this thread may see: what is committed, and the changes of its own transaction."""
        is_nested = self.is_locked
        with self.lock:
            if self.journal is not None or self.open is not None or self.state.engine.is_torn:
                self.prepare(is_nested)
            yield

    @contextmanager
    def looking(self, *views: str, is_overlaid: bool = False) -> Iterator[None]:
        """The same for one reading, of ``views`` or of tables; where there are snapshots, nobody is waited for.

        But a view that is refreshed when it is read, and has changes to see, is: to refresh it is to write.
        ``is_overlaid``: who reads lays the changes of its own transaction over what it finds.
        """
        if not self.state.engine.has_snapshots:
            with self.reading():
                yield
            return
        if not is_overlaid:
            self.check_committed()
        self.mend()
        with ExitStack() as held:
            held.enter_context(self.state.held())
            if any(map(self.state.is_behind, views)):
                held.close()
                with self.reading():
                    for view in views:
                        self.state.refresh(view)
                    held.enter_context(self.state.held())
            yield

    def mend(self) -> None:
        """Recover from what was cut off, unless somebody is at it, or is changing the engine."""
        engine = self.state.engine
        if engine.is_torn or (engine.has_snapshots and self.journal is not None):
            is_nested = self.is_locked
            if self.lock.acquire(blocking=False):
                try:
                    self.recover(is_nested)
                finally:
                    self.lock.release()

    def check_committed(self) -> None:
        """Refuse to read what this thread's transaction has changed, where no engine can show it."""
        if self.state.engine.has_snapshots and self.own is not None and self.own.events:
            raise uncommitted()

    def prepare(self, is_nested: bool) -> None:
        """Bring the engine to what this thread may see."""
        if not self.recover(is_nested) or self.state.engine.has_snapshots:
            return
        change = self.own
        if change is not None and change.events:
            self._try_on(change)

    def recover(self, is_nested: bool) -> bool:
        """Undo what is half done, or another thread's; whether no commit is under way.

        A commit under way in this thread holds the lock already: what finds one otherwise, finds one that was cut off.
        """
        journal = self.journal
        if journal is None:
            if self.state.engine.is_torn:
                self._recover(None)
        elif journal.is_committing and is_nested:
            if journal.is_running:
                raise NestlingError(
                    "the database is used by the thread that is changing it",
                    hint="a signal handler or a finalizer came in between: use it later",
                )
            return False
        elif journal.is_committing:
            self._recover(journal)
        elif journal.torn or not self._is_own(journal):
            self.take_off(journal)
        elif self.state.engine.is_torn:
            journal.restore()
            self._now_applied(journal.applied)
        return True

    def _is_own(self, journal: Journal) -> bool:
        """Whether a journal is that of a transaction which this thread has open."""
        return self.own is not None and self.own.events is journal.events

    def _try_on(self, change: Transaction) -> None:
        """Apply the events of an open transaction for a reading of its own."""
        journal = self.journal = self.journal or self._journals(self.state, change.events)
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

    def retract(self, done: int) -> None:
        """Have no more than ``done`` events of the open transaction in the engine."""
        journal = self.journal
        if journal is not None and journal.applied > done:
            with self.lock:
                self.take_off(journal)

    def _now_applied(self, applied: int) -> None:
        change = self.open
        if change is not None:
            change.stored.rebase(applied)
            change.is_applied = applied > 0
            derived = self.journal.derived if self.journal is not None and applied else ()
            self.state.uncommitted = [*change.events[:applied], *derived]

    # -- writers

    @property
    def is_writing(self) -> bool:
        """Whether this thread is changing the database."""
        return self.writing._is_owned()  # type: ignore[attr-defined, no-any-return]

    @property
    def is_locked(self) -> bool:
        """Whether this thread holds the lock."""
        return self.lock._is_owned()  # type: ignore[attr-defined, no-any-return]

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """No other thread writes."""
        is_nested = self.is_writing
        with self.writing:
            if not is_nested:
                self.open = None  # whose block was cut off before it could say that it is over
            yield

    @property
    def own(self) -> Transaction | None:
        """The transaction that this thread has open."""
        change = self.open
        return change if change is not None and not change.is_over and self.is_writing else None

    def close(self) -> None:
        """The open transaction is over."""
        self.open = None
        self.state.uncommitted = []
        if self.journal is not None:
            with self.reading():
                pass  # takes what the transaction has left in the engine out of it

    @contextmanager
    def defining(self, what: str = "definitions") -> Iterator[None]:
        """Nobody else writes or reads."""
        with self.exclusive():
            if self.open is not None:
                raise QueryError(f"{what} cannot change inside a transaction", hint="commit it first")
            if self.state.is_waiting and self.journal is None:
                yield  # nobody has used the engine, so nothing is half done
                return
            with self.reading():
                yield

    def committing(self, change: Transaction, is_nested: bool) -> Journal:
        """The journal of a transaction that is to be committed; the caller holds ``lock``."""
        if self.journal is not None or self.state.engine.is_torn:
            self.recover(is_nested)
        return self.begin(self.journal or self._journals(self.state, change.events))

    def begin(self, journal: Journal) -> Journal:
        """Commit what is in ``journal``; whoever finds it later recovers."""
        journal.is_committing = True
        self.journal, self.state.uncommitted = journal, []
        return journal


def uncommitted() -> NestlingError:
    """The refusal to read what a transaction has changed, before it ends."""
    return NestlingError(
        "on Spark a view cannot be read inside a transaction", hint="read it after the commit"
    )
