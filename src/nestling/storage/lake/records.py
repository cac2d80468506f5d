"""The records of a log: a head, which is JSON, and the parts that it describes.

::

    {"nestling": 4, "lake": "9f…", "number": 12, "owner": "3c…", "who": "process 7 on ada", "kind": "epoch", …}

``epoch``: what every relation gained or lost. ``manifest``: all that is there, in files. ``open``: who writes from now
on. A record says which lake and number it is of, who put it, how long its parts are and what they add up to, so that
damage and files of others are found and never taken for the end.

Law: ``read_record`` gives what ``write_record`` was given, or a ``StoreError``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.names import record_name

#: Formats 1 to 3 had a manifest that was replaced, ``CURRENT``.
FORMAT = 4
KINDS = ("open", "epoch", "manifest")
_HINT = "restore it from a copy"


class LogRecord(NamedTuple):
    """What the log has under a number: its head, and the bytes of its parts."""

    number: int
    head: Mapping[str, Any]
    parts: bytes

    @property
    def kind(self) -> str:
        return str(self.head["kind"])

    @property
    def who(self) -> str:
        """Who put it, for people."""
        return str(self.head["who"])


def write_record(head: Mapping[str, Any], parts: bytes = b"") -> bytes:
    """A record as it is stored."""
    data = json.dumps({"nestling": FORMAT, **head}).encode()
    return b"%d %d\n" % (len(data), crc32(data)) + data + parts


def read_record(data: bytes, number: int, lake: str | None) -> LogRecord:
    """What was stored under a number; ``lake``: the id of the lake, if it is known."""
    name = record_name(number)
    try:
        head, parts = split(data)
        version = head.get("nestling") if isinstance(head, dict) else None
        if type(version) is not int:
            raise ValueError("it is no record of Nestling")
        if version > FORMAT:
            raise StoreError(
                f"{name} has format {version}, this Nestling reads {FORMAT} and before",
                hint="open it with the version that wrote it",
            )
        for key in ("lake", "owner", "who", "kind"):
            if type(head[key]) is not str:
                raise ValueError(f"its {key} is {head[key]!r:.40}")
        if type(head["number"]) is not int or head["number"] != number or lake not in (None, head["lake"]):
            raise ValueError("it is a record of another lake, or another record")
        if head["kind"] not in KINDS:
            raise ValueError(f"{head['kind']!r:.40} is no kind of record")
        return LogRecord(number, head, parts)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(name, error) from error


def split(data: bytes) -> tuple[Any, bytes]:
    """The head of a record or of a former epoch, and its parts."""
    first, _, rest = data.partition(b"\n")
    length, check = map(int, first.split())
    if length < 0 or crc32(rest[:length]) != check:
        raise ValueError("its head was changed")
    return json.loads(rest[:length]), rest[length:]


def damaged(name: str, error: Exception) -> StoreError:
    return StoreError(f"{name} is damaged: {error}", hint=_HINT)


class Epoch(NamedTuple):
    """What one epoch says."""

    note: dict[str, Any]
    changes: dict[str, Any]
    emptied: list[str]


def epoch_parts(
    epoch: int, note: Mapping[str, Any], changes: Mapping[str, Any], emptied: Iterable[str]
) -> tuple[dict[str, Any], bytes]:
    """The changes of one epoch, Arrow tables by relation, as head and parts of a record.

    Relations that are ``emptied`` hold nothing before their changes.
    """
    import pyarrow as pa

    parts: list[bytes] = []
    described = []
    for name, table in changes.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=_compressed()) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes()
        parts.append(data)
        described.append([name, len(data), crc32(data)])
    head = {"epoch": epoch, "note": dict(note), "emptied": sorted(emptied), "parts": described}
    return {"kind": "epoch", **head}, b"".join(parts)


def _compressed() -> Any:
    """How Arrow writes a part: compressed, and it says so itself, so that parts of older lakes are read as well."""
    import pyarrow as pa

    codec = next((name for name in ("zstd", "lz4") if pa.Codec.is_available(name)), None)
    return pa.ipc.IpcWriteOptions(compression=codec)


def epoch_number(record: LogRecord) -> int:
    """Which epoch a record is."""
    found = record.head.get("epoch")
    if type(found) is not int:
        raise damaged(record_name(record.number), ValueError("it is no epoch"))
    return found


def read_epoch(head: Mapping[str, Any], parts: bytes, name: str) -> Epoch:
    """The note of an epoch, its changes, and what was emptied before them; ``name`` is what the user knows it by."""
    try:
        return Epoch(_note(head["note"]), _changes(head["parts"], parts), _emptied(head))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(name, error) from error


def _changes(parts: Any, data: bytes) -> dict[str, Any]:
    import pyarrow as pa

    changes: dict[str, Any] = {}
    at = 0
    for name, size, check in parts:
        part = data[at : at + size]
        if type(name) is not str or name in changes or len(part) != size or crc32(part) != check:
            raise ValueError(f"the changes of {name} were changed")
        try:
            with pa.ipc.open_stream(part) as reader:
                changes[name] = reader.read_all()
            changes[name].validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"the changes of {name} are none: {error}") from error
        at += size
    if at != len(data):
        raise ValueError("it has more than it says")
    return changes


def _note(found: Any) -> dict[str, Any]:
    if type(found) is not dict:
        raise ValueError("its note is none")
    return found


def _emptied(described: Mapping[str, Any]) -> list[str]:
    found = described.get("emptied", [])
    if type(found) is not list or any(type(name) is not str for name in found):
        raise ValueError("it empties what has no name")
    return found
