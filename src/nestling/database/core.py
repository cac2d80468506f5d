"""What a database is made of: its state, who may use it, and how a change of it is committed, or leaves nothing.

Law (13): all of it, or nothing, whatever is raised. Until ``_committed`` has run to its end the journal stays with the
``Access``, and whoever enters next calls ``_recover``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any

from nestling.database.access import Access
from nestling.database.backing import Backing
from nestling.database.constraints import check_state
from nestling.database.door import Doors
from nestling.database.explain import explain
from nestling.database.fed import of_users
from nestling.database.first_column import may_start
from nestling.database.inspect import verify
from nestling.database.journal import Journal, Journals, RowJournal
from nestling.database.languages import Reader
from nestling.database.listing import listed
from nestling.database.log import tell_slow
from nestling.database.logs import Logging
from nestling.database.memory import keep_within_memory
from nestling.database.references import References
from nestling.database.refresh import Refresh
from nestling.database.replan import follow_data
from nestling.database.row_logs import RowLogging
from nestling.database.row_state import RowState
from nestling.database.rows import RowEvent, Shredder
from nestling.database.seen import Seen
from nestling.database.state import Holder, State
from nestling.database.subscribers import Subscribers
from nestling.database.transaction import Transaction
from nestling.database.xml.documents import Documents
from nestling.database.xml.row_documents import RowDocuments
from nestling.database.xml.tables import DocumentTables
from nestling.database.xml.transaction import DocumentTransaction
from nestling.database.xml.watch import XmlWatches
from nestling.errors import ChangeError, QueryError
from nestling.values.bag import EMPTY, ZBag


class Core:
    """The parts of a database, and what is done with all of them. ``Database`` adds what its users call."""

    _state: State

    def __init__(
        self,
        state: State,
        file: Backing | None = None,
        journals: Journals = RowJournal,
        logging: Callable[[Holder], Logging] = RowLogging,
        documents: Callable[[Holder], DocumentTables] = RowDocuments,
        begins: Callable[[bool], None] | None = None,
    ) -> None:
        self._state, self._begins = state, begins
        self._last_refresh = Refresh(0, 0.0, 0, 0)
        self._file = file
        self.version = file.version if file is not None else 0
        self._numbers = file.numbers if file is not None else count()
        self._access = self._accessing(self, self._recover, journals)
        self._references = References(self)
        self._documents = Documents(self, documents(self))
        self._logging: Logging = logging(self)
        self._subscribers = Subscribers(self._access, self._logging)
        self._xml_watches = XmlWatches(self)
        self._doors = Doors(self)
        self._seen = Seen()

    #: Who guards the state.
    _accessing: type[Access] = Access
    #: Whether every change is refused.
    _is_readonly = False
    #: What reads a DataFrame as a query, where one can be a view.
    _read_frame: Reader | None = None

    # -- reading

    def _reading(self, *views: str) -> AbstractContextManager[None]:
        """A block in which the state stays as it is: what is committed, and the changes of this thread."""
        return self._access.looking(*views)

    def _reading_documents(self) -> AbstractContextManager[None]:
        """The same for who reads documents alone, and lays the changes of its own transaction over them."""
        return self._access.looking(is_overlaid=True)

    def _defining(self, what: str) -> AbstractContextManager[None]:
        """A block in which nobody else reads or writes; refused inside a transaction."""
        return self._access.defining(what)

    def _read(self, view: str) -> ZBag:
        """The answer of a view."""
        with self._access.looking(view):
            return self._state.read(view)

    def _rows(self, view: str) -> list[Any] | None:
        """The rows of a view as Python values, where they are made without a bag of them."""
        with self._access.looking(view):
            return listed(self._state, view) if isinstance(self._state, RowState) else None

    def _find(self, view: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""
        with self._access.looking(view):
            if not may_start(self._state.definitions[view].element, first):
                return EMPTY
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

    def _verify(self, names: Sequence[str], maps: bool) -> None:
        """Compute views anew from their tables and compare."""
        self._access.check_committed()
        with self._access.reading():
            verify(self._state, names, maps)

    # -- changes

    @contextmanager
    def transaction(self) -> Iterator[DocumentTransaction]:
        """All or nothing: what is done inside is committed at the end, or undone if anything is refused.

        Other threads see the state before it until it is committed; those that write wait for its end.
        """
        began, access, is_nested = perf_counter(), self._access, self._access.is_writing
        with access.writing:
            change = self._begun(is_nested)
            try:
                access.open = change
                yield change
                change.refresh = self._commit(change, began)
            finally:
                change.is_over = True
                access.close()
        if not is_nested:
            self._tell(change.refresh)

    def _changed(self, act: Callable[[Transaction], None]) -> Refresh:
        """What ``act`` does to a transaction, committed: the block above, without the generator of a block."""
        began, access, is_nested = perf_counter(), self._access, self._access.is_writing
        with access.writing:
            change = self._begun(is_nested)
            try:
                access.open = change
                act(change)
                change.refresh = self._commit(change, began)
            finally:
                change.is_over = True
                access.close()
        if not is_nested:
            self._tell(change.refresh)
        return change.refresh

    def _begun(self, is_nested: bool) -> DocumentTransaction:
        """A transaction; the caller holds ``writing``, and may have held it before."""
        access = self._access
        if self._begins is not None:
            self._begins(is_nested)
        if not is_nested:
            access.open = None  # whose block was cut off before it could say that it is over
        elif access.open is not None:
            raise ChangeError("a transaction is already open", hint="use it, or commit it first")
        if self._state.engine.is_torn:
            with access.reading():
                pass  # what the change is checked against is what is there
        return DocumentTransaction(self._state, self._shredder, access, self, self._documents)

    def _tell(self, refresh: Refresh) -> None:
        """A change was committed: tell who waits for it, and look at plans and memory where that is due."""
        tell_slow(refresh)
        self._deliver()
        if self._state.patience <= 0 or self._state.memory is not None:
            self._look_again(refresh.events)

    @property
    def _is_asked_for_rows(self) -> bool:
        """Whether a file or documents follow the rows of every commit."""
        return self._file is not None or bool(self._documents.names)

    def _deliver(self) -> None:
        """Tell subscribers what was committed; no lock is held."""
        self._subscribers.deliver()
        self._xml_watches.deliver()

    def _shredder(self, table: str) -> Shredder:
        return Shredder(self._state.tables[table], self._numbers)

    def _look_again(self, rows: int) -> None:
        """Store views as their data wants it, and within the memory there is; who holds a change was told of it."""
        state = self._state
        if not state.views.decisions:
            state.patience = float("inf")  # until there is a view to decide for
            return
        with self._access.exclusive(), self._access.reading():
            assert isinstance(self._logging, RowLogging)  # who decides what to store stores it here
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
            check = partial(self._references.check, change) if change.objects.is_followed else None
            return self._run(journal, began, check)

    def _run(
        self, journal: Journal, began: float, check: Callable[[], Sequence[RowEvent] | None] | None = None
    ) -> Refresh:
        """Apply what is in ``journal``, or the events that ``check`` makes of it; the caller holds the lock."""
        try:
            if check is not None and (arranged := check()) is not None:
                journal.replace(arranged)
            journal.run()
            check_state(self._state)
            if self._file is not None and journal.tables:
                self._file.append(journal)
            refresh = self._committed(journal, began)
        except BaseException:
            self._cut_off(journal)
            raise
        if self._file is not None:
            self._file.tidy(self._state)
        return refresh

    def _cut_off(self, journal: Journal) -> None:
        """Something was raised while ``journal`` was committed, or just after: then nothing is left to do."""
        if self._access.journal is journal:
            self._recover(journal)

    def _recover(self, journal: Journal | None) -> None:
        """Put an end to a commit that was cut off: the file has it, or it is undone. Without one, build maps anew."""
        if journal is None:
            self._rebuild()
            return
        is_stored = self._file is not None and self._file.has_stored(self.version)
        journal.undo()
        self._references.forget()
        self._documents.forget()
        self._subscribers.withdraw(self.version)
        if is_stored:
            journal.run()
            self._committed(journal, perf_counter())
        self._access.journal = None

    def _committed(self, journal: Journal, began: float) -> Refresh:
        """The change is stored: tell of it."""
        journal.torn = True  # lazy views are told one after the other
        tables = journal.tables
        return self._noted(journal, began, tables, self._state.statements(tables))

    def _noted(self, journal: Journal, began: float, tables: Mapping[str, int], statements: int) -> Refresh:
        """Tell of rows of ``tables`` that are stored, and count them."""
        events, rows = journal.events, sum(tables.values())
        events = [*events, *journal.derived] if journal.derived else events
        # What changes nothing is not stored, and has no version of its own.
        version = self.version + (rows > 0)
        self._state.committed(events)
        self._references.follow(events)
        self._documents.follow(events)
        changes = self._subscribers.note(version)
        took, recomputed = perf_counter() - began, journal.recomputed
        told = of_users(tables)
        count = rows if told is tables else sum(told.values())
        refresh = Refresh(version, took, count, statements, told, changes, recomputed, *journal.spent)
        self._state.patience -= rows
        for name in tables:
            self._seen.changed[name] = version
        self.version, self._last_refresh, self._access.journal = version, refresh, None
        return refresh

    def _rebuild(self) -> None:
        """Build what is in memory anew, after something was cut off."""
        if self._state.rebuild() and self._file is not None:
            # From what is stored, which may be one change further than what was told.
            self._file.take_up()
            self.version, self._numbers = self._file.version, self._file.numbers
            self._references.forget()
            self._documents.forget()
            self._subscribers.miss(self.version)
            self._xml_watches.miss()
