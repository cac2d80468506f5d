"""Rows that are merged into a table by its key: no images of what was there before, in whatever order they come.

Law: a merge in a sequence leaves, for every key, what the row with the largest place in the sequence says, of all rows
ever merged so; whatever calls they came in, how often, and in which order.

A row says by its columns where it stands in the sequence and whether it deletes; these need not be columns of the
table. One that deletes needs to have no more than the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from nestling.calculus.types import STR, Record, Scalar, show_type
from nestling.database import arguments
from nestling.database.definitions import TableDef
from nestling.database.fed import merged_table
from nestling.database.refused import keyless, shown_key
from nestling.database.rows import Row
from nestling.errors import ChangeError, QueryError, shown
from nestling.frontend.schema import constant, field_value, named_row, row_value


@dataclass(frozen=True)
class KeyedRow:
    """The row of one key that a merge leaves, or None where it deletes it; and its place in the sequence."""

    key: Row
    value: Row | None
    place: Row


class GivenRow(Mapping[str, Any]):
    """A row as it was given, for ``delete_when``: ``row.op`` and ``row["op"]``. It notes what it is asked for."""

    def __init__(self, columns: Mapping[str, Any], asked: set[str]) -> None:
        self._columns, self._asked = columns, asked

    def __getitem__(self, name: str) -> Any:
        self._asked.add(name)
        return self._columns[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._columns:
            raise AttributeError(f"the row has no column {name!r}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class Merging:
    """The rows of one merge, checked by themselves: by key, the last of each."""

    def __init__(
        self, table: TableDef, rows: object, delete_when: object, sequence_by: object, links: Any
    ) -> None:
        if not table.key:
            raise keyless(table)
        self.table, self._links = table, links
        self._deletes = None if delete_when is None else deletes_argument(delete_when)
        self.sequence = sequence_argument(sequence_by)
        #: Columns beside the table's that something asked for.
        self._asked = set(self.sequence)
        self._types: tuple[Scalar, ...] | None = None
        named = [self._named(row) for row in arguments.rows_argument(rows, table.record)]
        is_gone = [self._is_gone(row) for row in named]
        self._check_columns(named)
        self.rows = self._last(named, is_gone)

    @property
    def memory(self) -> TableDef | None:
        """The table that remembers the sequence, as these rows want it; None where they have none."""
        return None if self._types is None else merged_table(self.table, self._types)

    def _named(self, row: object) -> Mapping[str, Any]:
        found = named_row(self.table.record, row)
        for name in found:
            if not isinstance(name, str):
                raise ChangeError(f"a column is named by a str, not {shown(name)}", hint="{column: value}")
        return found

    def _is_gone(self, row: Mapping[str, Any]) -> bool:
        return self._deletes is not None and self._deletes(GivenRow(row, self._asked))

    def _check_columns(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Refuse a column that nobody has asked for: it may be a column of the table, misspelled."""
        known = {*self.table.record.names, *self._asked}
        for row in rows:
            for name in row:
                if name not in known:
                    raise ChangeError(
                        f"{self.table.name} has no column {name!r}, and neither delete_when nor sequence_by reads it",
                        hint=f"it has {', '.join(self.table.record.names)}",
                    )

    def _last(self, named: Sequence[Mapping[str, Any]], is_gone: Sequence[bool]) -> list[KeyedRow]:
        found: dict[Row, KeyedRow] = {}
        ties: dict[Row, None] = {}
        for row, gone in zip(named, is_gone, strict=True):
            merged = self._merged(row, gone)
            other = found.get(merged.key)
            if other is None or merged.place > other.place:
                found[merged.key] = merged
                ties.pop(merged.key, None)
            elif merged.place == other.place and (not self.sequence or merged != other):
                ties[merged.key] = None
        for key in ties:
            raise twice(self.table, key, self.sequence)
        return list(found.values())

    def _merged(self, row: Mapping[str, Any], is_gone: bool) -> KeyedRow:
        table, place = self.table, self._place(row)
        if is_gone:
            links = self._links or {}
            key = tuple(
                field_value(name, type_, _present(table, row, name), links.get(name))
                for name, type_ in zip(table.key, table.key_types, strict=True)
            )
            return KeyedRow(key, None, place)
        own = {name: value for name, value in row.items() if name in table.places}
        value = row_value(table.record, own, self._links)
        return KeyedRow(tuple([value[i] for i in table.key_positions]), value, place)

    def _place(self, row: Mapping[str, Any]) -> Row:
        """Where a row stands in the sequence, in values that can be compared."""
        if not self.sequence:
            return ()
        given = [_present(self.table, row, name) for name in self.sequence]
        if self._types is None:
            self._types = tuple(map(self._type, self.sequence, given))
        pairs = zip(self.sequence, self._types, given, strict=True)
        return tuple([place_of(name, type_, value) for name, type_, value in pairs])

    def _type(self, name: str, value: Any) -> Scalar:
        """The type of a column of the sequence: that of the table's, or of the first value."""
        own = dict(self.table.record.fields).get(name)
        if isinstance(own, Scalar):
            return Scalar(own.name, size=own.size)
        if own is not None:
            raise ChangeError(
                f"{name} of {self.table.name} has no order", hint="a sequence is of numbers, texts or dates"
            )
        try:
            found = constant(value, f"the sequence {name}")
        except QueryError as error:
            raise ChangeError(error.what, hint="a sequence is of numbers, texts or dates") from error
        return Scalar(STR.name if found is None else type(found).__name__.lower())


