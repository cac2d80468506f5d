"""Rows that come into a flat table of the embedded engine, or go: functions written for one table take them.

A function says at once whether a row may be stored as it comes: its types and sizes (``plain``), that its key is free
in its family, that what it refers to is there; of one that goes, that it is there. Many rows are tested by column,
keys and references by sets. Then a trigger runs. What is not taken goes the long way, as a transaction, and is refused
there: nothing here has an error of its own.

Law: rows that are taken have the same outcome on the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from nestling.database.definitions import Site, TableDef
from nestling.database.keyed import Keyed, keyed
from nestling.database.objects import Objects
from nestling.database.plain import ColumnTest, plain_columns, plain_names, plain_text
from nestling.database.rows import Row
from nestling.engine.local.engine import LocalEngine
from nestling.engine.protocol import RowEngine
from nestling.engine.python.terms import run_source
from nestling.engine.runs import Run
from nestling.progress import say

#: From what a user gave, the row that is meant; none where a longer look is needed.
Finder = Callable[[Any], Row | None]
#: Takes a list of rows that come (1) or go (-1), and notes them in another.
Accept = Callable[[Any, int, list[Any]], int | None]
Columns = list[tuple[Any, ...]]


class Acceptor:
    """Takes the rows of ``table``, a flat one whose rows are plain.

    ``comes`` and ``goes`` find one row that may be stored, or taken away; ``come`` and ``go`` many.
    """

    def __init__(
        self, table: TableDef, objects: Objects, engine: LocalEngine, tests: list[ColumnTest]
    ) -> None:
        self.table, self.engine, self._tests = table, engine, tests
        self._stored: dict[Any, Any] = engine.stored[table.name]
        self._key = key_at(table.key_positions)
        self._family = [
            keyed(engine, name) for name in objects.families.get(table.name, (table.name,)) if table.key
        ]
        self._references, self._names = Parents(table.name, objects, engine), table.record.names
        self.comes, self.goes = _finders(table, objects, engine)
        self.accept = self._accepting()

    def _accepting(self) -> Accept:
        """How many rows of a list came (1) or went (-1): all of them, which another list has then, with how often they
        were there. None where they are for others."""
        comes, goes, come, go, counted = self.comes, self.goes, self.come, self.go, self._counted
        trigger, batches, name = self.engine.triggers[self.table.name], self.engine.batches, self.table.name
        is_keyed = bool(self.table.key)

        def accept(rows: Any, times: int, taken: list[Any]) -> int | None:
            if type(rows) is not list or not rows:
                return None  # a stream of columns
            if len(rows) == 1:
                row = (comes if times > 0 else goes)(rows[0])
                if row is None:
                    return None
                taken.append((row,))
                if not is_keyed:
                    taken.append(counted((row,)))
                trigger(row, times)
                return 1
            found = come(rows) if times > 0 else go(rows)
            if found is None:
                return None
            say(f"{len(rows):,} rows read", 1, 2)
            taken.append(found)
            if not is_keyed:
                taken.append(counted(found))
            batches[name](zip(found, repeat(times)))
            return len(found)

        return accept

    # -- what was taken

    def runs(self, taken: list[Any], times: int) -> list[Run]:
        """The rows that were taken."""
        return [Run(self.table.name, [(row, times) for row in taken[0]])] if taken else []

    def before(self, taken: list[Any], times: int) -> dict[str, dict[Row, int]]:
        """How often they were there before, whatever became of the trigger."""
        if self.table.key:
            found = dict.fromkeys(taken[0], 0 if times > 0 else 1) if taken else {}
        else:
            found = taken[1] if len(taken) > 1 else {}
        return {self.table.name: found}

    def _counted(self, rows: Iterable[Row]) -> dict[Row, int]:
        return {row: self._stored.get(row, 0) for row in rows}

    def by_key(self, key: Any) -> Row | None:
        return self._stored.get(key)

    # -- many rows

    def come(self, rows: Iterable[Any]) -> tuple[Row, ...] | None:
        """The rows that come, if all of them may."""
        found = self.plain(rows)
        if found is None or not self._references.lead(found):
            return None
        if self.table.key:
            keys = {*map(self._key, found)}
            if len(keys) < len(found) or not all(stored.are_free(keys) for stored in self._family):
                return None
        return found

    def go(self, rows: Iterable[Any]) -> tuple[Row, ...] | None:
        """The rows that go, if all of them are there; each is another one."""
        found = self.plain(rows)
        if found is None:
            return None
        if not self.table.key:
            distinct = {*found}
            return found if len(distinct) == len(found) and self._stored.keys() >= distinct else None
        there = {*map(self._key, found)}
        if len(there) < len(found) or (*map(self._stored.get, map(self._key, found)),) != found:
            return None
        return found

    def plain(self, rows: Iterable[Any]) -> tuple[Row, ...] | None:
        """The rows as they are stored, if that is how they come."""
        given = tuple(rows)
        columns = split(given, self._names)
        if columns is None or not all(
            test(column) for test, column in zip(self._tests, columns, strict=True)
        ):
            return None
        return given if type(given[0]) is tuple else tuple(zip(*columns, strict=True))


class Parents:
    """Where the references in a flat table lead."""

    def __init__(self, table: str, objects: Objects, engine: RowEngine) -> None:
        self._sites = [
            (key_at(site.places), _parents(site, objects, engine), site.is_nullable, len(site.places))
            for site in objects.sites.get(table, ())
        ]

    def __bool__(self) -> bool:
        return bool(self._sites)

    def lead(self, rows: Iterable[Row]) -> bool:
        """Whether what the rows refer to is there."""
        for find, parents, is_nullable, width in self._sites:
            keys = {*map(find, rows)}
            if is_nullable:
                keys = {key for key in keys if None not in (key if width > 1 else (key,))}
            for stored in parents:
                keys = stored.absent(keys)
            if keys:
                return False
        return True


def split(rows: Sequence[Any], names: tuple[str, ...]) -> Columns | None:
    """The columns of rows that are all tuples, or all dicts with these names and no other; none of other rows."""
    kinds = {*map(type, rows)}
    if kinds not in ({tuple}, {dict}) or {*map(len, rows)} != {len(names)}:
        return None
    if kinds == {tuple}:
        return list(zip(*rows, strict=True))
    try:
        return [tuple([row[name] for row in rows]) for name in names]
    except KeyError:
        return None


def acceptor(table: TableDef, objects: Objects, engine: LocalEngine) -> Acceptor | None:
    """What takes rows of ``table``; none where rows always need a look."""
    tests = plain_columns(table.record) if table.is_flat else None
    return None if tests is None else Acceptor(table, objects, engine, tests)


def key_at(places: tuple[int, ...]) -> Callable[[Row], Any]:
    """The key at ``places``, as dictionaries have it: of one column that column's value."""
    return itemgetter(*places) if places else lambda row: ()


