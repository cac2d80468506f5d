"""What a database is made of: its state, who may use it, and how a change of it is committed, or leaves nothing.

Law (13): all of it, or nothing, whatever is raised. Until ``_committed`` has run to its end the journal stays with the
``Access``, and whoever enters next calls ``_recover``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from time import perf_counter
from typing import Any

from nestling.database.access import Access
from nestling.database.constraints import check_state
from nestling.database.durable import DatabaseFile
from nestling.database.explain import explain
from nestling.database.inspect import verify
from nestling.database.journal import Journal
from nestling.database.logs import Logging
from nestling.database.memory import keep_within_memory
from nestling.database.references import References
from nestling.database.refresh import Refresh
from nestling.database.replan import follow_data
from nestling.database.rows import Shredder
from nestling.database.state import State
from nestling.database.subscribers import Subscribers
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError, QueryError
from nestling.values.bag import ZBag


class Core:
    """The parts of a database, and what is done with all of them. ``Database`` adds what its users call."""

    _state: State

    def __init__(self, state: State) -> None:
        self._state = state
        self.version = 0
        self._last_refresh = Refresh(0, 0.0, 0, 0)
        self._numbers = count()
        self._file: DatabaseFile | None = None
        self._access = Access(self, self._recover)
        self._references = References(self)
        self._logging = Logging(self)
        self._subscribers = Subscribers(self._access, self._logging)

    # -- reading

    def _reading(self) -> AbstractContextManager[None]:
        """A block in which the state stays as it is: what is committed, and the changes of this thread."""
        return self._access.reading()

    def _defining(self, what: str) -> AbstractContextManager[None]:
        """A block in which nobody else reads or writes; refused inside a transaction."""
        return self._access.defining(what)

    def _read(self, view: str) -> ZBag:
        """The answer of a view."""
        with self._access.reading():
            return self._state.read(view)

    def _find(self, view: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        with self._access.reading():
            return self._state.find(view, first)

    def _table_df(self, table: str) -> Any:
        """A table as a DataFrame, of a database on Spark."""
        raise QueryError(
            f"{table} is not on Spark", hint="spark.createDataFrame(table.rows()) makes a DataFrame of it"
        )

    def _explain_view(self, name: str, format: str, code: bool) -> str:
        """How a view is kept, and what that costs."""
        with self._access.reading():
            return explain(self._state, name, format, code)

    def _verify_view(self, name: str, maps: bool) -> None:
        """Compute a view anew from its tables and compare."""
        with self._access.reading():
            verify(self._state, name, maps)

    # -- changes

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All or nothing: what is done inside is committed at the end, or undone if anything is refused.

        Other threads see the state before it until it is committed; those that write wait for its end.
        """
        began, access = perf_counter(), self._access
        is_nested = access.writing._is_owned()  # type: ignore[attr-defined]
        with access.writing:  # as in ``Access.exclusive``, which would cost one row a tenth more
            if not is_nested:
                access.open = None
            elif access.open is not None:
                raise ChangeError("a transaction is already open", hint="use it, or commit it first")
            change = self._transaction()
            try:
                access.open = change
                yield change
                change.refresh = self._commit(change, began)
            finally:
                change.is_over = True
                access.close()
        if not is_nested:
            self._subscribers.deliver()
            if self._state.patience <= 0 or self._state.memory is not None:
                self._look_again(change.refresh.events)

    def _transaction(self) -> Transaction:
        return Transaction(self._state, self._shredder, self._access)

    def _shredder(self, table: str) -> Shredder:
        return Shredder(self._state.tables[table], self._numbers)

    def _look_again(self, rows: int) -> None:
        """Store views as their data wants it, and within the memory there is; who holds a change was told of it."""
        state = self._state
        if not state.views.decisions:
            state.patience = float("inf")  # until there is a view to decide for
            return
        with self._access.exclusive(), self._access.reading():
            state.version = self.version
            if state.patience <= 0:
                follow_data(self._logging, self._file, rows)
            keep_within_memory(self._logging, self._file)

    # -- the end of a transaction

    def _commit(self, change: Transaction, began: float) -> Refresh:
        """Apply the events, check what they lead to, and store them; nobody reads meanwhile."""
        is_nested = self._access.is_locked
        with self._access.lock:
            journal = self._access.committing(change, is_nested)
            try:
                if (arranged := self._references.check(change)) is not None:
                    journal.replace(arranged)
                journal.run()
                check_state(self._state)
                if self._file is not None and journal.events:
                    self._file.append(journal.events)
                refresh = self._committed(journal, began)
            except BaseException:
                self._recover(journal)
                raise
            if self._file is not None:
                self._file.tidy(self._state)
            return refresh

    def _recover(self, journal: Journal) -> None:
        """Put an end to a commit that was cut off: the file has it, or it is undone."""
        is_stored = self._file is not None and self._file.stored_version() > self.version
        journal.undo()
        self._references.forget()
        self._subscribers.withdraw(self.version)
        if is_stored:
            journal.run()
            self._committed(journal, perf_counter())
        self._access.journal = None

    def _committed(self, journal: Journal, began: float) -> Refresh:
        """The change is stored: tell of it."""
        journal.torn = True  # lazy views are told one after the other
        events = journal.events
        version = self.version + bool(
            events
        )  # what changes nothing is not stored, and has no version of its own
        self._state.committed(events)
        self._references.follow(events)
        tables: dict[str, int] = {}
        for event in events:
            tables[event.table] = tables.get(event.table, 0) + 1
        changes = self._subscribers.note(version)
        statements = sum([self._state.statements_of(table) * n for table, n in tables.items()])
        refresh = Refresh(version, perf_counter() - began, len(events), statements, tables, changes)
        self._state.patience -= len(events)
        self.version, self._last_refresh, self._access.journal = version, refresh, None
        return refresh
