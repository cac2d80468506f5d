"""The log: one file per epoch, with the changes of all relations in it.

The name of an epoch's file is what commits it: the file is written under another name, made durable, and renamed. A
file says which lake and epoch it is of, how long its parts are and what they add up to, so that damage and files of
others are found and never taken for the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.files import write_atomically
from nestling.storage.lake.names import log_path


def write_epoch(
    folder: Path,
    epoch: int,
    lake: str,
    note: Mapping[str, Any],
    changes: Mapping[str, Any],
    emptied: Iterable[str] = (),
) -> None:
    """Store the changes of one epoch, Arrow tables by relation; they last once this returns.

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
    whole = {"lake": lake, "epoch": epoch, "note": dict(note), "emptied": sorted(emptied), "parts": described}
    head = json.dumps(whole).encode()
    write_atomically(log_path(folder, epoch), b"%d %d\n" % (len(head), crc32(head)) + head + b"".join(parts))


def _compressed() -> Any:
    """How Arrow writes a part: compressed, and it says so itself, so that parts of older lakes are read as well."""
    import pyarrow as pa

    codec = next((name for name in ("zstd", "lz4") if pa.Codec.is_available(name)), None)
    return pa.ipc.IpcWriteOptions(compression=codec)


class Epoch(NamedTuple):
    """What one file of the log says."""

    note: dict[str, Any]
    changes: dict[str, Any]
    emptied: list[str]


def read_epoch(path: Path, epoch: int, lake: str) -> Epoch:
    """The note of an epoch, its changes, and what was emptied before them."""
    try:
        data = path.read_bytes()
        first, _, rest = data.partition(b"\n")
        length, check = map(int, first.split())
        head = rest[:length]
        if crc32(head) != check:
            raise ValueError("its head was changed")
        described = json.loads(head)
        # Epochs of format 1 name no lake; there are none behind a manifest of format 2.
        if (described["epoch"], described.get("lake", "")) != (epoch, lake):
            raise ValueError("it is an epoch of another lake, or another epoch")
        return Epoch(
            _note(described["note"]), _changes(described["parts"], rest[length:]), _emptied(described)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise StoreError(f"{path.name} is damaged: {error}", hint="restore it from a copy") from error


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
        except pa.ArrowException as error:
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
