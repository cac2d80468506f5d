"""A folder of relations that change together.

::

    CURRENT                       the manifest: definitions, the files of every relation, the epoch they stand at
    log/000000000012.changes      what every relation gained or lost in epoch 12
    data/<relation>/…             Parquet files: sorted bases, and changes that left the log

A relation is the sum of the rows of its files and of the log after the manifest's epoch. Files are never changed; a
manifest is replaced by renaming. What neither it nor the log names is left over from a crash, and removed on opening.

Law: after a crash at any moment the folder holds exactly the epochs whose ``append`` returned, or one more.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from nestling.errors import StoreError
from nestling.storage.lake.files import sync_all, sync_folder, write_atomically
from nestling.storage.lake.log import SUFFIX, Epoch, read_epoch, write_epoch
from nestling.storage.lock import Lock

FORMAT = 1


@dataclass(frozen=True)
class Relation:
    """The files of one relation, relative to the folder, and how many rows they have."""

    base: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    base_rows: int = 0
    change_rows: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.base, *self.changes)

    @property
    def rows(self) -> int:
        return self.base_rows + self.change_rows


@dataclass(frozen=True)
class Manifest:
    """What is there at an epoch."""

    epoch: int = 0
    definitions: tuple[tuple[str, str, str], ...] = ()
    relations: Mapping[str, Relation] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)


class Lake:
    """An open folder; one process has it at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = Lock.acquire(self.path / "CURRENT")
        try:
            for name in ("log", "data"):
                (self.path / name).mkdir(exist_ok=True)
            self.epoch = 0
            self.manifest = Manifest()
            #: Files that were named until the last commit: who reads them may go on.
            self._spared: set[str] = set()
            if self._is_new():
                self.commit({}, (), {})
            self.manifest = self._read()
            self.epoch = self.manifest.epoch
            self.remove_leftovers()
        except BaseException:
            self._lock.release(remove=False)
            raise

    def _is_new(self) -> bool:
        if (self.path / "CURRENT").exists():
            return False
        if any((self.path / "log").iterdir()):
            raise StoreError(
                f"{self.path.name} has a log but no manifest", hint="restore CURRENT from a copy"
            )
        return True

    def _read(self) -> Manifest:
        current = self.path / "CURRENT"
        try:
            stored = json.loads(current.read_text(encoding="utf-8"))
            if stored["format"] != FORMAT:
                raise StoreError(
                    f"{self.path.name} has format {stored['format']}, this Nestling reads {FORMAT}",
                    hint="open it with the version that wrote it",
                )
            relations = {name: _relation(found) for name, found in stored["relations"].items()}
            definitions = tuple((kind, name, text) for kind, name, text in stored["definitions"])
            return Manifest(stored["epoch"], definitions, relations, stored["note"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"the manifest of {self.path.name} is damaged: {error}") from error

    def remove_leftovers(self) -> None:
        """Remove the files that no manifest names: those of a crash, and what was computed and not kept."""
        used = {self.path / file for file in _files(self.manifest) | self._spared}
        for file in sorted((self.path / "data").rglob("*"), reverse=True):
            if file.is_file() and file not in used:
                file.unlink()
            elif file.is_dir() and not any(file.iterdir()):
                file.rmdir()
        for file in (self.path / "log").iterdir():
            if file.suffix != SUFFIX or int(file.stem) <= self.manifest.epoch:
                file.unlink()

    # -- the log

    def replay(self) -> Iterator[Epoch]:
        """The epochs after the manifest's, in order."""
        for file in sorted((self.path / "log").glob(f"*{SUFFIX}")):
            if int(file.stem) != self.epoch + 1:
                raise StoreError(
                    f"epoch {self.epoch + 1} of {self.path.name} is missing", hint="restore it from a copy"
                )
            self.epoch += 1
            yield read_epoch(file)

    def append(
        self, note: Mapping[str, Any], changes: Mapping[str, Any], emptied: Iterable[str] = ()
    ) -> None:
        """Store the next epoch: Arrow tables to be added to relations, some of which are ``emptied`` before."""
        write_epoch(self.path / "log", self.epoch + 1, note, changes, emptied)
        self.epoch += 1

    @property
    def logged(self) -> int:
        """How many epochs the log has."""
        return self.epoch - self.manifest.epoch

    # -- files

    def folder(self, relation: str) -> Path:
        """Where the files of a relation lie."""
        name = blake2b(relation.encode(), digest_size=12).hexdigest()
        found = self.path / "data" / name
        found.mkdir(exist_ok=True)
        return found

    def adopt(self, folder: Path) -> tuple[str, ...]:
        """The Parquet files that were written to a folder below ``data``, made durable."""
        sync_all(folder)
        sync_folder(folder.parent.parent)
        return tuple(sorted(str(f.relative_to(self.path)) for f in folder.rglob("*.parquet")))

    def write_changes(self, relation: str, table: Any) -> str:
        """Move changes of a relation from the log to a file of their own."""
        import pyarrow.parquet as pq

        # Several commits may stand at one epoch: a large change is not in the log.
        file = self.folder(relation) / f"changes-{self.epoch}-{uuid4().hex}.parquet"
        pq.write_table(table, file)
        sync_all(file.parent)
        return str(file.relative_to(self.path))

    def commit(
        self,
        relations: Mapping[str, Relation],
        definitions: tuple[tuple[str, str, str], ...],
        note: Mapping[str, Any],
    ) -> None:
        """A new manifest, at the present epoch; the log starts anew.

        Files that it no longer names stay until the next one, so that a query that has begun can end; where definitions
        change they go at once.
        """
        before = self.manifest
        self.manifest = Manifest(self.epoch, definitions, dict(relations), dict(note))
        stored = {
            "format": FORMAT, "epoch": self.epoch, "definitions": definitions, "note": dict(note),
            "relations": {name: asdict(relation) for name, relation in relations.items()},
        }  # fmt: skip
        try:
            write_atomically(self.path / "CURRENT", json.dumps(stored).encode())
        except BaseException:
            self.manifest = before
            raise
        self._spared = _files(before) if definitions == before.definitions else set()
        self.remove_leftovers()

    def remove(self, folder: Path) -> None:
        """Forget files that were never committed."""
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        self._lock.release()


def _files(manifest: Manifest) -> set[str]:
    return {file for relation in manifest.relations.values() for file in relation.files}


def _relation(stored: Mapping[str, Any]) -> Relation:
    return replace(Relation(**stored), base=tuple(stored["base"]), changes=tuple(stored["changes"]))
