"""A folder of relations that change together.

::

    CURRENT                       the manifest: definitions, the files of every relation, the epoch they stand at
    log/000000000012.changes      what every relation gained or lost in epoch 12
    data/<relation>/…             Parquet files: sorted bases, and changes that left the log

A relation is the sum of the rows of its files and of the log after the manifest's epoch. Files are never changed; a
manifest is replaced by renaming. Files of ours that neither it nor the log names are left over from a crash, and
removed on opening; what is not ours stays (``names``). A folder that is neither ours nor empty is refused (``folder``).

Law: after a crash at any moment the folder holds exactly the epochs whose ``append`` returned, or one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from nestling.errors import ChangeError, NoValue, QueryError, StoreError
from nestling.storage.lake.files import sync_all, sync_folder, write_atomically
from nestling.storage.lake.folder import check_files, local_path, look
from nestling.storage.lake.log import Epoch, read_epoch, write_epoch
from nestling.storage.lake.manifest import Definitions, Manifest, RelationFiles, write_manifest
from nestling.storage.lake.names import CURRENT, DATA, LOG, epochs, remove_data, remove_epochs
from nestling.storage.lock import Lock


class Lake:
    """An open folder; one process has it at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = local_path(path)
        look(self.path)  # before anything is written: what is not ours stays as it is
        #: Something was raised while folder and memory moved on: only the folder knows where they are.
        self.is_ahead = False
        #: Files that were named until the last commit: who reads them may go on.
        self._spared: set[str] = set()
        #: Files that somebody is reading, whatever the manifest says.
        self.in_use: Callable[[], set[str]] = set
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
        self.remove_leftovers()

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

    def remove_leftovers(self) -> None:
        """Remove the files that no manifest names: those of a crash, and what was computed and not kept."""
        if self._is_unsure:
            return
        used = {str(self.path / file) for file in self.manifest.files | self._spared | self.in_use()}
        remove_data(self.path / DATA, used)
        remove_epochs(self.path / LOG, self.manifest.epoch)

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

    def adopt(self, folder: Path) -> tuple[str, ...]:
        """The Parquet files that were written to a folder below ``data``, made durable."""
        if not folder.exists():
            return ()
        sync_all(folder)
        sync_folder(folder.parent.parent)
        return tuple(sorted(f.relative_to(self.path).as_posix() for f in folder.glob("[!._]*.parquet")))

    def write_changes(self, relation: str, table: Any) -> str:
        """Move changes of a relation from the log to a file of their own."""
        import pyarrow.parquet as pq

        # Several commits may stand at one epoch: a large change is not in the log.
        file = self.folder(relation) / f"changes-{self.epoch}-{uuid4().hex}.parquet"
        pq.write_table(table, file)
        for path in (file, file.parent, file.parent.parent):
            sync_folder(path)
        return file.relative_to(self.path).as_posix()

    def commit(
        self, relations: Mapping[str, RelationFiles], definitions: Definitions, note: Mapping[str, Any]
    ) -> None:
        """A new manifest, at the present epoch; the log starts anew.

        Files that it no longer names stay until the next one, so that a query that has begun can end; where definitions
        change they go at once.
        """
        before, named = self.manifest, self.manifest.id or Manifest().id
        after = Manifest(self.epoch, definitions, dict(relations), dict(note), named)
        with self.moving():
            self._is_unsure = True
            write_atomically(self.path / CURRENT, write_manifest(after))
            self.manifest, self._is_unsure = after, False
            self._spared = before.files if definitions == before.definitions else set()
        self.remove_leftovers()

    def close(self) -> None:
        """End the use of the folder."""
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
