"""The manifest: what a lake holds at an epoch, and that the folder is a lake of ours.

::

    {"lake": "nestling", "format": 3, "id": "9f…", "layout": "log data", "check": 1234, "body": {…}}

``id`` is drawn when the folder is first used, and every epoch of its log repeats it: files of another lake are told
from its own. ``check`` sums the body up. A file stands with its rows and bytes, so that no commit reads a footer.
Format 2 had the names of files, and their rows summed up; format 1 was such a body alone, with its format in it.

Law: ``read_manifest`` gives what ``write_manifest`` was given, or a ``StoreError``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4
from zlib import crc32

from nestling.errors import StoreError
from nestling.storage.lake.names import is_data_file

LAKE, FORMAT, LAYOUT = "nestling", 3, "log data"
_ID = re.compile("[0-9a-f]{32}")
_BODY = ("epoch", "definitions", "note", "relations")
_RELATION = ("base", "changes")
_OLD_RELATION = ("base", "changes", "base_rows", "change_rows")

Definitions = tuple[tuple[str, str, str], ...]


class DataFile(NamedTuple):
    """A file of rows, relative to the folder."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class RelationFiles:
    """The files of one relation: its sorted base, and what was added since."""

    base: tuple[DataFile, ...] = ()
    changes: tuple[DataFile, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        return (*self.base, *self.changes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(file.name for file in self.files)

    @property
    def base_rows(self) -> int:
        return sum(file.rows for file in self.base)

    @property
    def change_rows(self) -> int:
        return sum(file.rows for file in self.changes)

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
        return {name for relation in self.relations.values() for name in relation.names}


def write_manifest(manifest: Manifest) -> bytes:
    """``manifest`` as it is stored."""
    body = {
        "epoch": manifest.epoch, "definitions": manifest.definitions, "note": dict(manifest.note),
        "relations": {
            name: {"base": relation.base, "changes": relation.changes}
            for name, relation in manifest.relations.items()
        },
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
            return _manifest(stored, "", _old_relation)
        if stored["lake"] != LAKE or stored.get("layout") != LAYOUT:
            raise _foreign(folder)
        return _manifest(_body(stored), stored["id"], _relation if version > 2 else _old_relation)
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


def _manifest(body: Mapping[str, Any], id_: str, relation: Callable[[Any], RelationFiles]) -> Manifest:
    definitions = tuple(tuple(_texts(entry, 3)) for entry in _listed(body["definitions"]))
    if type(body["note"]) is not dict or type(body["relations"]) is not dict:
        raise ValueError("a part of it is of another kind")
    relations = {name: relation(found) for name, found in body["relations"].items()}
    for name, found in relations.items():
        _check_names(name, found.names)
    return Manifest(_number(body["epoch"]), definitions, relations, body["note"], id_)  # type: ignore[arg-type]


def _relation(stored: Any) -> RelationFiles:
    _has(stored, _RELATION)
    return RelationFiles(*(tuple(map(_file, _listed(stored[part]))) for part in _RELATION))


def _file(stored: Any) -> DataFile:
    if len(_listed(stored)) != 3 or type(stored[0]) is not str:
        raise ValueError(f"{stored!r:.40} is no file with its rows and bytes")
    return DataFile(stored[0], _number(stored[1]), _number(stored[2]))


def _old_relation(stored: Any) -> RelationFiles:
    """Before format 3 the rows of all files were counted together: here the first file has them all, until whoever
    opens the lake counts them."""
    _has(stored, _OLD_RELATION)
    base = _counted(_texts(stored["base"]), _number(stored["base_rows"]))
    return RelationFiles(base, _counted(_texts(stored["changes"]), _number(stored["change_rows"])))


def _counted(names: Sequence[str], rows: int) -> tuple[DataFile, ...]:
    if rows and not names:
        raise ValueError(f"it has {rows} rows in no file")
    return tuple(DataFile(name, 0 if i else rows, 0) for i, name in enumerate(names))


def _check_names(name: str, files: Sequence[str]) -> None:
    for file in files:
        if not is_data_file(file):
            raise ValueError(f"{name} names the file {file!r}, which is none of a lake")
    if len(set(files)) != len(files):
        raise ValueError(f"{name} names a file twice")


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
        raise ValueError(f"{found!r:.40} is no number of rows, bytes or epochs")
    return found
