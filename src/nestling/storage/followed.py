"""A store that is read only, while another process may be writing it.

Law: what is read inside ``moment`` is the store as it was after one change, whole; a reader changes nothing in the file
and keeps no writer waiting.

SQLite's write-ahead log is what makes this so: a reader sees the pages as of its beginning, whatever is appended.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nestling.errors import StoreError
from nestling.storage.claim import reading_here
from nestling.storage.connect import Translated, locate_there, reading_connection
from nestling.storage.copied import copy_store
from nestling.storage.format import (
    check_header,
    check_structure,
    check_version,
    checksum,
    damaged,
    verify,
)
from nestling.storage.lock import identity
from nestling.storage.readable import Readable


class FollowedStore(Readable):
    """The store at ``path``, verified when it is opened, and again where it was replaced by another file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = locate_there(path)
        self._errors = Translated(self.path)
        self._pid, self._depth = os.getpid(), 0
        self._open()

    def _open(self, is_known: bool = False) -> None:
        """Connect to the file, and unless it ``is_known`` check that it is a sound one."""
        with self._errors:
            file = identity(self.path)
            done = reading_here(self.path, file)
            try:
                check_header(self.path)
                self._db, self._is_still = reading_connection(self.path)
            except BaseException:
                done()
                raise
            self._end = weakref.finalize(self, _close, self._db, done, self._pid)
            self._files = file, identity(self._beside)
            self._seen = self._data_version()
            try:
                check_version(self._db, self.path)
                if not is_known:
                    check_structure(self._db, self.path)
            except BaseException:
                self._end()
                raise

    @property
    def _beside(self) -> Path:
        """Where SQLite's readers and writers meet. Who opens and closes the file elsewhere in this process has dropped
        its locks: then a writer that ends takes itself for the last, and removes this."""
        return self.path.with_name(f"{self.path.name}-shm")

    def close(self) -> None:
        """End the use of the file; a second time does nothing."""
        with self._errors:
            self._end()

    @property
    def is_open(self) -> bool:
        return self._end.alive

    def has_moved(self) -> bool:
        """Whether the file has other contents than when this last said so."""
        self._check_usable()
        file = identity(self.path)
        if (file, identity(self._beside)) != self._files and not self._is_still:
            if file == (0, 0):
                raise StoreError(f"{self.path} was deleted while it was open", hint="open it where it is")
            is_known = file == self._files[0]
            self.close()
            self._open(is_known)
            self.doubt()
        seen = self._data_version()
        moved, self._seen = seen != self._seen, seen
        return moved

    def doubt(self) -> None:
        """What was read last was not taken up: it has moved."""
        self._seen = -1

    def _data_version(self) -> int:
        """A number that is another one when somebody has written."""
        if self._is_still:
            return os.stat(self.path).st_mtime_ns
        [(number,)] = self._run("PRAGMA data_version")
        return int(number)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """A block that sees the store as it is after one change."""
        self._run("BEGIN")
        try:
            yield
        finally:
            self._run("COMMIT")

    def take_up(self) -> None:
        """Verify all there is; inside ``moment``."""
        with self._errors:
            self._now = verify(self._db, self.path)

    def entries_after(self, version: int) -> list[tuple[int, str]] | None:
        """The changes after ``version``; None where the log does not reach back to it, or definitions have changed."""
        with self.moment():
            [(at, chunks, edits, found)] = self._run("SELECT * FROM state")
            if found != checksum(b"", "state", at, chunks, edits):
                raise damaged(self.path, "the state is not what was written")
            [(last,)] = self._run("SELECT coalesce(max(seq), ?) FROM log", (at,))
            if edits != self._now.edits or not at <= version <= last:
                return None
            return list(self._entries(version))

    def copy_to(self, path: Path) -> None:
        """Write all there is to another file."""
        self._check_usable()
        copy_store(self._db, path)

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        self._check_usable()
        with self._errors:
            return self._db.execute(statement, values)

    def _check_usable(self) -> None:
        if not self._end.alive:
            raise StoreError(f"{self.path} is closed", hint="open it again")
        if self._pid != os.getpid():
            raise StoreError(f"{self.path} was opened before a fork", hint="open it in this process too")


def _close(db: sqlite3.Connection, done: object, pid: int) -> None:
    if pid == os.getpid():
        db.close()
        assert callable(done)
        done()
