"""Checks of the flat tables in a file: which rows and labels are possible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from operator import eq, itemgetter
from typing import Any

from nestling.calculus.types import LABEL, Record, Scalar, Type
from nestling.database.definitions import TableDef
from nestling.database.fitting import Check, misfit, row_checks
from nestling.database.rows import Row
from nestling.errors import StoreError
from nestling.program.statements import TableDecl
from nestling.values.label import Label

#: What a label without a key has in place of one.
_NUMBERED = re.compile(r"#(0|[1-9][0-9]{0,17})")


@dataclass(frozen=True)
class LabelColumn:
    """Where the labels of inner bags stand; ``key`` gives what they are named by, if that is the key of their row."""

    place: int
    site: str
    key: Callable[[Row], Row] | None

    def checked(self, rows: Sequence[Row]) -> list[Label]:
        """The labels in this column, each such as a row here gets."""
        labels = list(map(itemgetter(self.place), rows))
        if self.key is not None:
            right = all(map(eq, labels, zip(repeat(self.site), map(self.key, rows), strict=False)))
        else:
            right = all(map(self._is_numbered, labels))
        if not right:
            raise StoreError(f"a row has a label that is none of {self.site}")
        return labels

    def _is_numbered(self, label: Label) -> bool:
        site, environment = label
        return (
            site == self.site
            and len(environment) == 1
            and type(environment[0]) is str
            and _NUMBERED.fullmatch(environment[0]) is not None
        )

    def beyond(self, labels: Iterable[Label]) -> int:
        """One more than the largest number that a label has."""
        return 0 if self.key is not None else max((int(e[0][1:]) + 1 for _, e in labels), default=0)


class StoredTable:
    """One flat table: the rows of a table, or of one of its inner bags, which begin with the label of the bag."""

    def __init__(self, table: TableDef, decl: TableDecl) -> None:
        self.name, self.key, self.is_inner = decl.name, decl.key, decl.name != table.name
        types = [column.type for column in decl.columns]
        self.checks: list[Check] = row_checks(types)
        named = _key(table) if table.key and not self.is_inner else None
        self.labels = [
            LabelColumn(place, column.name, named)
            for place, column in enumerate(decl.columns)
            if column.type == LABEL and not (self.is_inner and place == 0)
        ]
        #: The types of rows that passed, where types tell all.
        self._passed: set[tuple[type, ...]] | None = None
        if not any(isinstance(t, Scalar) and (t.size or t.name in ("datetime", "time")) for t in types):
            self._passed = set()

    @cached_property
    def key_of(self) -> Callable[[Row], Row]:
        """The key of a row, as the engine looks it up."""
        places = self.key
        return lambda row: tuple([row[place] for place in places])

    def check(self, rows: Sequence[Any]) -> None:
        """Refuse rows that no insertion leaves here."""
        if bad := misfit(rows, self.checks):
            raise StoreError(f"{bad[0]!r:.60} is no row of {self.name}")

    def check_one(self, row: Any) -> None:
        if self._passed is not None and type(row) is tuple:
            types = tuple(map(type, row))
            if types not in self._passed:
                self.check((row,))
                self._passed.add(types)
        else:
            self.check((row,))

    def check_times(self, rows: Sequence[Row], times: Sequence[Any]) -> None:
        """Refuse a number of times that no row is there."""
        if set(map(type, times)) - {int} or min(times, default=1) < 1 or (self.key and set(times) - {1}):
            bad = next(n for n in times if type(n) is not int or n < 1 or (self.key and n > 1))
            raise StoreError(f"{rows[times.index(bad)]!r:.60} is {bad!r:.40} times in {self.name}")


def stored_tables(tables: Iterable[TableDef]) -> dict[str, StoredTable]:
    """The flat tables of all tables, rows before the bags that they have."""
    return {name: StoredTable(table, decl) for table in tables for name, decl in table.declarations.items()}


def _key(table: TableDef) -> Callable[[Row], Row]:
    """The key of a flat row, as labels have it: a record in it is a tuple."""
    decl = table.declarations[table.name]
    if all(isinstance(type_, Scalar) for type_ in table.key_types):
        places = decl.key
        return lambda row: tuple([row[place] for place in places])
    types = table.key_types
    return lambda row: tuple(_values(types, iter([row[place] for place in decl.key])))


def _values(types: Iterable[Type], columns: Iterator[Any]) -> Iterator[Any]:
    for type_ in types:
        if isinstance(type_, Record):
            yield tuple(_values(type_.types, columns))
        else:
            yield next(columns)
