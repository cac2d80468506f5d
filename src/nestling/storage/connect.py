"""From a path to a verified database connection, with SQLite's errors in words that say what to do.

Law: a file that is refused is left byte for byte as it was, and so is its write-ahead log. It is verified
through a connection that cannot write; only then is one opened that can.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import TracebackType

from nestling.errors import StoreError
from nestling.storage.claim import Claim
from nestling.storage.format import (
    EMPTY,
    NEW,
    SCHEMA,
    VERSION,
    Contents,
    check_header,
    check_structure,
    check_version,
    damaged,
    is_shaped_alike,
    migrate,
    verify,
)
from nestling.storage.lock import in_use

#: Pages of the write-ahead log before they are moved to the file: 16 MB. Fewer cost syncs, more cost space.
CHECKPOINT = 4000
PATIENCE = 5.0  # seconds to wait for another program, such as the shell of SQLite, that looks into the file


def locate(path: str | os.PathLike[str], create: bool) -> Path:
    """Where the store is or will be; refuse what cannot be one, before anything is made beside it."""
    try:
        where = Path(path).resolve()
        if where.exists():
            _check_file(where)
        else:
            _check_absent(where, create)
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, a zero byte, a loop of links
        raise StoreError(f"{str(path)!r} cannot be a path: {error}", hint="choose another name") from error
    return where


def locate_there(path: str | os.PathLike[str]) -> Path:
    """Where a store is that is only read."""
    try:
        where = Path(path).resolve()
        if not where.exists():
            raise StoreError(f"{where} does not exist", hint="check the name; who reads makes no file")
        _check_regular(where)
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreError(f"{str(path)!r} cannot be a path: {error}", hint="choose another name") from error
    if not os.access(where, os.R_OK):
        raise StoreError(f"{where} may not be read", hint="change its permissions, or copy it")
    return where


def reading_connection(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection that cannot write; and whether it takes the file to be one that nobody changes.

    Readers and writers meet in a file beside it. Where none can be made, in a folder that cannot be written, there is
    no writer either, unless it is somebody who may: then the time of the file tells.
    """
    db = _connection(path, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM state").fetchone()
    except sqlite3.OperationalError:
        db.close()
        if _size(_wal(path)) or os.access(path.parent, os.W_OK):
            raise
        return _connection(path, "immutable=1"), True
    return db, False


def _check_file(path: Path) -> None:
    _check_regular(path)
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreError(f"{path} may not be read and written", hint="change its permissions, or copy it")


def _check_regular(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a directory", hint="name a file in it")
    if not path.is_file():
        raise StoreError(f"{path} is not a regular file", hint="choose another name")


def _check_absent(path: Path, create: bool) -> None:
    if not create:
        raise StoreError(f"{path} does not exist", hint="check the name, or open it with create=True")
    if _size(_wal(path)):
        raise StoreError(
            f"{path} does not exist, but its write-ahead log {_wal(path).name} does",
            hint=f"restore {path.name}, or delete {_wal(path).name} to start a new store",
        )


def connect(path: Path, witness: int, synchronous: str) -> tuple[sqlite3.Connection, Contents, Claim]:
    """A connection for reading and writing, what it gives access to, at least ``witness`` changes, and the claim."""
    try:
        with Translated(path):
            if not path.exists():
                _create(path)
            claim = Claim(path)
            try:
                db, contents = _connect(path, witness, synchronous)
                claim.renew()  # a connection that only read was closed since
            except BaseException:
                claim.release()
                raise
            return db, contents, claim
    except OSError as error:
        raise StoreError(
            f"{path} cannot be used ({error.strerror})", hint="check the path and the disk"
        ) from error


def _connect(path: Path, witness: int, synchronous: str) -> tuple[sqlite3.Connection, Contents]:
    check_header(path)
    version, contents = _inspect(path, witness)
    db = _connection(path, "mode=rw")
    try:
        _configure(db, path, synchronous)
        return db, contents or _migrated(db, path, version)
    except BaseException:
        db.close()
        raise


def _create(path: Path) -> None:
    """Make an empty store. It is complete when ``path`` appears: a kill leaves at most ``path-new``."""
    new = path.with_name(f"{path.name}-new")
    for suffix in "", "-wal", "-shm":
        path.with_name(f"{new.name}{suffix}").unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        for statement in (*NEW, *SCHEMA):
            db.execute(statement)
        db.execute("INSERT INTO state VALUES (?, ?, ?, ?)", EMPTY.state_row())
    sync(new)
    new.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Have ``path`` reach the disk; a directory as well, where the system has a way."""
    if path.is_file() or sys.platform != "win32":
        handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _inspect(path: Path, witness: int) -> tuple[int, Contents | None]:
    """The version of a sound file, and what it holds if that is the version of today."""
    # A write-ahead log is part of the file. Without one, SQLite shall not make an empty one either.
    with closing(_connection(path, "mode=ro" if _size(_wal(path)) else "immutable=1")) as db:
        version = check_version(db, path)
        check_structure(db, path)
        if not is_shaped_alike(version):
            return version, None
        contents = verify(db, path)
        _check_witness(path, contents.acknowledged, witness)
        return version, contents if version == VERSION else None


def _check_witness(path: Path, found: int, witness: int) -> None:
    if found < witness:
        raise StoreError(
            f"{path} lacks changes: {witness} were acknowledged, and {found} are there",
            hint=f"its write-ahead log {_wal(path).name} was damaged or removed: restore both from one copy, "
            f"or delete {path.name}-lock to go on without the missing changes",
        )


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.as_uri()}?{mode}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA trusted_schema = OFF")  # no function is called because a damaged schema says so
    return db


def _configure(db: sqlite3.Connection, path: Path, synchronous: str) -> None:
    if sys.platform == "win32":
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
    [(mode,)] = db.execute("PRAGMA journal_mode = WAL")
    if mode != "wal":
        raise StoreError(
            f"{path} is on a file system without shared memory", hint="choose a directory on a local disk"
        )
    db.execute(f"PRAGMA synchronous = {synchronous}")
    db.execute("PRAGMA fullfsync = ON")  # macOS: a sync reaches the disk
    db.execute("PRAGMA secure_delete = OFF")  # some builds overwrite what is deleted: twice the writing
    db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")


def _migrated(db: sqlite3.Connection, path: Path, version: int) -> Contents:
    db.execute("BEGIN")
    migrate(db, version)
    contents = verify(db, path)
    db.execute("COMMIT")
    return contents


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def clear_beside(path: Path) -> None:
    """Remove what SQLite leaves beside a file that has gone away, once nothing is in it."""
    if not _size(_wal(path)):
        for suffix in "-wal", "-shm":
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def file_bytes(path: Path) -> int:
    """The size of the store on disk, its write-ahead log included."""
    return _size(path) + _size(_wal(path))


class Translated:
    """A context in which an error of SQLite becomes a ``StoreError`` about ``path``."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):  # the latter from a damaged message
            raise _translate(self._path, error) from error


def _translate(path: Path, error: Exception) -> StoreError:
    name = getattr(error, "sqlite_errorname", "")  # absent where the error is of Python's making
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return in_use(path, "another program")
    for prefix, what, hint in _ERRORS:
        if name.startswith(prefix):
            return StoreError(f"{path} {what} ({error})", hint=hint)
    return damaged(path, str(error))


_ERRORS = (
    ("SQLITE_FULL", "was not changed: the disk is full", "make room, and try again"),
    ("SQLITE_IOERR", "was not changed: the disk does not do its work", "check the disk, then open it again"),
    ("SQLITE_READONLY", "cannot be written", "check the permissions of the file and its directory"),
    ("SQLITE_CANTOPEN", "cannot be opened", "check the permissions of the file and its directory"),
    (
        "SQLITE_CONSTRAINT",
        "is not as it was left: an interrupt or another program changed it",
        "open it again",
    ),
)
