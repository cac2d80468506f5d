"""Stores for tests: one in memory, and one that fails."""

from collections.abc import Iterable
from io import BytesIO
from random import Random
from threading import Lock
from typing import Any

from nestling.storage.lake.store import BlobStore, Listed, NameTaken


class MemoryStore:
    """Blobs of this process: what an object store is, at its plainest."""

    is_shared = True

    def __init__(self) -> None:
        self.place, self.blobs, self._lock = "mem://lake", dict[str, bytes](), Lock()

    def put_new(self, name: str, data: bytes) -> None:
        with self._lock:
            if name in self.blobs:
                raise NameTaken(name)
            self.blobs[name] = data

    def get(self, name: str) -> bytes:
        try:
            return self.blobs[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def open(self, name: str) -> BytesIO:
        return BytesIO(self.get(name))

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        start, found = f"{folder}/" if folder else "", set()
        for name, data in list(self.blobs.items()):
            if name.startswith(start):
                parts = name[len(start) :].split("/")
                if deep or len(parts) == 1:
                    found.add(Listed(name, "file", len(data)))
                elif not deep:
                    found.add(Listed(start + parts[0], "folder"))
        return sorted(found)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self.blobs.pop(name, None)

    def settle(self, folder: str) -> None: ...
    def hold(self) -> None: ...
    def release(self, withdrawn: bool = False) -> None: ...
    def uri(self, name: str) -> str:
        return f"{self.place}/{name}"


class Broken(OSError):
    """What a storage raises that does not answer."""


class FaultyStore:
    """A store whose operations fail now and then, before or after they took effect, and whose listings lag."""

    def __init__(self, store: BlobStore, random: Random, share: float, lag: int = 0) -> None:
        self.store, self.random, self.share, self.lag = store, random, share, lag
        self.place, self.is_shared = store.place, store.is_shared
        self._late: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def _run(self, act: Any) -> Any:
        fate = self.random.random()
        if fate < self.share / 2:
            raise Broken(0, "before")
        found = act()
        if fate < self.share:
            raise Broken(0, "after")
        return found

    def put_new(self, name: str, data: bytes) -> None:
        self._run(lambda: self.store.put_new(name, data))
        self._late = [*self._late, name][-self.lag :] if self.lag else []

    def get(self, name: str) -> bytes:
        found: bytes = self._run(lambda: self.store.get(name))
        return found

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        found: list[Listed] = self._run(lambda: self.store.list(folder, deep))
        return [entry for entry in found if entry.name not in self._late]

    def remove(self, names: Iterable[str]) -> None:
        self._run(lambda: self.store.remove(names))
