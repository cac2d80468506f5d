"""The format of a store file: an SQLite database with four tables, every row of which has a checksum.

``definition`` holds what was defined, in order of creation. ``log`` holds one entry per change, numbered
without gaps. ``snapshot`` holds the maps as of one change, in chunks: keys and payloads in turn, joined by
``SEPARATOR``. ``state`` has one row: which change that is, how many chunks there must be, and how often
definitions were edited. Long bodies of log and snapshot are ``packed``. No table has an index, since SQLite's
quick check does not look into indexes.

``verify`` reads all of it: 20 ms and 60 ms per 64 MB for structure and checksums, a few hundredths of what
decoding the same rows takes. So damage shows before anything is written, and later reads find no surprise.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from zlib import compress, crc32, decompressobj
from zlib import error as ZlibError

from nestling.errors import StoreError

Definitions: TypeAlias = dict[tuple[str, str], tuple[int, str]]

APPLICATION_ID = 0x4E455354  # "NEST"
VERSION = 2
#: By version the statements that make a file one of the next. Files of version 1 are not packed, and stay readable.
MIGRATIONS: dict[int, tuple[str, ...]] = {1: ()}

SCHEMA = (
    "CREATE TABLE definition (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, body BLOB, checksum INTEGER)",
    "CREATE TABLE log (seq INTEGER PRIMARY KEY, body BLOB, checksum INTEGER)",
    "CREATE TABLE snapshot (id INTEGER PRIMARY KEY, map TEXT, body BLOB, checksum INTEGER)",
    "CREATE TABLE state (at INTEGER, chunks INTEGER, edits INTEGER, checksum INTEGER)",
)
NEW = (
    "PRAGMA synchronous = OFF",  # one sync at the end does for all
    "PRAGMA journal_mode = WAL",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
MAGIC = b"SQLite format 3\0"
SEPARATOR = "\x1e"  # JSON escapes it, so that no encoded value contains it
CHUNK = 1 << 16  # characters; smaller ones cost more rows, larger ones more memory, and none is faster
LONGEST = 900_000_000  # bytes; SQLite takes rows of a billion
SMALL = 1 << 20  # bytes of log that are never worth a snapshot
PACKED = b"\xff"  # no UTF-8 begins so
SHORT = 512  # bytes that are not worth packing
LEVEL = 1  # the fastest: further ones take three times as long for a tenth less
_ENCODE = "pass values through nestling.storage.codec.encode"


@dataclass(slots=True)
class Contents:
    """What a store holds, but for the rows: kept in step with the file by whoever writes it."""

    definitions: Definitions
    at: int
    chunks: int
    edits: int
    snapshot_bytes: int
    last: int
    log_bytes: int

    @property
    def acknowledged(self) -> int:
        """How many changes of data and definitions there were: what the lock file bears witness of."""
        return self.last + self.edits

    def state_row(self) -> tuple[int, int, int, int]:
        state = self.at, self.chunks, self.edits
        return *state, checksum(b"", "state", *state)


EMPTY = Contents({}, at=0, chunks=0, edits=0, snapshot_bytes=0, last=0, log_bytes=0)


@dataclass(frozen=True, slots=True)
class Stats:
    """Sizes: of the log and the snapshot without overhead, and of all on disk."""

    log_entries: int
    log_bytes: int
    snapshot_bytes: int
    file_bytes: int

    @property
    def snapshot_due(self) -> bool:
        """Whether the log has outgrown the snapshot.

        Snapshots taken when this says so write at most twice what the log does in the long run, and leave at
        most one snapshot's worth of changes to replay.
        """
        return self.log_bytes > max(self.snapshot_bytes, SMALL)


def checksum(body: bytes, *place: object) -> int:
    """A sum over ``body`` and the place it belongs to, so that a row is not taken for another one.

    It is -1, which no sum is, for what a damaged row has in place of bytes.
    """
    return crc32(body, crc32(repr(place).encode())) if type(body) is bytes else -1


def as_bytes(text: str) -> bytes:
    """``text`` in UTF-8, if SQLite can take it."""
    try:
        body = text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"a text with lone surrogates cannot be stored: {text!r:.60}", hint=_ENCODE
        ) from error
    if len(body) > LONGEST:
        raise StoreError(
            f"{len(body):,} bytes are too long to be stored in one piece", hint="split the change"
        )
    return body


def packed(body: bytes) -> bytes:
    """``body`` in less space, if it is long: rows repeat names and labels, and take a tenth of it.

    Law: ``unpacked(packed(b)) == b`` for the texts that are stored. No text begins with the byte of the mark.
    """
    return PACKED + compress(body, LEVEL) if len(body) > SHORT else body


def unpacked(body: bytes) -> bytes:
    """What was packed; ``ValueError`` where it cannot have been."""
    if not body.startswith(PACKED):
        return body
    unpacking = decompressobj()
    try:
        found = unpacking.decompress(body[len(PACKED) :], LONGEST)
    except ZlibError as error:
        raise ValueError(f"what is packed is not what was written: {error}") from error
    if not unpacking.eof or unpacking.unconsumed_tail or unpacking.unused_data:
        raise ValueError("what is packed is cut off, or too long")
    return found


def as_text(text: str) -> str:
    """``text`` itself, if SQLite can take it."""
    as_bytes(text)
    return text


def chunks_of(maps: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> Iterator[tuple[str, bytes]]:
    """``maps`` in pieces of about ``CHUNK`` characters, as they come.

    Law: the texts in the pieces, parted by ``SEPARATOR``, are the keys and payloads of ``maps`` in turn.
    """
    for name, rows in maps:
        texts: list[str] = []
        size = 0
        for row in rows:
            texts += row
            size += len(row[0]) + len(row[1])
            if size >= CHUNK:
                yield name, _joined(texts)
                texts, size = [], 0
        if texts:
            yield name, _joined(texts)


def _joined(texts: list[str]) -> bytes:
    joined = SEPARATOR.join(texts)
    if joined.count(SEPARATOR) != len(texts) - 1:
        raise StoreError(
            f"a snapshot cannot hold a text with the character {SEPARATOR!r}",
            hint=_ENCODE,
        )
    return as_bytes(joined)


def check_header(path: Path) -> None:
    """Refuse what is not a store file, without SQLite."""
    with path.open("rb") as file:
        header = file.read(100)
    if not header:
        raise StoreError(f"{path} is empty", hint="restore it from a copy, or delete it to start a new one")
    if not header.startswith(MAGIC[: len(header)]):
        raise _foreign(path, "it is no database at all")
    if len(header) < 100:
        raise damaged(path, f"it ends after {len(header)} bytes")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise _foreign(path, "it is an SQLite database of something else")


def check_version(db: sqlite3.Connection, path: Path) -> int:
    """The version of the file; refuse one that is unknown."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer Nestling: it has format {version}, and this one knows {VERSION}",
            hint="upgrade nestling; the file was not changed",
        )
    if any(step not in MIGRATIONS for step in range(version, VERSION)):
        raise StoreError(
            f"{path} has format {version}, which this Nestling cannot bring to its own, {VERSION}",
            hint="open it with the Nestling that wrote it; the file was not changed",
        )
    return version


