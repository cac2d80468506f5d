"""The manifest: what a lake holds at an epoch, and that the folder is a lake of ours.

::

    {"lake": "nestling", "format": 2, "id": "9f…", "layout": "log data", "check": 1234, "body": {…}}

``id`` is drawn when the folder is first used, and every epoch of its log repeats it: files of another lake are told
from its own. ``check`` sums the body up. Format 1 was the body alone, with its format in it.

Law: ``read_manifest`` gives what ``write_manifest`` was given, or a ``StoreError``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.names import is_data_file

LAKE, FORMAT, LAYOUT = "nestling", 2, "log data"
_ID = re.compile("[0-9a-f]{32}")
_BODY = ("epoch", "definitions", "note", "relations")
_RELATION = ("base", "changes", "base_rows", "change_rows")

Definitions = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class RelationFiles:
    """The files of one relation, relative to the folder, and how many rows they have."""

    base: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    base_rows: int = 0
    change_rows: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.base, *self.changes)

    @property
    def rows(self) -> int:
        return self.base_rows + self.change_rows


@dataclass(frozen=True)
class Manifest:
    """What is there at an epoch. Lakes of format 1 have no ``id``."""

    epoch: int = 0
    definitions: Definitions = ()
    relations: Mapping[str, RelationFiles] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def files(self) -> set[str]:
        return {file for relation in self.relations.values() for file in relation.files}


def write_manifest(manifest: Manifest) -> bytes:
    """``manifest`` as it is stored."""
    body = {
        "epoch": manifest.epoch, "definitions": manifest.definitions, "note": dict(manifest.note),
        "relations": {name: asdict(relation) for name, relation in manifest.relations.items()},
    }  # fmt: skip
    head = {"lake": LAKE, "format": FORMAT, "id": manifest.id, "layout": LAYOUT}
    return json.dumps({**head, "check": _check(body), "body": body}).encode()


def read_manifest(data: bytes, folder: str) -> Manifest:
    """What was stored; ``folder`` is the name of the lake for the user."""
    try:
        stored = json.loads(data)
        version = stored.get("format") if isinstance(stored, dict) else None
        if type(version) is not int or ("lake" in stored) != (version > 1):
            raise _foreign(folder)
        if version > FORMAT:
            raise StoreError(
                f"{folder} has format {version}, this Nestling reads {FORMAT} and before",
                hint="open it with the version that wrote it",
            )
        if version == 1:
            _has(stored, ("format", *_BODY))
            return _manifest(stored, "")
        if stored["lake"] != LAKE or stored.get("layout") != LAYOUT:
            raise _foreign(folder)
        return _manifest(_body(stored), stored["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"the manifest of {folder} is damaged: {error}", hint="restore CURRENT from a copy"
        ) from error


def _foreign(folder: str) -> StoreError:
    return StoreError(
        f"{folder} has a file CURRENT that is no manifest of Nestling", hint="give a folder of its own"
    )


def _body(stored: dict[str, Any]) -> dict[str, Any]:
    _has(stored, ("lake", "format", "id", "layout", "check", "body"))
    body = stored["body"]
    _has(body, _BODY)
    if type(stored["id"]) is not str or not _ID.fullmatch(stored["id"]):
        raise ValueError(f"its id is {stored['id']!r}")
    if _check(body) != stored["check"]:
        raise ValueError("it was changed")
    return dict(body)


def _check(body: Mapping[str, Any]) -> int:
    return crc32(json.dumps(body, sort_keys=True).encode())


def _manifest(body: Mapping[str, Any], id_: str) -> Manifest:
    definitions = tuple(tuple(_texts(entry, 3)) for entry in _listed(body["definitions"]))
    if type(body["note"]) is not dict or type(body["relations"]) is not dict:
        raise ValueError("a part of it is of another kind")
    relations = {name: _relation(name, found) for name, found in body["relations"].items()}
    return Manifest(_number(body["epoch"]), definitions, relations, body["note"], id_)  # type: ignore[arg-type]


def _relation(name: str, stored: Any) -> RelationFiles:
    _has(stored, _RELATION)
    base, changes = tuple(_texts(stored["base"])), tuple(_texts(stored["changes"]))
    found = RelationFiles(base, changes, _number(stored["base_rows"]), _number(stored["change_rows"]))
    for file in found.files:
        if not is_data_file(file):
            raise ValueError(f"{name} names the file {file!r}, which is none of a lake")
    if len(set(found.files)) != len(found.files):
        raise ValueError(f"{name} names a file twice")
    return found


def _has(stored: Any, names: tuple[str, ...]) -> None:
    if type(stored) is not dict or set(stored) != set(names):
        raise ValueError(f"it should have {', '.join(names)}, and nothing else")


def _listed(found: Any) -> list[Any]:
    if type(found) is not list:
        raise ValueError(f"{found!r:.40} is no list")
    return found


def _texts(found: Any, length: int | None = None) -> list[str]:
    if any(type(text) is not str for text in _listed(found)) or length not in (None, len(found)):
        raise ValueError(f"{found!r:.40} is no list of texts")
    return list(found)


def _number(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError(f"{found!r:.40} is no number of rows or epochs")
    return found
