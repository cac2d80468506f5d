"""Nested rows that come into a table: shredded by column, many at once, whatever engine takes the flat ones.

Rows are taken apart column by column: the values of a column of all rows are tested together, and so are the elements
of all bags of a level; what is left are the flat rows of each level. A record is a tuple or a dict with all of its
fields, a bag a list or a tuple. What is given otherwise, and a table with other columns than records, bags and scalars,
goes the long way.

Law: rows that are taken have the same outcome on the long way (5, 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, TypeAlias

from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import is_optional
from nestling.calculus.types import Bag, Path, Record, Scalar, Type, dictionary_name
from nestling.database.accepting import Accept, Parents, split
from nestling.database.definitions import TableDef
from nestling.database.keyed import keyed
from nestling.database.objects import Objects
from nestling.database.plain import column_test
from nestling.database.rows import Row, Shredder
from nestling.engine.protocol import RowEngine
from nestling.engine.runs import Run, runs
from nestling.progress import say
from nestling.values.label import Label

Column: TypeAlias = Sequence[Any]
#: The flat rows of each level, and how often each comes.
Levels: TypeAlias = dict[str, list[tuple[Row, int]]]
#: From a column, its flat columns; the levels inside it are noted. With the keys of the rows, where it is of theirs.
Shred: TypeAlias = Callable[[Column, list[Row] | None, Levels], list[Column]]


class LongWay(Exception):
    """These rows need a longer look."""


class NestedAcceptor:
    """Takes the rows of a table with a key and inner bags."""

    def __init__(
        self, table: TableDef, objects: Objects, engine: RowEngine, shred: Shred, shredder: Shredder
    ) -> None:
        self.table, self.engine, self._shred, self._shredder = table, engine, shred, shredder
        self._stored = keyed(engine, table.name)
        self._family = [keyed(engine, name) for name in objects.families.get(table.name, (table.name,))]
        self._references = [(name, Parents(name, objects, engine)) for name in table.declarations]
        self._places, self._names = table.key_positions, table.record.names
        self._found: Row | None = None
        self.accept: Accept = self._accept

    def _accept(self, rows: Any, times: int, taken: list[Any]) -> int | None:
        if type(rows) is not list or not rows:
            return None
        try:
            found = self._come(rows) if times > 0 else self._go(rows)
        except LongWay:
            return None
        taken.append(found)
        for number, run in enumerate(found, start=1):
            say(f"{len(rows):,} rows read", number, len(found) + 1)
            run.apply(self.engine)
        return sum(len(run.pairs) for run in found)

    def _come(self, rows: list[Any]) -> list[Run]:
        values = split(rows, self._names)
        if values is None:
            raise LongWay
        keys = list(zip(*[values[place] for place in self._places], strict=True))
        levels: Levels = {}
        columns = self._shred(tuple(zip(*values, strict=True)), keys, levels)
        levels[self.table.name] = list(zip(zip(*columns, strict=True), repeat(1)))
        distinct = {*keys} if len(self._places) > 1 else {*values[self._places[0]]}
        if len(distinct) < len(keys) or not all(each.are_free(distinct) for each in self._family):
            raise LongWay
        for name, references in self._references:
            if references and not references.lead([row for row, _ in levels.get(name, ())]):
                raise LongWay
        return [Run(name, levels[name]) for name in reversed(self.table.declarations) if levels.get(name)]

    def _go(self, rows: list[Any]) -> list[Run]:
        """A row that was found by its key goes with all that is in it."""
        found = self._found
        if found is None or len(rows) != 1 or rows[0] is not found:
            raise LongWay  # what a user gave is to be compared with all that is in it
        events = self._shredder.deletion(found, 1, self.engine)
        return list(runs(events, self.engine.program.tables))

    def by_key(self, key: Any) -> Row | None:
        self._found = self._stored.get(key)
        return self._found

    def runs(self, taken: list[Any], times: int) -> list[Run]:
        found: list[Run] = taken[0] if taken else []
        return found

    def before(self, taken: list[Any], times: int) -> dict[str, dict[Row, int]]:
        """Elements of a row that was not there were not there either."""
        found: dict[str, dict[Row, int]] = {}
        for run in self.runs(taken, times):
            found.setdefault(run.table, {}).update((row, max(-n, 0)) for row, n in run.pairs)
        return found


def nested_acceptor(
    table: TableDef, objects: Objects, engine: RowEngine, shredder: Shredder
) -> NestedAcceptor | None:
    """What takes rows of ``table``; none where each needs a look."""
    keys_are_scalars = all(isinstance(type_, Scalar) for type_ in table.key_types)
    if not table.key or not keys_are_scalars or objects.sets.intersection(table.declarations):
        return None
    shred = _record(table.name, (), table.record, shredder)
    return None if shred is None else NestedAcceptor(table, objects, engine, shred, shredder)


def _shred(table: str, path: Path, type_: Type, shredder: Shredder) -> Shred | None:
    """What takes a column of a type apart; none where it is for the long way."""
    if is_optional(type_) or is_list(type_) or is_map(type_):
        return None
    match type_:
        case Scalar():
            return _scalars(type_)
        case Record():
            return _record(table, path, type_, shredder)
        case Bag(Scalar() | Record()):
            return _bags(table, path, type_.element, shredder)
    return None


def _scalars(type_: Scalar) -> Shred:
    test = column_test(type_)

    def shred(column: Column, keys: list[Row] | None, levels: Levels) -> list[Column]:
        if not test(column):
            raise LongWay
        return [column]

    return shred


def _record(table: str, path: Path, type_: Record, shredder: Shredder) -> Shred | None:
    parts = [_shred(table, (*path, name), field, shredder) for name, field in type_.fields]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    names = type_.names

    def shred(column: Column, keys: list[Row] | None, levels: Levels) -> list[Column]:
        if not column:
            return [() for _ in names]
        values = split(column, names)
        if values is None:
            raise LongWay
        return [each for part, own in zip(found, values, strict=True) for each in part(own, keys, levels)]

    return shred


def _bags(table: str, path: Path, element: Type, shredder: Shredder) -> Shred | None:
    name, inside = dictionary_name(table, path), _shred(table, path, element, shredder)
    if inside is None:
        return None
    has_bags, numbers = _has_bags(element), shredder.numbers

    def shred(column: Column, keys: list[Row] | None, levels: Levels) -> list[Column]:
        if not {*map(type, column)} <= {list, tuple}:
            raise LongWay
        environments = keys if keys is not None else [(f"#{next(numbers)}",) for _ in column]
        labels = [Label(name, environment) for environment in environments]
        elements = list(chain.from_iterable(column))
        if elements:
            around = chain.from_iterable(map(repeat, labels, map(len, column)))
            rows = list(zip(around, *inside(elements, None, levels), strict=True))
            levels.setdefault(name, []).extend(_counted(rows, has_bags))
        return [labels]

    return shred


def _counted(rows: list[Row], has_bags: bool) -> Iterator[tuple[Row, int]]:
    """Equal elements of a bag as one; whether elements with bags are equal takes a longer look."""
    known = (
        [tuple([v for v in row[1:] if type(v) is not Label]) + row[:1] for row in rows] if has_bags else rows
    )
    if len({*known}) == len(rows):
        return zip(rows, repeat(1))
    if has_bags:
        raise LongWay
    return iter(Counter(rows).items())


def _has_bags(type_: Type) -> bool:
    return isinstance(type_, Bag) or (isinstance(type_, Record) and any(map(_has_bags, type_.types)))