def check_structure(db: sqlite3.Connection, path: Path) -> None:
    """Have SQLite walk all pages: each is used once, and cells and free space fill it."""
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, " ".join(found.split()))


def is_shaped_alike(version: int) -> bool:
    """Whether the tables of a version are those of today's."""
    return not any(MIGRATIONS[step] for step in range(version, VERSION))


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring a file from ``version`` to ``VERSION``, in the transaction that is open."""
    for step in range(version, VERSION):
        for statement in MIGRATIONS[step]:
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")


def verify(db: sqlite3.Connection, path: Path) -> Contents:
    """What the store holds, every row of it read and found to be what was written.

    Law: a store that ``verify`` accepts gives back what was put in, and no damage makes it run anything: a
    file whose schema has more than the four tables, such as a trigger, is refused.
    """
    if tuple(sql for (sql,) in db.execute("SELECT sql FROM sqlite_master ORDER BY name")) != SCHEMA:
        raise damaged(path, "its tables are not those of a store")
    try:
        return _contents(db)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def _contents(db: sqlite3.Connection) -> Contents:
    definitions = _definitions(db.execute("SELECT * FROM definition ORDER BY id"))
    [(at, chunks, edits, found)] = db.execute("SELECT * FROM state")
    _expect(found, checksum(b"", "state", at, chunks, edits), "the state")
    if not all(type(each) is int and each >= 0 for each in (at, chunks, edits)):
        raise ValueError(f"the state {(at, chunks, edits)} makes no sense")
    snapshot = db.execute("SELECT id, map, body, checksum FROM snapshot ORDER BY id")
    count, snapshot_bytes = _count(snapshot, "snapshot", 1)
    _expect(count, chunks, "the number of chunks")
    log = db.execute("SELECT seq, NULL, body, checksum FROM log ORDER BY seq")
    count, log_bytes = _count(log, "log", at + 1)
    return Contents(definitions, at, chunks, edits, snapshot_bytes, at + count, log_bytes)


def _definitions(rows: Iterable[tuple[int, str, str, bytes, int]]) -> Definitions:
    definitions: Definitions = {}
    for id_, kind, name, body, found in rows:
        _expect(found, checksum(body, "definition", id_, kind, name), f"the definition of {name!r:.60}")
        if type(kind) is not str or type(name) is not str or type(body) is not bytes:
            raise ValueError(f"the definition of {name!r:.60} is no text")
        if (kind, name) in definitions:
            raise ValueError(f"there are two definitions of {kind} {name!r:.60}")
        definitions[kind, name] = id_, body.decode()
    return definitions


def _count(rows: Iterable[tuple[int, str | None, bytes, int]], table: str, first: int) -> tuple[int, int]:
    """How many rows and bytes there are, no row missing and each of them sound."""
    count = size = 0
    for id_, name, body, found in rows:
        _expect(id_, first + count, f"the number of a row of the {table}")
        check_row(table, id_, name, body, found)
        count, size = count + 1, size + len(body)
    return count, size


def check_row(table: str, id_: int, name: str | None, body: bytes, found: int) -> None:
    """Raise ``ValueError`` unless the row is what was written."""
    _expect(found, checksum(body, table, id_, name), f"row {id_} of the {table}")
    if type(body) is not bytes or type(name) is not (type(None) if table == "log" else str):
        raise ValueError(f"row {id_} of the {table} is no text")


def _expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise ValueError(f"{what} is not what was written")


def _foreign(path: Path, why: str) -> StoreError:
    return StoreError(f"{path} is not a Nestling file: {why}", hint="choose another name; it was not changed")


def damaged(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{path} is damaged: {why}",
        hint="restore it from a copy, or see what `sqlite3 FILE .recover` can save of it",
    )
