"""What is read of a store: its definitions, the chunks of its snapshot, and the entries of its log."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from nestling.errors import StoreError
from nestling.storage.format import SEPARATOR, Contents, check_row, damaged, unpacked

BATCH = 256  # log entries read at a time: no statement stays open while their reader does something else


class Readable:
    """A store that is open; whoever opens it says how a statement is run, and what is known of its contents."""

    path: Path
    _now: Contents
    #: How often the snapshot was replaced.
    _snapshots = 0

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        raise NotImplementedError

    def definitions(self) -> list[tuple[str, str, str]]:
        """``(kind, name, text)`` of what is defined, in order of creation."""
        return [(kind, name, text) for (kind, name), (_, text) in self._now.definitions.items()]

    @property
    def edits(self) -> int:
        """How often definitions have changed."""
        return self._now.edits

    def read_log(self, after: int) -> Iterator[tuple[int, str]]:
        """The entries numbered above ``after``, with their numbers."""
        if after < self._now.at:
            raise StoreError(
                f"{self.path} has no changes before {self._now.at + 1}",
                hint="read the snapshot, then the log after it",
            )
        return self._entries(after)

    def read_snapshot(self) -> tuple[int, Iterator[tuple[str, str, str]]]:
        """Which change the snapshot is of, 0 if there is none, and its ``(map, key, payload)`` in order."""
        at, chunks = self.read_chunks()
        return at, (
            (name, key, payload)
            for name, texts in chunks
            for key, payload in zip(texts[::2], texts[1::2], strict=True)
        )

    def read_chunks(self) -> tuple[int, Iterator[tuple[str, list[str]]]]:
        """The same by the piece: the name of a map, and keys and payloads of it in turn."""
        return self._now.at, self._chunks(self._snapshots)

    def _entries(self, after: int) -> Iterator[tuple[int, str]]:
        statement = "SELECT seq, NULL, body, checksum FROM log WHERE seq > ? ORDER BY seq LIMIT ?"
        while rows := self._run(statement, (after, BATCH)).fetchall():
            for row in rows:
                yield row[0], self._text("log", row)
            after = rows[-1][0]

    def _chunks(self, snapshot: int) -> Iterator[tuple[str, list[str]]]:
        statement = "SELECT id, map, body, checksum FROM snapshot WHERE id = ?"
        for id_ in range(1, self._now.chunks + 1):
            if snapshot != self._snapshots:
                raise StoreError("the snapshot was replaced while it was read", hint="read it again")
            row = self._run(statement, (id_,)).fetchone()
            texts = self._text("snapshot", row).split(SEPARATOR)
            if len(texts) % 2:
                raise damaged(self.path, f"row {id_} of the snapshot has a key without a payload")
            yield row[1], texts

    def _text(self, table: str, row: tuple[int, str | None, bytes, int] | None) -> str:
        """What a row says, if it is what was written."""
        try:
            if row is None:
                raise ValueError(f"a row of the {table} is gone")
            check_row(table, *row)
            return unpacked(row[2]).decode()
        except ValueError as error:
            raise damaged(self.path, str(error)) from error
