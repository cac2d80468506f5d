"""``Database(path, readonly=True)``: a database in a file that another process may be writing.

Law: every reading answers as of one committed change, the last there was when it began; whatever the writer does
meanwhile, and whether there is one. Nothing is written.

The changes since are in the file's log. They go through the same triggers as the writer's, so that following costs what
the changes are worth; where definitions changed, or the log was put into a snapshot meanwhile, the file is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from nestling.database import arguments
from nestling.database.access import Access
from nestling.database.backing import Backing
from nestling.database.closed import Closed
from nestling.database.core import Core
from nestling.database.database import Database
from nestling.database.durable import DatabaseFile
from nestling.database.journal import Journal, RowJournal
from nestling.database.reopen import Reopening
from nestling.database.row_state import RowState
from nestling.database.state import State
from nestling.database.table import Table
from nestling.database.xml.transaction import DocumentTransaction
from nestling.depth import room
from nestling.errors import ChangeError, QueryError, StoreError
from nestling.storage.followed import FollowedStore

_HINT = "change it in the process that writes it; one opened without readonly=True is that"


class FollowedFile(DatabaseFile):
    """The file of another process. What is asked to be stored is stored there already."""

    store: FollowedStore  # type: ignore[assignment]  # which reads only

    def __init__(self, path: Path) -> None:
        super().__init__(path, FollowedStore)

    def load(self, state: RowState) -> None:
        """Bring ``state`` to where the file is, as of one moment."""
        with self.store.moment():
            self.store.take_up()
            super().load(state)

    def append(self, journal: Journal) -> None:
        """It was read from there."""

    def has_stored(self, version: int) -> bool:
        """What was cut off is read again."""
        return False

    def tidy(self, state: State) -> None:
        """That is the writer's."""

    def define_again(self, names: Iterable[str], state: State) -> None:
        """How views are stored here is no matter of the file."""


class FollowingAccess(Access):
    """Readers first take up what was committed since; ``follow`` does it, and ``after`` tells of it, without a lock."""

    follow: Callable[[], None]
    after: Callable[[], None]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The engine holds what is committed in the file."""
        if self.is_locked:
            with super().reading():
                yield
            return
        with self.lock:
            if not isinstance(self.state, Closed):
                self.follow()
            with super().reading():
                yield
        self.after()


class FollowingDatabase(Database):
    """A database that is read, and that another process may change."""

    _accessing, _is_readonly = FollowingAccess, True
    _access: FollowingAccess
    _file: FollowedFile

    def __init__(
        self, path: str | Path | None = None, *, memory: Any = None, spark: Any = None, readonly: bool = True
    ) -> None:
        if path is None or path == ":memory:":
            raise StoreError(
                "a database in memory has no file to follow", hint='nl.Database("shop.nest", readonly=True)'
            )
        if memory is not None:
            raise QueryError("memory is the writer's to limit", hint="leave it out with readonly=True")
        file = FollowedFile(arguments.path_argument(path))
        Core.__init__(self, RowState())
        self._doors.are_open = False
        self._access.follow, self._access.after = self._catch_up, self._deliver
        self._load(file, self._state)
        self._reopening = Reopening(self._state)

    def follow(self) -> int:
        """Take up what the writer has committed since the last reading, as every reading does; the version there is.

        Subscribers hear of it then, each change by itself unless the file had to be read anew.
        """
        with self._access.reading():
            return self.version

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        with self._access.reading():
            return super().tables

    @property
    def views(self) -> Mapping[str, Any]:
        """The views by name."""
        with self._access.reading():
            return super().views

    # -- following

    def _catch_up(self) -> None:
        """Bring the state to where the file is; the caller holds the lock."""
        if self._access.journal is not None or self._state.engine.is_torn:
            self._access.recover(False)
            self._file.store.doubt()
        if not self._file.store.has_moved():
            return
        try:
            entries = self._file.store.entries_after(self.version)
            if entries is None:
                self._read_anew()
                return
            for number, text in entries:
                self._replay(number, text)
        except BaseException:
            self._file.store.doubt()
            raise

    @room()
    def _replay(self, number: int, text: str) -> None:
        journal = self._access.begin(RowJournal(self._state, self._reopening.events(text), is_replayed=True))
        self._run(journal, perf_counter())
        self.version = number

    @room()
    def _read_anew(self) -> None:
        """Another state, from the file as it is; who subscribed to a view that is still there goes on."""
        state, watched = RowState(), self._subscribers.watched
        self._file.load(state)
        for name in watched:
            self._subscribers.evaluate_held(name)
        self._state, self.version = state, self._file.version
        self._reopening = Reopening(state)
        self._references.forget()
        self._documents.forget()
        for name in watched:
            if name in state.views:
                self._logging.start(name)
            else:
                self._subscribers.forget(name)
        self._subscribers.miss(self.version)
        self._xml_watches.miss()

    # -- what is refused

    def _begun(self, is_nested: bool) -> DocumentTransaction:
        raise ChangeError(f"{self._file.store.path} is open for reading only", hint=_HINT)

    def _redefine(self, action: Callable[[], None], store: Callable[[Backing], None]) -> None:
        raise QueryError(f"{self._file.store.path} is open for reading only", hint=_HINT)

    def _look_again(self, rows: int) -> None:
        """How views are stored is the writer's to decide."""
