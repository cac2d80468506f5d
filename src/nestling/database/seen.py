"""Rows of the last snapshot that a table was given: one that comes again as it was is known by a digest of its text.

Law: ``sync`` does what it does without this. A digest is one of 128 bits, of a text from which the value of the row can
be read; it counts while nothing but the snapshot it was taken from has changed the table.

The text is what ``marshal`` writes, if Python's own numbers, texts, lists, tuples and dicts are all that is in the row:
it tells all these apart and is written in a third of the time of JSON. It writes everything that has a buffer as the
bytes in it, so that arrays of different numbers may look alike; hence no row with such bytes is noted by it, and what
is noted is like no row that has some.

Only tables that have a key and inner bags are followed: what has none is compared faster than it is digested.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from marshal import dumps, loads
from typing import Any

from nestling.calculus.maps import is_map
from nestling.calculus.types import Bag, Record, Type
from nestling.database.definitions import TableDef
from nestling.database.refresh import Refresh
from nestling.database.rows import Row
from nestling.frontend.schema import field_value, named_row

#: Classes that JSON has no word for, and whose ``repr`` says all.
_SAID = (date, datetime, timedelta, Decimal, bytes)
#: Rows from which on a load is worth the digests.
MANY = 100


@dataclass
class SeenRows:
    """The rows of a snapshot: the key of each by its digest, and the keys of those that have none."""

    at: int
    by_digest: dict[bytes, Row] = field(default_factory=dict)
    others: set[Row] = field(default_factory=set)

    def add(self, digest: bytes | None, key: Row) -> None:
        if digest is None:
            self.others.add(key)
        else:
            self.by_digest[digest] = key


class Seen:
    """What was seen of each table, and the version at which each flat table changed last."""

    def __init__(self) -> None:
        self._tables: dict[str, SeenRows] = {}
        self.changed: dict[str, int] = {}

    def of(self, table: TableDef) -> SeenRows | None:
        """What was seen of a table, if that is what it holds."""
        found = self._tables.get(table.name)
        return found if found is not None and found.at == self._version(table) else None

    def keep(self, table: TableDef, seen: SeenRows, refresh: Refresh) -> None:
        """A snapshot was taken, by a change that was begun when ``seen`` was, and did what ``refresh`` says."""
        if not refresh.tables.keys().isdisjoint(table.declarations):
            seen.at = refresh.version
        self._tables[table.name] = seen

    def begin(self, table: TableDef) -> SeenRows:
        """What will have been seen; nobody else writes."""
        return SeenRows(self._version(table))

    def forget(self) -> None:
        """What is defined has changed."""
        self._tables.clear()

    def _version(self, table: TableDef) -> int:
        return max(self.changed.get(name, 0) for name in table.declarations)


def is_followed(table: TableDef) -> bool:
    """Whether the rows of a table are digested."""
    return bool(table.key) and bool(table.levels) and not _has_map(table.record)


def _has_map(type_: Type) -> bool:
    """A key of a map that is no text would be one in JSON."""
    match type_:
        case Record(fields):
            return any(_has_map(field) for _, field in fields)
        case Bag(element):
            return is_map(type_) or _has_map(element)
    return False


def glance(row: Any) -> bytes | None:
    """A digest by which ``row`` may be known; one that is not may have another."""
    try:
        return blake2b(dumps(row, _ALL_WRITTEN), digest_size=16).digest()
    except ValueError:
        return None


def digest(row: Any) -> bytes | None:
    """The digest by which ``row`` is noted; None where it has something in it whose text may not say all."""
    try:
        text = dumps(row, _ALL_WRITTEN)
        _PLAIN.encode(loads(text))  # which refuses bytes
        return blake2b(text, digest_size=16).digest()
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        said = _ENCODER.encode(row)
    except (TypeError, ValueError, RecursionError):
        return None
    return blake2b(said.encode(), digest_size=16, person=b"json").digest()


def _said(value: Any) -> list[str]:
    if type(value) in _SAID:
        return [type(value).__name__, repr(value)]
    raise TypeError(f"{type(value).__name__} says what it likes")


#: The version of ``marshal`` that writes an object as often as it comes, whoever else refers to it.
_ALL_WRITTEN = 2
_PLAIN = json.JSONEncoder()
_ENCODER = json.JSONEncoder(default=_said, separators=(",", ":"))


def note_all(seen: SeenRows, table: TableDef, rows: Iterable[Any], links: Any) -> None:
    """Note the rows that an empty table was given."""
    types, own = dict(table.record.fields), links or {}
    for row in rows:
        named = named_row(table.record, row)
        key = tuple([field_value(name, types[name], named[name], own.get(name)) for name in table.key])
        seen.add(digest(row), key)
