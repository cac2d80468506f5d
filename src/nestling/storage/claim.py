"""A file claimed under whatever name it has, and whether it still has the one it was opened by.

``lock`` keeps others away from a name. A file may have several: hard links, and the name it is given while it is open.
Two stores of one file under two names would each have a write-ahead log of their own, and overwrite each other. So the
file itself is locked too, at a byte that no file reaches and SQLite does not use. The write-ahead log stays where the
old name was, and SQLite goes on as if nothing had happened: what it acknowledges then is not in the file. So a store
asks before each change whether the name still leads to the file: one call of ``stat``, 1 to 2 µs.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nestling.errors import StoreError
from nestling.storage.lock import Identity, identity, in_use

if sys.platform != "win32":
    import fcntl

_BYTE = 1 << 62

# As with locks of names: a process never conflicts with itself.
_claimed: dict[Identity, int] = {}  # file -> process that has it
_read: dict[Identity, int] = {}  # file -> process that reads it
_claiming = threading.Lock()


class Claim:
    """The file at ``path``, ours until ``release``.

    Law: at any time at most one ``Claim`` of a file exists among all processes of a machine that hold to ``lock``.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._name = path, str(path)
        with _claiming:
            # Asked by name: to open and close the file would drop the locks that this process has.
            if _claimed.get(identity(path)) == os.getpid():
                raise in_use(path, "this process, under another name")
            if _read.get(identity(path)) == os.getpid():
                raise in_use(path, "this process, for reading")
            self._file = os.open(path, os.O_RDWR)
            self._identity = identity(self._file)
            try:
                self.renew()
            except BaseException:
                os.close(self._file)
                raise
            _claimed[self._identity] = os.getpid()

    def renew(self) -> None:
        """Take the lock, or take it again: whoever closes a handle of the file in this process has dropped it."""
        if sys.platform == "win32":
            return  # a file that is open there cannot be moved, and SQLite's exclusive mode keeps others away
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _BYTE)
        except (BlockingIOError, PermissionError) as error:
            raise in_use(self._path, "another process, under another name") from error

    @property
    def is_moved(self) -> bool:
        """Whether the name leads elsewhere now, or nowhere."""
        return identity(self._name) != self._identity

    def moved(self) -> StoreError:
        """What to say then."""
        if os.fstat(self._file).st_nlink == 0:
            what, hint = "deleted", "what was in it is still in this database: write it to another one"
        else:
            what = f"moved{self._destination()}"
            hint = "move it back, or open it where it is: all that was acknowledged is in it"
        return StoreError(f"{self._path} was {what} while it was open, and was not changed", hint=hint)

    def _destination(self) -> str:
        """Where it is now, if the system knows; Linux does, but not by which of several names."""
        with suppress(OSError):
            name = os.readlink(f"/proc/self/fd/{self._file}")
            return "" if name.endswith(" (deleted)") else f" to {name}"
        return ""

    def release(self) -> None:
        """End it. SQLite must have closed the file before: closing a handle drops all locks of the process."""
        with _claiming:
            os.close(self._file)
            _claimed.pop(self._identity, None)


def reading_here(path: Path, file: Identity) -> Callable[[], None]:
    """Note that this process reads ``file``, until what is returned is called; refused where it uses it already.

    To close a handle of a file is to drop all locks that the process has on it, a writer's too. And what SQLite shares
    among the connections of a process, once it has lost its place beside the file, finds it again only with the last.
    """
    with _claiming:
        if os.getpid() in (_claimed.get(file), _read.get(file)):
            raise in_use(path, "this process")
        _read[file] = os.getpid()

    def done() -> None:
        with _claiming:
            _read.pop(file, None)

    return done
