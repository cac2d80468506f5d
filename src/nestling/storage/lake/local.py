"""A store in a folder of this machine.

A blob is written and synced under another name, and linked to its own: a link refuses a name that is there, and the
folder is synced before it counts. Symbolic links in the folder are neither followed nor removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from nestling.errors import StoreError
from nestling.storage.lake.names import CURRENT
from nestling.storage.lake.store import Listed, NameTaken, temporary
from nestling.storage.lock import Lock


class LocalStore:
    """A folder; one process has it at a time."""

    is_shared = False

    def __init__(self, root: Path) -> None:
        self.root, self.place = root, str(root)
        self._lock: Lock | None = None
        self._made: list[Path] = []

    def put_new(self, name: str, data: bytes) -> None:
        path, other = self._path(name), self._path(temporary(name, uuid4().hex[:16]))
        self._make(path.parent)
        try:
            with other.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(other, path)
        except FileExistsError:
            raise NameTaken(name) from None
        finally:
            other.unlink(missing_ok=True)
        sync(path.parent)

    def get(self, name: str) -> bytes:
        return self._path(name).read_bytes()

    def open(self, name: str) -> Path:
        return self.root / name

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        return sorted(self._listed(folder, deep))

    def _listed(self, folder: str, deep: bool) -> Iterator[Listed]:
        try:
            with os.scandir(self.root / folder) as entries:
                found = list(entries)
        except FileNotFoundError:
            return
        for entry in found:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield Listed(name, "folder")
                if deep:
                    yield from self._listed(name, deep)
            elif entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # removed since
                    yield Listed(name, "file", entry.stat(follow_symlinks=False).st_size)
            else:
                yield Listed(name, "other")

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.root / name
            try:
                path.unlink(missing_ok=True)
            except (IsADirectoryError, PermissionError):  # the latter is what other systems than Linux say
                with suppress(OSError):  # something of the user's is in it
                    path.rmdir()

    def settle(self, folder: str) -> None:
        top = self.root / folder
        if top.exists():
            for path in (*top.rglob("*"), top, top.parent, top.parent.parent):
                sync(path)  # a file is synced through its handle like a folder

    def uri(self, name: str) -> str:
        return str(self._path(name))

    def hold(self) -> None:
        self._made = [folder for folder in (self.root, *self.root.parents) if not folder.exists()]
        self.root.mkdir(parents=True, exist_ok=True)
        self._lock = Lock.acquire(self.root / CURRENT)

    def release(self, withdrawn: bool = False) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        if withdrawn:
            with suppress(OSError):  # something else has come here
                for folder in self._made:
                    folder.rmdir()

    def _path(self, name: str) -> Path:
        path = self.root / name
        for folder in path.parents:
            if folder == self.root:
                break
            if folder.is_symlink():
                raise StoreError(
                    f"{folder} is a symbolic link", hint="remove it, or put the folder in its place"
                )
        return path

    def _make(self, folder: Path) -> None:
        if not folder.exists():
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            sync(folder.parent)


def sync(path: Path) -> None:
    """Make a file, or what was created or removed in a folder, last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
