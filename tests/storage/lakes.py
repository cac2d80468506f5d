"""Records of a lake in a folder, read and written beside the library."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32


def records(folder: Path) -> list[Path]:
    """The records of its log, in order."""
    return sorted((folder / "log").glob("*.record"))


def read(path: Path) -> tuple[Any, bytes]:
    """The head of a record, and its parts."""
    line, _, rest = path.read_bytes().partition(b"\n")
    length = int(line.split()[0])
    return json.loads(rest[:length]), rest[length:]


def write(path: Path, head: Any, parts: bytes = b"") -> None:
    """A record with another head, and the right sum of it."""
    data = json.dumps(head).encode()
    path.write_bytes(b"%d %d\n" % (len(data), crc32(data)) + data + parts)


def of_kind(folder: Path, kind: str) -> list[Path]:
    """The records of a kind, in order."""
    return [path for path in records(folder) if read(path)[0]["kind"] == kind]