def deletes_argument(delete_when: object) -> Callable[[GivenRow], bool]:
    """A function of a row that says whether it deletes the one with its key."""
    if not callable(delete_when) or isinstance(delete_when, type):
        raise ChangeError(
            f"delete_when is a function of a row, not {shown(delete_when)}",
            hint='delete_when=lambda row: row.op == "D"; of a DataFrame of Spark also a condition in SQL',
        )

    def deletes(row: GivenRow) -> bool:
        found = delete_when(row)
        if isinstance(found, bool) or type(found).__name__ in ("bool", "bool_"):  # NumPy's too
            return bool(found)
        raise ChangeError(
            f"delete_when says True or False, not {shown(found)}", hint='compare in it: row.op == "D"'
        )

    return deletes


def sequence_argument(sequence_by: object) -> tuple[str, ...]:
    """The columns that say which of two rows is later: one name or several."""
    names = (sequence_by,) if isinstance(sequence_by, str) else sequence_by
    if names is None:
        return ()
    if isinstance(names, tuple | list) and names and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise ChangeError(f"sequence_by names columns, not {shown(sequence_by)}", hint='sequence_by="seq"')


def check_memory(table: TableDef, stored: TableDef, wanted: TableDef) -> None:
    """Refuse a sequence of other types than the one that is remembered."""
    if stored.record != wanted.record:
        old, new = (show_type(Record(each.record.fields[len(table.key) :])) for each in (stored, wanted))
        raise ChangeError(
            f"{table.name} was merged in a sequence of {old}, not of {new}",
            hint="go on with the same columns",
        )


def no_memory(table: TableDef) -> ChangeError:
    """A transaction cannot declare what it would remember the sequence in."""
    return ChangeError(
        f"{table.name} has not been merged in a sequence yet, and a transaction cannot begin that",
        hint=f"db.merge({table.name!r}, …, sequence_by=…) outside of transactions first",
    )


def twice(table: TableDef, key: Row, sequence: Sequence[str]) -> ChangeError:
    """Which of two rows is meant is not said."""
    if sequence:
        return ChangeError(
            f"two different rows with key {shown_key(key)} of {table.name} have the same {', '.join(sequence)}",
            hint="a sequence says which of two rows is later",
        )
    return ChangeError(
        f"two of the rows have key {shown_key(key)} of {table.name}",
        hint="pass one row for each key, or say which is later: sequence_by=…",
    )


def _present(table: TableDef, row: Mapping[str, Any], name: str) -> Any:
    if name not in row:
        raise ChangeError(
            f"a row for {table.name} has no column {name!r}: {shown(dict(row))}",
            hint="every row has its key, and its place in the sequence",
        )
    return row[name]


def place_of(name: str, type_: Scalar, value: Any) -> Any:
    """What a row has in a column of the sequence; refused where that has no order."""
    if value is None or (isinstance(value, float) and isnan(value)):
        raise ChangeError(f"the sequence {name} is {value}", hint="every row has a place in it")
    return field_value(name, type_, value)
