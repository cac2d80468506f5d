"""The files of a lake: who writes them, who may still read them, and when they go.

A file stays while a manifest that is kept names it, until the next commit after that, and while somebody reads it.
What was written and never named goes when it is discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from nestling.errors import StoreError
from nestling.storage.lake.files import footer, parquet_bytes
from nestling.storage.lake.manifest import DataFile, Manifest
from nestling.storage.lake.names import DATA, folders_of, is_data_file, is_run, unused
from nestling.storage.lake.store import BlobStore


class LakeFiles:
    """The files of a lake."""

    #: The files that are named, and the last epoch that is stored.
    manifest: Manifest
    epoch: int
    is_readonly: bool

    def __init__(self, store: BlobStore) -> None:
        self.store = store
        #: Files that were named until the last commit: who reads them may go on. They go with the next one.
        self._spared: set[str] = set()
        #: Files that somebody is reading, whatever the manifest says.
        self.in_use: Callable[[], set[str]] = set
        #: Files that were exchanged since: they go with the next but one.
        self._exchanged: set[str] = set()
        #: Files, and folders of files, that were written since, and that no manifest names yet.
        self._unnamed: set[str] = set()
        #: Those of them that somebody still writes, whatever is committed meanwhile.
        self.reserved: set[str] = set()
        #: The files of older manifests that are kept, by their numbers.
        self._kept: dict[int, set[str]] = {}
        #: The bytes of files, and files whose rows were counted.
        self._sizes: dict[str, int] = {}
        self._measured: dict[str, DataFile] = {}
        #: The manifest in the lake may be another by now: then we do not know which files are used.
        self._is_unsure = False

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.store.place

    @property
    def name(self) -> str:
        """The last part of that."""
        return self.place.rstrip("/").rpartition("/")[2]

    def folder(self, relation: str) -> str:
        """Where the files of a relation lie."""
        return f"{DATA}/{blake2b(relation.encode(), digest_size=12).hexdigest()}"

    def fresh(self, relation: str, reserved: bool = False) -> str:
        """A folder that was never used, for rows of a relation: what a reader may still use is not overwritten.

        It goes with the next commit that does not name its files; a ``reserved`` one when it is no longer reserved.
        """
        self._check_writable()
        folder = f"{self.folder(relation)}/rows-{uuid4().hex}"
        self._unnamed.add(folder)
        if reserved:
            self.reserved.add(folder)
        return folder

    def _check_writable(self) -> None:
        if self.is_readonly:
            raise StoreError(
                f"{self.place} is open for reading only, and what is asked for takes files",
                hint="let the process that writes it bring its lazy and hybrid views up to date",
            )

    def adopt(self, folder: str) -> tuple[DataFile, ...]:
        """The Parquet files that were written to a fresh folder, made durable and counted."""
        with self._told():
            self.store.settle(folder)
            found = [
                entry
                for entry in self.store.list(folder)
                if entry.kind == "file" and is_data_file(entry.name)
            ]
            self._sizes |= {entry.name: entry.size for entry in found}
            return tuple(self.measured(entry.name) for entry in found)

    def measured(self, name: str) -> DataFile:
        """A file with its rows, by its footer, and its bytes."""
        if name not in self._measured:
            rows = footer(self.store, name).num_rows
            self._measured[name] = DataFile(name, rows, self._sizes[name])
        return self._measured[name]

    def write_changes(self, relation: str, table: Any, group_rows: int | None = None) -> DataFile:
        """Write a table of rows of a relation to a file of its own, in row groups of so many."""
        # Several commits may stand at one epoch: a large change is not in the log.
        name = f"{self.folder(relation)}/changes-{self.epoch}-{uuid4().hex}.parquet"
        self._unnamed.add(name)
        return self._written(name, table, group_rows)

    def write_run(self, folder: str, table: Any, group_rows: int) -> tuple[DataFile, ...]:
        """Write a table to a fresh folder, as Spark would."""
        return (self._written(f"{folder}/part-0.parquet", table, group_rows),)

    def _written(self, name: str, table: Any, group_rows: int | None) -> DataFile:
        data = parquet_bytes(table, group_rows)
        with self._told():
            self.store.put_new(name, data)
        self._measured[name] = DataFile(name, table.num_rows, len(data))
        return self._measured[name]

    # -- what goes

    def discard(self) -> None:
        """Remove what was written and not committed."""
        if not self._is_unsure:
            mine, self._unnamed = self._unnamed - self.reserved, self._unnamed & self.reserved
            self._remove(mine)

    @property
    def _used(self) -> set[str]:
        """The files that stay."""
        return self.manifest.files.union(self._spared, self._exchanged, self.in_use(), *self._kept.values())

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files of ours, or all that was written to a folder, but for those that stay."""
        used, gone, folders = self._used, set(), set()
        for name in names:
            place = next((folder for folder in (name, *folders_of(name)) if is_run(folder)), None)
            if place is not None:
                folders.add(place)
            elif name not in used:
                gone.add(name)
        for folder in folders:
            gone |= {folder, *unused(self.store.list(folder, deep=True), used)}
        gone |= {folder for name in gone for folder in folders_of(name)}
        self.store.remove(sorted(gone, reverse=True))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the storage refuses is told as such."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.place} cannot be used: {error.strerror or error}",
                hint="choose a place that you may write in, and that is there",
            ) from error
