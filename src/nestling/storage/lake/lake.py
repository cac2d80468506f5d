"""A folder of relations that change together.

::

    CURRENT                       the manifest: definitions, the files of every relation, the epoch they stand at
    log/000000000012.changes      what every relation gained or lost in epoch 12
    data/<relation>/…             Parquet files: sorted bases, and changes that left the log

A relation is the sum of the rows of its files and of the log after the manifest's epoch. Files are never changed; a
manifest is replaced by renaming. What a manifest no longer names, and what was written and never named, goes with a
later commit; files of ours that are left over from a crash are looked for on opening. What is not ours stays
(``names``). A folder that is neither ours nor empty is refused (``folder``).

Law: after a crash at any moment the folder holds exactly the epochs whose ``append`` returned, or one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from nestling.errors import ChangeError, NoValue, QueryError, StoreError
from nestling.storage.lake.beside import Beside
from nestling.storage.lake.files import rows_of_file, sync_all, sync_folder, write_atomically, write_parquet
from nestling.storage.lake.folder import check_files, local_path, look
from nestling.storage.lake.log import Epoch, read_epoch, write_epoch
from nestling.storage.lake.manifest import DataFile, Definitions, Manifest, RelationFiles, write_manifest
from nestling.storage.lake.names import (
    CURRENT,
    DATA,
    LOG,
    epochs,
    log_path,
    remove_data,
    remove_epochs,
    remove_files,
)
from nestling.storage.lock import Lock


class Lake:
    """An open folder; one process has it at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = local_path(path)
        look(self.path)  # before anything is written: what is not ours stays as it is
        #: Something was raised while folder and memory moved on: only the folder knows where they are.
        self.is_ahead = False
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
        #: What is done beside the changes, such as merging files; it ends with the use of the folder.
        self.beside = Beside()
        with _told(self.path):
            self._made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = Lock.acquire(self.path / CURRENT)
            try:
                self._open()
            except BaseException:
                self._lock.release()
                raise

    def _open(self) -> None:
        found = look(self.path)
        #: Whether nothing was there.
        self.is_new = found is None
        self.manifest = found or Manifest()
        check_files(self.path, self.manifest)
        self.epoch = self.manifest.epoch
        #: The manifest in the folder may be another by now: then we do not know which files are used.
        self._is_unsure = False
        if self.is_new:
            write_atomically(self.path / CURRENT, write_manifest(self.manifest))
        for name in (LOG, DATA):
            (self.path / name).mkdir(exist_ok=True)
        self.beside.stop()
        for names in (self._unnamed, self._exchanged, self.reserved):
            names.clear()
        self._remove_leftovers()

    def reload(self) -> None:
        """Forget what is known, and look at the folder again; who has done so as well says ``is_ahead = False``."""
        with _told(self.path):
            self._open()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """While the folder moves on, and all that knows where it is: whatever is raised, ``is_ahead`` says so."""
        before, self.is_ahead = self.is_ahead, True
        yield
        self.is_ahead = before

    @contextmanager
    def doubting(self) -> Iterator[None]:
        """While memory may change: what is refused was undone, whatever else is raised leaves it in doubt."""
        try:
            yield
        except (ChangeError, QueryError, NoValue):
            raise
        except BaseException:
            self.is_ahead = True
            raise

    def _remove_leftovers(self) -> None:
        """Look for the files that nobody names: those of a crash."""
        remove_data(self.path / DATA, {str(self.path / file) for file in self.manifest.files | self._spared})
        remove_epochs(self.path / LOG, self.manifest.epoch)

    def discard(self) -> None:
        """Remove what was written and not committed."""
        if not self._is_unsure:
            mine, self._unnamed = self._unnamed - self.reserved, self._unnamed & self.reserved
            self._remove(mine)

    def _remove(self, names: Iterable[str]) -> None:
        named = self.manifest.files | self._spared | self._exchanged | self.in_use()
        remove_files(self.path, names, named)

    # -- the log

    def replay(self) -> Iterator[Epoch]:
        """The epochs after the manifest's, in order."""
        for number, file in epochs(self.path / LOG):
            if number != self.epoch + 1:
                raise StoreError(
                    f"epoch {self.epoch + 1} of {self.path.name} is missing", hint="restore it from a copy"
                )
            yield read_epoch(file, number, self.manifest.id)
            self.epoch += 1

    def append(
        self, note: Mapping[str, Any], changes: Mapping[str, Any], emptied: Iterable[str] = ()
    ) -> None:
        """Store the next epoch: Arrow tables to be added to relations, some of which are ``emptied`` before."""
        with self.moving():
            write_epoch(self.path / LOG, self.epoch + 1, self.manifest.id, note, changes, emptied)
            self.epoch += 1

    @property
    def logged(self) -> int:
        """How many epochs the log has."""
        return self.epoch - self.manifest.epoch

    # -- files

    def folder(self, relation: str) -> Path:
        """Where the files of a relation lie."""
        name = blake2b(relation.encode(), digest_size=12).hexdigest()
        found = self.path / DATA / name
        if found.is_symlink():
            raise StoreError(f"{found} is a symbolic link", hint="remove it, or put the folder in its place")
        found.mkdir(exist_ok=True)
        return found

    def fresh(self, relation: str, reserved: bool = False) -> Path:
        """A folder that was never used, for rows of a relation: what a reader may still use is not overwritten.

        It goes with the next commit that does not name its files; a ``reserved`` one when it is no longer reserved.
        """
        folder = self.folder(relation) / f"rows-{uuid4().hex}"
        self._unnamed.add(self._name(folder))
        if reserved:
            self.reserved.add(self._name(folder))
        return folder

    def adopt(self, folder: Path) -> tuple[DataFile, ...]:
        """The Parquet files that were written to a fresh folder, made durable and counted."""
        if not folder.exists():
            return ()
        sync_all(folder)
        sync_folder(folder.parent.parent)
        found = sorted(folder.glob("[!._]*.parquet"))
        return tuple(DataFile(self._name(f), rows_of_file(f), f.stat().st_size) for f in found)

    def write_changes(self, relation: str, table: Any, group_rows: int | None = None) -> DataFile:
        """Write a table of rows of a relation to a file of its own, in row groups of so many."""
        # Several commits may stand at one epoch: a large change is not in the log.
        file = self.folder(relation) / f"changes-{self.epoch}-{uuid4().hex}.parquet"
        self._unnamed.add(self._name(file))
        write_parquet(file, table, group_rows)
        for path in (file, file.parent, file.parent.parent):
            sync_folder(path)
        return DataFile(self._name(file), table.num_rows, file.stat().st_size)

    def write_run(self, folder: Path, table: Any, group_rows: int) -> tuple[DataFile, ...]:
        """Write a table to a fresh folder, as Spark would."""
        folder.mkdir()
        write_parquet(folder / "part-0.parquet", table, group_rows)
        return self.adopt(folder)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def commit(
        self, relations: Mapping[str, RelationFiles], definitions: Definitions, note: Mapping[str, Any]
    ) -> None:
        """A new manifest, at the present epoch; the log starts anew.

        Files that it no longer names stay until the next one, so that a query that has begun can end; where definitions
        change they go at once.
        """
        before, named = self.manifest, self.manifest.id or Manifest().id
        after = Manifest(self.epoch, definitions, dict(relations), dict(note), named)
        self._switch(after)
        gone, unnamed = self._spared - after.files, (before.files | self._exchanged) - after.files
        self._spared, self._exchanged = unnamed, set()
        if definitions != before.definitions:
            gone, self._spared = gone | unnamed, set()
        self._spared |= gone & self.in_use()  # they go with a later one
        self._remove(gone)
        for epoch in range(before.epoch + 1, after.epoch + 1):
            log_path(self.path / LOG, epoch).unlink(missing_ok=True)
        self.discard()

    def exchange(self, relations: Mapping[str, RelationFiles]) -> None:
        """A manifest with other files that hold the same rows, for some relations; the log stays as it is.

        What it no longer names stays until the next ``commit`` but one.
        """
        before = self.manifest
        after = replace(before, relations={**before.relations, **relations})
        self._switch(after)
        self._exchanged |= before.files - after.files

    def _switch(self, after: Manifest) -> None:
        with self.moving():
            self._is_unsure = True
            write_atomically(self.path / CURRENT, write_manifest(after))
            self.manifest, self._is_unsure = after, False

    def close(self) -> None:
        """End the use of the folder."""
        self.beside.stop()
        self._lock.release()

    def withdraw(self) -> None:
        """Close a lake that could not be used; if it is new, nothing of it stays."""
        if self.is_new:
            remove_data(self.path / DATA, set())
            (self.path / CURRENT).unlink(missing_ok=True)
        self.close()
        if self.is_new:
            with suppress(OSError):  # something else has come here
                for folder in (self.path / LOG, self.path / DATA, *self._made):
                    folder.rmdir()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system refuses is told as such."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be a lake: {error.strerror or error}",
            hint="choose a folder that you may write in",
        ) from error
