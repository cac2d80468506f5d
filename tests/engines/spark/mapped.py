"""A file system of fsspec under a scheme that Spark has too: what ``viewfs:`` mounts, by its own path.

A client of Spark Connect reaches a lake by fsspec, and the executors by Hadoop: both call it by one address.
"""

import os
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

TABLE = "lake"
ADDRESS = f"viewfs://{TABLE}/data"
FOLDER: list[str] = []


class MappedFiles(LocalFileSystem):  # type: ignore[misc]  # fsspec says no types
    """The files of a folder, called as the table of mounts does."""

    protocol = "viewfs"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        text = str(path).removeprefix(ADDRESS)
        return text if text.startswith(FOLDER[0]) else (FOLDER[0] + "/" + text.lstrip("/")).rstrip("/")

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """``create``: only where there is none."""
        where = Path(self._strip_protocol(path))
        where.parent.mkdir(parents=True, exist_ok=True)
        if mode != "create":
            where.write_bytes(value)
            return
        half = where.with_name(f".{where.name}.{os.getpid()}")
        half.write_bytes(value)
        try:
            os.link(half, where)
        finally:
            half.unlink()


def register(folder: Path) -> None:
    """Let fsspec know the scheme; ``folder`` is what the table of mounts has at ``/data``."""
    folder.mkdir(parents=True, exist_ok=True)
    FOLDER[:] = [str(folder)]
    fsspec.register_implementation("viewfs", MappedFiles, clobber=True)
