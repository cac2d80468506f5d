"""Exclusive use of a store, and a witness of what it acknowledged.

Beside ``shop.nest`` lies, while it is open, ``shop.nest-lock``. Its owner holds a POSIX lock on it, which the
system drops when the owner dies in whatever way and which no forked child inherits. SQLite's own locks would
not do: any ``open`` and ``close`` of the database in the same process, such as a copy made for backup, drops
them; and in its exclusive mode a forked child that exits deletes the write-ahead log under its parent.

The file says which process has the store, and how many changes it has acknowledged. The latter is written
after the change is durable. So when the file survives its owner, it says how much there must be: SQLite takes
a damaged write-ahead log for one that ends before the damage, and would silently lose what comes after.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from nestling.errors import StoreError

if sys.platform != "win32":
    import fcntl

Identity: TypeAlias = tuple[int, int]

_OWNER, _WITNESS = b"process %11d\n", b"acknowledged %20d\n"
_AT = len(_OWNER % 0)

# A process never conflicts with its own POSIX locks, and loses them when it closes any handle of the file.
_held: dict[Identity, int] = {}  # lock file -> process that holds it
_holding = threading.Lock()


class Lock:
    """Exclusive use of ``path``, from ``acquire`` to ``release`` or the end of the process.

    Law: at any time at most one ``Lock`` of a path exists among all processes of a machine.
    """

    def __init__(self, path: Path, file: BinaryIO, identity: Identity) -> None:
        self._path, self._file, self._identity = path, file, identity
        found = file.read()
        self.fresh = not found
        self.witness = _number(found[_AT:])

    @classmethod
    def acquire(cls, path: Path) -> Lock:
        """The lock of ``path``, or at once a ``StoreError`` that names the process that has it."""
        with _holding:
            lock = None
            while lock is None:
                lock = _attempt(path, path.with_name(f"{path.name}-lock"))
            _held[lock._identity] = os.getpid()
        lock._write(0, _OWNER % os.getpid())
        return lock

    def note(self, count: int) -> None:
        """Record that ``count`` changes are acknowledged."""
        self._write(_AT, _WITNESS % count)

    def release(self, *, remove: bool = True) -> None:
        """End exclusive use; without ``remove``, the witness stays."""
        with _holding:
            if remove:
                with suppress(OSError):  # a witness that stays only says what is true
                    self._path.unlink()
            self._file.close()
            _held.pop(self._identity, None)

    def _write(self, at: int, text: bytes) -> None:
        with suppress(OSError):  # a change is not undone because its witness cannot be written
            self._file.seek(at)
            self._file.write(text)


def _attempt(path: Path, beside: Path) -> Lock | None:
    """The lock, or None if its file was removed under us: then another one is to be tried."""
    if _held.get(identity(beside)) == os.getpid():
        raise in_use(path, "this process")
    file = _open(path, beside)
    try:
        _lock(path, file)
        if (found := identity(file.fileno())) == identity(beside):
            return Lock(beside, file, found)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _open(path: Path, beside: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(beside, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: its directory cannot be written ({error.strerror})",
            hint="choose a directory that exists and that you may write in",
        ) from error


def _lock(path: Path, file: BinaryIO) -> None:
    if sys.platform == "win32":
        return  # SQLite's exclusive mode does it: there is no fork that could harm it
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        owner = _number(file.read(_AT))
        raise in_use(path, f"process {owner}" if owner else "another process") from error
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked ({error.strerror})",
            hint="choose a directory on a file system that has locks",
        ) from error


def identity(file: Path | str | int) -> Identity:
    """Device and inode of ``file``; zeros if it does not exist."""
    try:
        status = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0
    return status.st_dev, status.st_ino


def _number(line: bytes) -> int:
    """The number at the end of ``line``; 0 if there is none."""
    words = line.split()
    return int(words[1]) if len(words) == 2 and words[1].isdigit() else 0


def in_use(path: Path, owner: str) -> StoreError:
    return StoreError(
        f"{path} is in use by {owner}",
        hint="close it there first; within one process, share one Database",
    )
