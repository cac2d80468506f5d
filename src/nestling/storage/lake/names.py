"""The names of all files that a lake writes, and the removal of those that nobody needs.

A folder may hold files of its user beside ours, so nothing is removed but a regular file with one of these names, in a
folder with one of these names. Symbolic links are neither followed nor removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path

#: The manifest, the folder of the log, and the folder of the rows.
CURRENT, LOG, DATA = "CURRENT", "log", "data"

#: The files of one relation, those of one change of it, and those that Spark writes at once.
_RELATION = re.compile(r"[0-9a-f]{24}")
_CHANGES = re.compile(r"changes-[0-9]+-[0-9a-f]{32}\.parquet")
_ROWS = re.compile(r"rows-[0-9a-f]{32}")
#: What Spark writes there, and the folders that it uses while it does.
_WRITTEN = re.compile(r"\.?(part-[0-9A-Za-z-]+(\.[0-9A-Za-z_]+)?\.parquet|_SUCCESS)(\.crc)?")
_ATTEMPT = re.compile(r"_temporary|[0-9]+|(attempt|task)_[0-9]+_[0-9]+_[mr]_[0-9_]+")
_EPOCH = re.compile(r"([0-9]{12,})\.changes")
#: What a manifest may name: Spark chooses the last part.
_NAMED = re.compile(
    rf"{DATA}/{_RELATION.pattern}/({_CHANGES.pattern}|{_ROWS.pattern}/[^/\\\0._][^/\\\0]*\.parquet)"
)


def is_data_file(name: str) -> bool:
    """Whether a manifest may name this file: it is one of ours, below ``data``.

    >>> is_data_file("data/../../secret.parquet")
    False
    >>> is_data_file("data/0123456789abcdef01234567/changes-7-0123456789abcdef0123456789abcdef.parquet")
    True
    """
    return _NAMED.fullmatch(name) is not None


def epoch_of(name: str) -> int | None:
    """The epoch that a file of the log is of."""
    found = _EPOCH.fullmatch(name)
    return None if found is None else int(found[1])


def log_path(folder: Path, epoch: int) -> Path:
    """Where the log has an epoch."""
    return folder / f"{epoch:012d}.changes"


def epochs(folder: Path) -> list[tuple[int, Path]]:
    """The epochs of a log with their files, in order."""
    found = ((epoch_of(entry.name), entry) for entry in _entries(folder) if _is_file(entry))
    return sorted((number, Path(entry.path)) for number, entry in found if number is not None)


def remove_epochs(folder: Path, last: int) -> None:
    """Remove what is in files by now, up to epoch ``last``, and what was never an epoch."""
    for number, path in epochs(folder):
        if number <= last:
            path.unlink()
    for entry in _entries(folder):
        name, _, suffix = entry.name.rpartition(".")
        if suffix == "tmp" and epoch_of(name) is not None and _is_file(entry):
            os.unlink(entry.path)


def remove_data(folder: Path, used: Set[str]) -> None:
    """Remove our files below the folder of the rows, but for the ``used`` ones, which are full paths."""
    for relation in _folders(folder, _RELATION):
        for entry in _entries(relation):
            if _CHANGES.fullmatch(entry.name) and _is_file(entry) and entry.path not in used:
                os.unlink(entry.path)
        for rows in _folders(relation, _ROWS):
            _remove_written(rows, used)
        _remove_empty(relation)


def remove_files(lake: Path, names: Iterable[str], used: Set[str]) -> None:
    """Remove files of ours, or all that Spark wrote to a folder, by their names in a lake; but for the ``used`` ones.

    Where they lie is no link: who made the names looked.
    """
    kept = {str(lake / name) for name in used}
    folders = set()
    for name in names:
        _, _, place, *file = name.split("/")
        if file or _ROWS.fullmatch(place):
            folders.add(lake.joinpath(*name.split("/")[:3]))
        elif name not in used:
            (lake / name).unlink(missing_ok=True)
    for folder in folders:
        _remove_written(folder, kept)


def _remove_written(folder: Path, used: Set[str]) -> None:
    for inner in _folders(folder, _ATTEMPT):
        _remove_written(inner, used)
    for entry in _entries(folder):
        if _WRITTEN.fullmatch(entry.name) and _is_file(entry) and _without_check(entry.path) not in used:
            os.unlink(entry.path)
    _remove_empty(folder)


def _without_check(path: str) -> str:
    """A file, for the file of checksums that lies beside it: ``.part-….parquet.crc``."""
    folder, name = os.path.split(path)
    return os.path.join(folder, name[1:-4]) if name.startswith(".") and name.endswith(".crc") else path


def _folders(folder: Path, names: re.Pattern[str]) -> Iterator[Path]:
    for entry in _entries(folder):
        if names.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # something of the user's is in it
        folder.rmdir()
