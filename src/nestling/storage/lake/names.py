"""The names of all files that a lake writes, and which of those in a listing nobody needs.

A folder may hold files of its user beside ours, so nothing is removed but a regular file with one of these names, in a
folder with one of these names; and such a folder, if it is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from nestling.storage.lake.store import Listed

#: The folder of the log and the folder of the rows; formats before 4 had a manifest beside them.
CURRENT, LOG, DATA = "CURRENT", "log", "data"

_ID = "[0-9a-f]{32}"
#: The files of one relation: those of one change of it, and those that Spark writes at once.
_RELATION = rf"{DATA}/[0-9a-f]{{24}}"
_CHANGES = rf"changes-[0-9]+-{_ID}\.parquet"
_ROWS = rf"{_RELATION}/rows-{_ID}"
#: What Spark writes there, and the folders that it uses while it does.
_WRITTEN = r"\.?(part-[0-9A-Za-z-]+(\.[0-9A-Za-z_]+)?\.parquet|_SUCCESS)(\.crc)?"
_ATTEMPT = r"(_temporary|[0-9]+|(attempt|task)_[0-9]+_[0-9]+_[mr]_[0-9_]+)"
_HALF = r"\.[0-9a-f]{16}\.tmp"
_OURS = re.compile(
    rf"{_RELATION}/{_CHANGES}|{_RELATION}/\.{_CHANGES}{_HALF}"
    rf"|{_ROWS}(/{_ATTEMPT})*/({_WRITTEN}|\.part-0\.parquet{_HALF})"
)
_OUR_FOLDERS = re.compile(rf"{_RELATION}|{_ROWS}(/{_ATTEMPT})*")
_RECORD = re.compile(rf"{LOG}/([0-9]{{12,}})\.record")
_HALF_RECORD = re.compile(rf"{LOG}/\.[0-9]{{12,}}\.record{_HALF}")
#: What a manifest may name: Spark chooses the last part.
_NAMED = re.compile(rf"{_RELATION}/{_CHANGES}|{_ROWS}/[^/\\\0._][^/\\\0]*\.parquet")


def is_data_file(name: str) -> bool:
    """Whether a manifest may name this file: it is one of ours, below ``data``.

    >>> is_data_file("data/../../secret.parquet")
    False
    >>> is_data_file("data/0123456789abcdef01234567/changes-7-0123456789abcdef0123456789abcdef.parquet")
    True
    """
    return _NAMED.fullmatch(name) is not None


def record_name(number: int) -> str:
    """Where the log has a record."""
    return f"{LOG}/{number:012d}.record"


def numbers(listed: Iterable[Listed]) -> list[int]:
    """The numbers of the records in a log, in order."""
    found = (_RECORD.fullmatch(entry.name) for entry in listed if entry.kind == "file")
    return sorted(int(match[1]) for match in found if match)


def is_half_record(entry: Listed) -> bool:
    """Whether it is what a record was called before it was one."""
    return entry.kind == "file" and _HALF_RECORD.fullmatch(entry.name) is not None


def unused(listed: Iterable[Listed], used: Set[str]) -> Iterator[str]:
    """Those of our files and folders below ``data`` that are not ``used``: what is in a folder before the folder."""
    for entry in sorted(listed, reverse=True):
        if entry.kind == "folder" and _OUR_FOLDERS.fullmatch(entry.name):
            yield entry.name  # it goes if it is empty
        elif entry.kind == "file" and _OURS.fullmatch(entry.name) and _without_check(entry.name) not in used:
            yield entry.name


def folders_of(name: str) -> tuple[str, ...]:
    """The folders of ours that a file is in, inner ones first."""
    parts = name.split("/")
    found = ("/".join(parts[:end]) for end in range(len(parts) - 1, 1, -1))
    return tuple(folder for folder in found if _OUR_FOLDERS.fullmatch(folder))


def is_run(name: str) -> bool:
    """Whether it is a folder that Spark writes to."""
    return re.fullmatch(_ROWS, name) is not None


def _without_check(name: str) -> str:
    """A file, for the file of checksums that lies beside it: ``.part-….parquet.crc``."""
    folder, _, last = name.rpartition("/")
    return f"{folder}/{last[1:-4]}" if last.startswith(".") and last.endswith(".crc") else name
