"""Lakes of formats 1 to 3: a manifest ``CURRENT`` that was replaced by renaming, and one file per epoch after it.

::

    CURRENT                       {"lake": "nestling", "format": 3, "id": "9f…", …, "check": 1234, "body": {…}}
    log/000000000012.changes      what every relation gained or lost in epoch 12

Format 2 had the names of files, and their rows summed up; format 1 was such a body alone, with its format in it. They
are read here, and become lakes of format 4 when they are first written to: ``CURRENT`` is the truth until it is gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.manifest import (
    DataFile,
    Manifest,
    RelationFiles,
    has_only,
    manifest_of,
    number_in,
    relation_files,
    texts_in,
)
from nestling.storage.lake.names import LOG
from nestling.storage.lake.records import Epoch, damaged, read_epoch, split
from nestling.storage.lake.store import BlobStore, Listed

_LAKE, _LAST, _LAYOUT = "nestling", 3, "log data"
_ID = re.compile("[0-9a-f]{32}")
_BODY = ("epoch", "definitions", "note", "relations")
_RELATION = ("base", "changes", "base_rows", "change_rows")
_EPOCH = re.compile(rf"{LOG}/([0-9]{{12,}})\.changes")
_HALF = re.compile(rf"{LOG}/[0-9]{{12,}}\.changes\.tmp|CURRENT\.tmp")


def former_manifest(data: bytes, folder: str) -> Manifest:
    """What ``CURRENT`` says; ``folder`` is the name of the lake for the user."""
    try:
        stored = json.loads(data)
        version = stored.get("format") if isinstance(stored, dict) else None
        if type(version) is not int or ("lake" in stored) != (version > 1):
            raise _foreign(folder)
        if version > _LAST:
            raise StoreError(
                f"{folder} has a manifest of format {version}, which this Nestling does not read",
                hint="open it with the version that wrote it",
            )
        if version == 1:
            has_only(stored, ("format", *_BODY))
            return manifest_of(stored, "", _relation)
        if stored["lake"] != _LAKE or stored.get("layout") != _LAYOUT:
            raise _foreign(folder)
        return manifest_of(_body(stored), stored["id"], relation_files if version > 2 else _relation)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"the manifest of {folder} is damaged: {error}", hint="restore CURRENT from a copy"
        ) from error


def former_epochs(
    store: BlobStore, listed: Iterable[Listed], after: int, lake: str
) -> Iterator[tuple[int, Epoch]]:
    """The epochs in the log after the manifest's, in order."""
    for number, name in sorted(_numbered(listed).items()):
        if number > after:
            if number != (after := after + 1):
                raise StoreError(f"epoch {after} of {store.place} is missing", hint="restore it from a copy")
            yield number, _epoch(store.get(name), name, number, lake)


def former_names(listed: Iterable[Listed]) -> list[str]:
    """What goes with the manifest: epochs, and what was never one."""
    listed = list(listed)
    half = [entry.name for entry in listed if entry.kind == "file" and _HALF.fullmatch(entry.name)]
    return [*_numbered(listed).values(), *half]


def _numbered(listed: Iterable[Listed]) -> dict[int, str]:
    found = ((_EPOCH.fullmatch(entry.name), entry.name) for entry in listed if entry.kind == "file")
    return {int(match[1]): name for match, name in found if match}


def _epoch(data: bytes, name: str, epoch: int, lake: str) -> Epoch:
    try:
        head, parts = split(data)
        # Epochs of format 1 name no lake; there are none behind a manifest of format 2.
        if (head["epoch"], head.get("lake", "")) != (epoch, lake):
            raise ValueError("it is an epoch of another lake, or another epoch")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(name, error) from error
    return read_epoch(head, parts, name)


def _foreign(folder: str) -> StoreError:
    return StoreError(
        f"{folder} has a file CURRENT that is no manifest of Nestling", hint="give a folder of its own"
    )


def _body(stored: dict[str, Any]) -> dict[str, Any]:
    has_only(stored, ("lake", "format", "id", "layout", "check", "body"))
    body = stored["body"]
    has_only(body, _BODY)
    if type(stored["id"]) is not str or not _ID.fullmatch(stored["id"]):
        raise ValueError(f"its id is {stored['id']!r}")
    if _check(body) != stored["check"]:
        raise ValueError("it was changed")
    return dict(body)


def _check(body: Mapping[str, Any]) -> int:
    return crc32(json.dumps(body, sort_keys=True).encode())


def _relation(stored: Any) -> RelationFiles:
    """Before format 3 the rows of all files were counted together: here the first file has them all, until whoever
    opens the lake counts them."""
    has_only(stored, _RELATION)
    base = _counted(texts_in(stored["base"]), number_in(stored["base_rows"]))
    return RelationFiles(base, _counted(texts_in(stored["changes"]), number_in(stored["change_rows"])))


def _counted(names: Sequence[str], rows: int) -> tuple[DataFile, ...]:
    if rows and not names:
        raise ValueError(f"it has {rows} rows in no file")
    return tuple(DataFile(name, 0 if i else rows, 0) for i, name in enumerate(names))