def _parents(site: Site, objects: Objects, engine: RowEngine) -> list[Keyed]:
    return [keyed(engine, name) for name in objects.extents.get(site.reference.table, ())]


# -- one row: one expression


def _finders(table: TableDef, objects: Objects, engine: LocalEngine) -> tuple[Finder, Finder]:
    """The functions that find one row that comes, or goes."""
    plain = plain_text(table.record)
    assert plain is not None
    names = {**plain_names(table.record), "stored": engine.stored[table.name], "names": table.record.names}
    source = _SOURCE.format(
        plain=plain,
        comes=" and ".join(["True", *_comes(table, objects, engine, names)]),
        goes=f"stored.get({_key(table.key_positions)}) == row" if table.key else "stored.get(row, 0) > 0",
        width=len(table.record.names),
    )
    run_source(source, "single rows", names)
    return names["comes"], names["goes"]


_SOURCE = """
def comes(row):
    if {plain}:
        return row if {comes} else None
    return comes(given(row)) if type(row) is dict and len(row) == {width} else None

def goes(row):
    if {plain}:
        return row if {goes} else None
    return goes(given(row)) if type(row) is dict and len(row) == {width} else None

def given(row):
    return tuple([row.get(name, given) for name in names])
"""


def _comes(table: TableDef, objects: Objects, engine: LocalEngine, names: dict[str, Any]) -> list[str]:
    """What else has to hold of a plain row that comes, in Python."""
    tests = []
    if table.key:
        family = objects.families.get(table.name, (table.name,))
        tests += [f"{_key(table.key_positions)} not in {_named(name, engine, names)}" for name in family]
    for site in objects.sites.get(table.name, ()):
        extent = objects.extents.get(site.reference.table, ())
        ways = [f"{_key(site.places)} in {_named(name, engine, names)}" for name in extent]
        if site.is_nullable:
            ways = [*(f"row[{i}] is None" for i in site.places), *ways]
        tests.append(f"({' or '.join(ways)})" if ways else "False")
    return tests


def _named(table: str, engine: LocalEngine, names: dict[str, Any]) -> str:
    """A word for the rows of ``table``, whose own name is no part of the source."""
    word = f"table_{len(names)}"
    names[word] = engine.stored[table]
    return word


def _key(places: tuple[int, ...]) -> str:
    parts = ", ".join(f"row[{i}]" for i in places)
    return parts if len(places) == 1 else f"({parts})"
