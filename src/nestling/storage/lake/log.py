"""The log: one file per epoch, with the changes of all relations in it.

The name of an epoch's file is what commits it: the file is written under another name, made durable, and renamed. A
file says how long its parts are and what they add up to, so that damage is found and never taken for the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.files import write_atomically

SUFFIX = ".changes"


def log_path(folder: Path, epoch: int) -> Path:
    return folder / f"{epoch:012d}{SUFFIX}"


def write_epoch(
    folder: Path, epoch: int, note: Mapping[str, Any], changes: Mapping[str, Any], emptied: Iterable[str] = ()
) -> None:
    """Store the changes of one epoch, Arrow tables by relation; they last once this returns.

    Relations that are ``emptied`` hold nothing before their changes.
    """
    import pyarrow as pa

    parts: list[bytes] = []
    described = []
    for name, table in changes.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes()
        parts.append(data)
        described.append([name, len(data), crc32(data)])
    whole = {"epoch": epoch, "note": dict(note), "emptied": sorted(emptied), "parts": described}
    head = json.dumps(whole).encode()
    write_atomically(log_path(folder, epoch), b"%d %d\n" % (len(head), crc32(head)) + head + b"".join(parts))


class Epoch(NamedTuple):
    """What one file of the log says."""

    note: dict[str, Any]
    changes: dict[str, Any]
    emptied: list[str]


def read_epoch(path: Path) -> Epoch:
    """The note of an epoch, its changes, and what was emptied before them."""
    import pyarrow as pa

    data = path.read_bytes()
    first, _, rest = data.partition(b"\n")
    try:
        length, check = map(int, first.split())
        head = rest[:length]
        if crc32(head) != check:
            raise ValueError("its head was changed")
        described = json.loads(head)
        changes, at = {}, length
        for name, size, check in described["parts"]:
            part = rest[at : at + size]
            if len(part) != size or crc32(part) != check:
                raise ValueError(f"the changes of {name} were changed")
            with pa.ipc.open_stream(part) as reader:
                changes[name] = reader.read_all()
            at += size
    except ValueError as error:
        raise StoreError(f"{path.name} is damaged: {error}", hint="restore it from a copy") from error
    return Epoch(described["note"], changes, described.get("emptied", []))
