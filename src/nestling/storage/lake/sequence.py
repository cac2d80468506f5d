"""The log as one sequence of numbered records, each put under the next number: who has put one, and who may.

An owner's first record is an ``open``, and no ``open`` is ever removed by a commit. So whoever has the number before it
finds its next one taken, however much later it comes: it has lost the lake, for good. There is no clock in this.

Law: of the records that a reader finds, those after an ``open`` and before the next one are of its owner, and they are
exactly those whose ``put`` returned, or one more.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from nestling.errors import StoreError
from nestling.storage.lake.manifest import Manifest, read_manifest
from nestling.storage.lake.names import LOG, numbers, record_name
from nestling.storage.lake.records import LogRecord, epoch_number, read_record, write_record
from nestling.storage.lake.store import BlobStore, NameTaken

#: How often a reader begins again whose records go while it reads.
_TRIES = 5


class LogTail(NamedTuple):
    """The end of a log: the last manifest with its number, and the epochs that it has not got."""

    manifest: Manifest
    number: int
    epochs: list[LogRecord]


class Sequence:
    """The log of a lake, as one process knows it."""

    def __init__(self, store: BlobStore) -> None:
        self.store, self.owner = store, uuid4().hex
        self.who = f"process {os.getpid()} on {socket.gethostname()}"
        #: The last number that is known to be taken, and the lake's id.
        self.last, self.lake = 0, ""
        self.is_claimed, self.opened = False, 0
        self._lost_to: LogRecord | None = None

    @property
    def is_lost(self) -> bool:
        """Whether another process has the lake."""
        return self._lost_to is not None

    # -- reading

    def read(self, version: int | None = None) -> LogTail | None:
        """The end of the log, or its end as of a ``version``; nothing: there is no manifest yet."""
        for attempt in range(_TRIES):
            known = numbers(self.store.list(LOG))
            try:
                return self._read(known, version)
            except FileNotFoundError as error:
                # Another process may have committed, and removed what we were about to read.
                if attempt == _TRIES - 1 or numbers(self.store.list(LOG)) == known:
                    if version is not None:
                        raise self.not_kept(version) from error
                    raise StoreError(
                        f"{error.args[0]} of {self.store.place} is missing", hint="restore it from a copy"
                    ) from error
        raise AssertionError

    def _read(self, known: list[int], version: int | None) -> LogTail | None:
        if self.is_claimed:
            self._look_for_others()
        last = self.last = self._end(max([self.last, *known]))
        if not last:
            return None
        records: dict[int, LogRecord] = {}
        number = last = last if version is None else self._at(last, version, records)
        while (record := self._record(number, records)).kind != "manifest":
            self.lake = str(record.head["lake"])
            number -= 1
            if not number:
                return None  # whoever made the lake came no further
        manifest = read_manifest(record)
        self.lake = manifest.id
        live = [self._record(each, records) for each in range(manifest.since, last + 1)]
        epochs = [found for found in live if found.kind == "epoch"]
        for expected, found in enumerate(epochs, manifest.epoch + 1):
            if epoch_number(found) != expected:
                raise StoreError(
                    f"epoch {expected} of {self.store.place} is missing", hint="restore it from a copy"
                )
        if any(found.head["lake"] != manifest.id for found in live):
            raise StoreError(f"{self.store.place} has records of another lake", hint="restore it from a copy")
        return LogTail(manifest, number, epochs)

    def _end(self, last: int) -> int:
        """The last number: a listing may not have the latest ones."""
        while True:
            try:
                self.store.get(record_name(last + 1))
            except FileNotFoundError:
                return last
            last += 1

    def _record(self, number: int, records: dict[int, LogRecord]) -> LogRecord:
        if number not in records:
            records[number] = self.record(number)
        return records[number]

    def record(self, number: int) -> LogRecord:
        """What the log has under a number."""
        name = record_name(number)
        try:
            return read_record(self.store.get(name), number, None)
        except FileNotFoundError:
            raise FileNotFoundError(name) from None

    def _at(self, last: int, version: int, records: dict[int, LogRecord]) -> int:
        """The last record at which the lake was at a version."""
        for number in range(last, 0, -1):
            try:
                reached = reached_by(self._record(number, records))
            except FileNotFoundError:
                break
            if reached is not None and reached <= version:
                if reached == version:
                    return number
                break
        raise self.not_kept(version)

    def not_kept(self, version: int) -> StoreError:
        return StoreError(
            f"version {version} of {self.store.place} is not kept",
            hint="db.vacuum(keep=n) says how many versions are kept from then on",
        )

    def has_moved(self) -> bool:
        """Whether there are records that were not read."""
        return self._end(max([self.last, *numbers(self.store.list(LOG))])) > self.last

    # -- writing

    def put(self, head: Mapping[str, Any], parts: bytes = b"") -> int:
        """Put the next record; its number."""
        if self._lost_to is not None:
            raise self._fenced(self._lost_to)
        if not self.is_claimed and head["kind"] != "open":
            self.claim()
        number = self.last + 1
        named = {"lake": self.lake, "number": number, "owner": self.owner, "who": self.who}
        data = write_record({**named, **head}, parts)
        try:
            self.store.put_new(record_name(number), data)
        except NameTaken:
            # Our own put may have been tried twice by whoever carries it out.
            if self.store.get(record_name(number)) != data:
                raise self._taken(number) from None
        self.last = number
        return number

    def claim(self) -> None:
        """Say that this process writes from now on; whoever did before is refused."""
        if not self.is_claimed:
            self.opened = self.put({"kind": "open"})
            self.is_claimed = True

    def _taken(self, number: int) -> StoreError:
        found = self.record(number)
        if found.head["owner"] == self.owner:
            return StoreError(
                f"{self.store.place} has a record of this process that was not acknowledged",
                hint="open it again",
            )
        if not self.is_claimed:
            return StoreError(
                f"{self.store.place} was written by {found.who} while it was opened", hint="open it again"
            )
        self._lost_to = found
        return self._fenced(found)

    def _look_for_others(self) -> None:
        """Whether somebody has put a record behind ours."""
        while True:
            try:
                found = self.record(self.last + 1)
            except FileNotFoundError:
                return
            if found.head["owner"] != self.owner:
                self._lost_to = self._lost_to or found
                return
            self.last += 1

    def _fenced(self, found: LogRecord) -> StoreError:
        return StoreError(
            f"{self.store.place} was taken over by {found.who}: this process can only read it",
            hint="close it, and open it again to take it back; one process writes at a time",
        )


def reached_by(record: LogRecord) -> int | None:
    """The version that the lake is at with a record; nothing: others say so."""
    if record.kind == "manifest":
        found = record.head.get("reached")
    else:
        note = record.head.get("note")
        found = note.get("version", 0) if isinstance(note, dict) else None
    return found if type(found) is int else None
