"""The manifest: what a lake holds at an epoch, as the body of a record of its log (``records``).

A file stands with its rows and bytes, so that no commit reads a footer. ``since`` is the number of the first record
whose epoch the manifest has not got; ``reached`` the version that its state, with these epochs, is at. ``keep`` says
how many versions before that can be read, and ``history`` which manifests they need.

Law: ``read_manifest`` gives what ``manifest_head`` was given, or a ``StoreError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from nestling.storage.lake.names import is_data_file, record_name
from nestling.storage.lake.records import LogRecord, damaged

_ID = re.compile("[0-9a-f]{32}")
_BODY = ("epoch", "definitions", "note", "relations")
_LOGGED = ("since", "reached", "keep", "history")
_RELATION = ("base", "changes")

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


class KeptManifest(NamedTuple):
    """An older manifest that a kept version needs: its number, its ``since``, and the version that it reached."""

    number: int
    since: int
    reached: int


@dataclass(frozen=True)
class Manifest:
    """What is there at an epoch. Lakes of format 1 have no ``id``."""

    epoch: int = 0
    definitions: Definitions = ()
    relations: Mapping[str, RelationFiles] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)
    since: int = 2
    reached: int = 0
    keep: int = 0
    history: tuple[KeptManifest, ...] = ()

    @property
    def files(self) -> set[str]:
        return {name for relation in self.relations.values() for name in relation.names}


def manifest_head(manifest: Manifest) -> dict[str, Any]:
    """``manifest`` as the head of a record."""
    return {
        "kind": "manifest", "epoch": manifest.epoch, "definitions": manifest.definitions, "note": dict(manifest.note),
        "relations": {
            name: {"base": relation.base, "changes": relation.changes}
            for name, relation in manifest.relations.items()
        },
        **{name: getattr(manifest, name) for name in _LOGGED},
    }  # fmt: skip


def read_manifest(record: LogRecord) -> Manifest:
    """What was stored."""
    try:
        head = record.head
        if not _ID.fullmatch(head["lake"]):
            raise ValueError(f"its id is {head['lake']!r:.40}")
        if record.parts:
            raise ValueError("it has more than it says")
        known = {"nestling", "lake", "number", "owner", "who", "kind", *_BODY, *_LOGGED}
        if set(head) != known:
            raise ValueError(f"it should have {', '.join(sorted(known))}, and nothing else")
        since, reached, keep = (number_in(head[name]) for name in _LOGGED[:3])
        history = tuple(_kept(found) for found in listed_in(head["history"]))
        if not 0 < since <= record.number + 1 or any(kept.number >= record.number for kept in history):
            raise ValueError("it names records that are none before it")
        found = manifest_of(head, head["lake"], relation_files)
        return Manifest(
            found.epoch,
            found.definitions,
            found.relations,
            found.note,
            found.id,
            since,
            reached,
            keep,
            history,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(record_name(record.number), error) from error


def _kept(found: Any) -> KeptManifest:
    if len(listed_in(found)) != 3:
        raise ValueError(f"{found!r:.40} is no manifest before it")
    return KeptManifest(*map(number_in, found))


def manifest_of(body: Mapping[str, Any], id_: str, relation: Callable[[Any], RelationFiles]) -> Manifest:
    """What a body says, whose relations are read by ``relation``."""
    definitions = tuple(tuple(texts_in(entry, 3)) for entry in listed_in(body["definitions"]))
    if type(body["note"]) is not dict or type(body["relations"]) is not dict:
        raise ValueError("a part of it is of another kind")
    relations = {name: relation(found) for name, found in body["relations"].items()}
    for name, found in relations.items():
        _check_names(name, found.names)
    return Manifest(number_in(body["epoch"]), definitions, relations, body["note"], id_)  # type: ignore[arg-type]


def relation_files(stored: Any) -> RelationFiles:
    """The files of a relation as they are stored."""
    has_only(stored, _RELATION)
    return RelationFiles(*(tuple(map(_file, listed_in(stored[part]))) for part in _RELATION))


def _file(stored: Any) -> DataFile:
    if len(listed_in(stored)) != 3 or type(stored[0]) is not str:
        raise ValueError(f"{stored!r:.40} is no file with its rows and bytes")
    return DataFile(stored[0], number_in(stored[1]), number_in(stored[2]))


def _check_names(name: str, files: Sequence[str]) -> None:
    for file in files:
        if not is_data_file(file):
            raise ValueError(f"{name} names the file {file!r}, which is none of a lake")
    if len(set(files)) != len(files):
        raise ValueError(f"{name} names a file twice")


def has_only(stored: Any, names: tuple[str, ...]) -> None:
    if type(stored) is not dict or set(stored) != set(names):
        raise ValueError(f"it should have {', '.join(names)}, and nothing else")


def listed_in(found: Any) -> list[Any]:
    if type(found) is not list:
        raise ValueError(f"{found!r:.40} is no list")
    return found


def texts_in(found: Any, length: int | None = None) -> list[str]:
    if any(type(text) is not str for text in listed_in(found)) or length not in (None, len(found)):
        raise ValueError(f"{found!r:.40} is no list of texts")
    return list(found)


def number_in(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError(f"{found!r:.40} is no number of rows, bytes or epochs")
    return found
