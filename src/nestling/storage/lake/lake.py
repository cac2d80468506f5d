"""Relations that change together, in any storage.

::

    log/000000000012.record       the twelfth record of the log: a manifest, an epoch, or who writes from then on
    data/<relation>/…             Parquet files: sorted bases, and changes that left the log

A relation is the sum of the rows of the files that the last manifest names and of the epochs that the manifest has
not got. Files and records are never changed, and put-if-absent of the next record is the only commit (``sequence``).
What no manifest that is kept names goes with a later commit; files of ours that are left over from a crash are looked
for once the lake is claimed: whoever wrote them can no longer commit. What is not ours stays (``names``). A place that
is neither ours nor empty is refused (``folder``).

Law: after a crash at any moment the lake holds exactly the epochs whose ``append`` returned, or one more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nestling.errors import ChangeError, NoValue, QueryError, StoreError
from nestling.storage.lake.beside import Beside
from nestling.storage.lake.folder import check_files, look, place_of, unlisted
from nestling.storage.lake.former import former_epochs, former_manifest, former_names
from nestling.storage.lake.lake_files import LakeFiles
from nestling.storage.lake.local import LocalStore
from nestling.storage.lake.manifest import (
    Definitions,
    KeptManifest,
    Manifest,
    RelationFiles,
    manifest_head,
    read_manifest,
)
from nestling.storage.lake.names import (
    CURRENT,
    DATA,
    LOG,
    folders_of,
    is_half_record,
    numbers,
    record_name,
    unused,
)
from nestling.storage.lake.records import Epoch, epoch_number, epoch_parts, read_epoch
from nestling.storage.lake.sequence import Sequence
from nestling.storage.lake.store import BlobStore, Listed


class Lake(LakeFiles):
    """An open lake; one process writes to it at a time, and any number read it."""

    def __init__(
        self, where: BlobStore | str | Path, *, readonly: bool = False, version: int | None = None
    ) -> None:
        """``version``: as it was then, if that is kept; then it can only be read."""
        super().__init__(local_store(where) if isinstance(where, str | Path) else where)
        self.is_readonly, self._version = readonly, version
        look(self.store)  # before anything is written: what is not ours stays as it is
        #: Something was raised while the lake and memory moved on: only the lake knows where they are.
        self.is_ahead = False
        #: What is done beside the changes, such as merging files; it ends with the use of the lake.
        self.beside = Beside()
        self._log = Sequence(self.store)
        with self._told():
            if not readonly:
                self.store.hold()
            try:
                self._open()
            except BaseException:
                self.store.release()
                raise

    def _open(self) -> None:
        for _ in range(_TRIES):
            try:
                return self._look()
            except StoreError:
                # Another process may have committed, and removed files that we were about to look for.
                if not self.is_readonly or not self._log.has_moved():
                    raise
        self._look()

    def _look(self) -> None:
        is_former = look(self.store)
        #: Whether nothing was there.
        self.is_new = is_former is None
        self._is_former = bool(is_former)
        #: The number of the last manifest, and whether the log may have records of older owners to remove.
        self._number, self._has_older, self._removed = 0, True, 0
        self._kept = {}
        if is_former:
            self.manifest = former_manifest(self.store.get(CURRENT), self.name)
            self._logged: Iterable[tuple[int, Epoch]] = self._former_epochs()
        elif self.is_new or not self._read_log():
            self._make()
        self._is_unsure = False
        self.epoch, self._reached = self.manifest.epoch, self.manifest.reached
        #: How many versions before the last stay readable, from the next manifest on.
        self.keep = self.manifest.keep
        listed = self.store.list(DATA, deep=True)
        self._sizes = {entry.name: entry.size for entry in listed if entry.kind == "file"}
        self._sizes |= unlisted(self.store, self._sizes, self.manifest)
        self._measured = {}
        if self._version is not None and not self.manifest.files <= self._sizes.keys():
            raise self._log.not_kept(self._version)
        check_files(self.store, self._sizes, self.manifest)
        self.beside.stop()
        for names in (self._unnamed, self._exchanged, self.reserved):
            names.clear()
        if self._log.is_claimed and not self._log.is_lost and not self.is_new:
            self._remove_leftovers()

    def _read_log(self) -> bool:
        tail = self._log.read(self._version)
        if tail is not None:
            self.manifest, self._number = tail.manifest, tail.number
            self._logged = (
                (epoch_number(record), read_epoch(record.head, record.parts, record_name(record.number)))
                for record in tail.epochs
            )
        return tail is not None

    def _former_epochs(self) -> Iterator[tuple[int, Epoch]]:
        return former_epochs(self.store, self.store.list(LOG), self.manifest.epoch, self.manifest.id)

    def _make(self) -> None:
        """A lake in which there is nothing."""
        if self.is_readonly:
            raise StoreError(f"there is no lake at {self.place}", hint="open it without readonly to make one")
        self.is_new, self.manifest, self._logged = True, Manifest(), ()
        self._log.lake = self._log.lake or self.manifest.id
        self._log.claim()
        self.manifest = replace(self.manifest, id=self._log.lake, since=self._log.last + 2)
        self._number = self._log.put(manifest_head(self.manifest))

    def claim(self) -> None:
        """Be the one that writes from now on, and look for the files that nobody names: those of a crash."""
        with self._told():
            self._ready()
            self._remove_leftovers()

    def _ready(self) -> None:
        """See to it that the next record can be put."""
        self._check_writable()
        if self._is_former:
            self._carry_over()
        self._log.claim()

    def _carry_over(self) -> None:
        """Copy a log of a former format into records. They count once ``CURRENT`` is removed."""
        listed = self.store.list(LOG)
        self.store.remove(map(record_name, numbers(listed)))  # of somebody who came no further
        former, self._log.last = self.manifest, 0
        self._log.lake = former.id or Manifest().id
        self._log.claim()
        after = replace(former, id=self._log.lake, since=3, reached=_version(former.note))
        self._number = self._log.put(manifest_head(after))
        for number, epoch in self._former_epochs():
            self._log.put(*epoch_parts(number, *epoch))
        self.store.remove([CURRENT])
        self.store.settle(LOG)
        self.manifest, self._is_former = after, False
        self.store.remove([*former_names([*listed, Listed(f"{CURRENT}.tmp", "file")])])

    def reload(self) -> None:
        """Forget what is known, and look at the lake again; who has done so as well says ``is_ahead = False``."""
        with self._told():
            self._open()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """While the lake moves on, and all that knows where it is: whatever is raised, ``is_ahead`` says so."""
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

    # -- the log

    def replay(self) -> Iterator[Epoch]:
        """The epochs after the manifest's, in order."""
        with self._told():
            for number, epoch in self._logged:
                yield epoch
                self.epoch, self._reached = number, _version(epoch.note)
            self._logged = ()

    def append(self, note: Mapping[str, Any], changes: Mapping[str, Any], emptied: Iterable[str] = ()) -> int:
        """Store the next epoch: tables to be added to relations, some of which are ``emptied`` before. Its bytes."""
        with self.moving(), self._told():
            self._ready()
            head, parts = epoch_parts(self.epoch + 1, note, changes, emptied)
            self._log.put(head, parts)
            self.epoch, self._reached = self.epoch + 1, _version(note)
        return len(parts)

    @property
    def logged(self) -> int:
        """How many epochs the log has."""
        return self.epoch - self.manifest.epoch

    # -- manifests

    def commit(
        self,
        relations: Mapping[str, RelationFiles],
        definitions: Definitions,
        note: Mapping[str, Any],
    ) -> None:
        """A new manifest, at the present epoch; the log starts anew.

        Files that it no longer names stay until the next one, so that a query that has begun can end; where definitions
        change they go at once.
        """
        with self._told():
            self._ready()
            before, self._reached = self.manifest, _version(note)
            after = Manifest(
                self.epoch, definitions, dict(relations), dict(note), before.id, self._log.last + 2,
                self._reached, self.keep,
            )  # fmt: skip
            gone = self._switch(after)
            unnamed = (before.files | self._exchanged) - self.manifest.files
            gone |= self._spared - self.manifest.files
            self._spared, self._exchanged = unnamed, set()
            if definitions != before.definitions:
                gone, self._spared = gone | unnamed, set()
            self._spared |= gone & self.in_use()  # they go with a later one
            self._remove(gone)
            self._remove_records()
            self.discard()
            used = self._used
            self._measured = {name: file for name, file in self._measured.items() if name in used}

    def sweep(self) -> None:
        """Look for whatever nobody needs."""
        with self._told():
            self._remove_leftovers()

    def has_moved(self) -> bool:
        """Whether another process has put records since this one read them."""
        with self._told():
            return self._version is None and self._log.has_moved()

    def exchange(self, relations: Mapping[str, RelationFiles]) -> None:
        """A manifest with other files that hold the same rows, for some relations; the log stays as it is.

        What it no longer names stays until the next ``commit`` but one.
        """
        with self._told():
            self._ready()
            before = self.manifest
            # Its epochs stand where they stood; if there are none, they come after it.
            since = before.since if self.logged else self._log.last + 2
            changed = {**before.relations, **relations}
            self._exchanged |= self._switch(
                replace(before, relations=changed, since=since, reached=self._reached)
            )
            self._exchanged |= before.files - self.manifest.files

    def _switch(self, after: Manifest) -> set[str]:
        """Put a manifest; the files of those before it that are no longer kept."""
        before, last, kept = self.manifest, self._number, dict(self._kept)
        kept[last] = before.files
        every = (*before.history, KeptManifest(last, before.since, before.reached))
        floor = after.reached - after.keep
        first = max((i for i, each in enumerate(every) if each.reached <= floor), default=0)
        after = replace(after, history=every[first:] if after.keep else ())
        with self.moving():
            self._is_unsure = True
            self._number = self._log.put(manifest_head(after))
            self.manifest, self._is_unsure = after, False
        named = {each.number for each in after.history}
        self._kept = {number: files for number, files in kept.items() if number in named}
        return {
            file for number, files in kept.items() if number not in named and number != last for file in files
        }

    # -- what goes

    def _remove_leftovers(self) -> None:
        """Look for the files that nobody names, and for records that nobody needs."""
        for each in self.manifest.history:
            if each.number not in self._kept:
                self._kept[each.number] = read_manifest(self._log.record(each.number)).files
        gone = unused(self.store.list(DATA, deep=True), self._used)
        self.store.remove([name for name in gone if not self._unnamed & {name, *folders_of(name)}])
        self._has_older = True
        self._remove_records()

    def _remove_records(self) -> None:
        """Remove records that no manifest that is kept needs. Openings stay: they keep out who wrote before them."""
        places = [
            (self._number, self.manifest.since),
            *((each.number, each.since) for each in self.manifest.history),
        ]
        needed = min(min(place) for place in places) - _SLACK
        if not self._has_older:
            self.store.remove(map(record_name, range(self._removed, needed)))
        else:
            listed = self.store.list(LOG)
            sizes = {number: entry.size for entry in listed for number in numbers([entry]) if number < needed}
            gone = [n for n, size in sizes.items() if size > _OPENING or self._log.record(n).kind != "open"]
            half = [entry.name for entry in listed if is_half_record(entry)]
            self.store.remove([*map(record_name, gone), *half])
        self._has_older, self._removed = False, max(needed, self._log.opened + 1)

    # -- the end

    def close(self) -> None:
        """End the use of the lake."""
        self.beside.stop()
        self.store.release()

    def withdraw(self) -> None:
        """Close a lake that could not be used; of a new local one nothing stays."""
        self.beside.stop()
        is_gone = self.is_new and not self.store.is_shared
        if is_gone:
            self.store.remove([*unused(self.store.list(DATA, deep=True), set()), DATA])
            self.store.remove([*map(record_name, range(self._log.last, 0, -1)), LOG])
        self.store.release(is_gone)


def local_store(path: str | Path) -> LocalStore:
    """The store in a folder of this machine."""
    found = place_of(path)
    if isinstance(found, str):
        raise StoreError(f"{found} is reached by Spark", hint="Database(spark=spark, path=…)")
    return LocalStore(found)


#: How often a reader begins again whose files go while it opens.
_TRIES = 5
#: No opening is larger.
_OPENING = 600
#: So many records stay before the first that is needed. From where a listing ends, which may lag, the numbers that
#: follow are asked for one by one: if they were gone, what is behind them would not be found.
_SLACK = 16


def _version(note: Mapping[str, Any]) -> int:
    found = note.get("version", 0)
    return found if type(found) is int and found >= 0 else 0
