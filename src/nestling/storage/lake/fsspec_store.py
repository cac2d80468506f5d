"""A store by fsspec: where no JVM is at hand that reaches the storage, such as at a client of Spark Connect.

``mode="create"`` is ``If-None-Match`` on S3, ``ifGenerationMatch=0`` on GCS and no overwriting on ABFS; a file system
of fsspec that has no such mode is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from nestling.errors import StoreError
from nestling.storage.lake.store import Listed, NameTaken


class FsspecStore:
    """A folder of some file system of fsspec; ``options`` are those of the file system."""

    is_shared = True

    def __init__(self, address: str, **options: Any) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise StoreError(f"{address} needs fsspec", hint="pip install 'nestling[store]'") from error
        try:
            self._fs, root = url_to_fs(address, **options)
        except (ValueError, ImportError) as error:
            raise StoreError(
                f"{address} cannot be reached: {error}", hint="install its fsspec library"
            ) from error
        self._root, self.place = root.rstrip("/"), address.rstrip("/")
        # What it lists it may remember, and others put names there.
        self._fs.use_listings_cache = False
        if "mode" not in inspect.signature(self._fs.pipe_file).parameters:
            raise StoreError(
                f"{address} cannot put a file only where there is none",
                hint="a newer version of its library may",
            )

    def uri(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def put_new(self, name: str, data: bytes) -> None:
        try:
            self._fs.pipe_file(self._path(name), data, mode="create")
        except FileExistsError:
            raise NameTaken(name) from None

    def get(self, name: str) -> bytes:
        return bytes(self._fs.cat_file(self._path(name)))

    def open(self, name: str) -> Any:
        return self._fs.open(self._path(name), "rb")

    def list(self, folder: str = "", deep: bool = False) -> list[Listed]:
        top = self._path(folder)
        self._fs.invalidate_cache(top)
        try:
            found = self._fs.find(top, detail=True).values() if deep else self._fs.ls(top, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(self._listed(info) for info in found if info["name"].rstrip("/") != top)

    def _listed(self, info: Any) -> Listed:
        name = info["name"].rstrip("/")[len(self._root) + 1 :]
        if info["type"] == "file":
            return Listed(name, "file", int(info["size"]))
        return Listed(name, "folder" if info["type"] == "directory" else "other")

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self._path(name)
            try:
                if self._fs.isdir(path):  # a folder stays that has something in it
                    if not self._fs.ls(path, detail=False):
                        self._fs.rmdir(path)
                else:
                    self._fs.rm_file(path)
            except FileNotFoundError:
                pass

    def settle(self, folder: str) -> None:
        """It lasts: whoever wrote it was told so."""

    def hold(self) -> None:
        """There is no lock: whoever comes later takes over."""

    def release(self, withdrawn: bool = False) -> None:
        """Nothing is held."""
