"""One row that comes or goes by itself: the short way of ``insert`` and ``delete``.

Nearly every single row is a plain one, of a flat table, with a key of its own and references that lead somewhere. A
function written for its table finds that out at once, and one trigger does the rest. What it does not take goes the
long way, as a transaction, and that refuses what is to be refused.

Law: a row that the short way takes has the same outcome on the long one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from nestling.calculus.types import Scalar
from nestling.database.definitions import HIDDEN, Site, TableDef
from nestling.database.journal import RowJournal
from nestling.database.objects import Objects
from nestling.database.plain import CLASSES, plain_text
from nestling.database.recursion import is_followed
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.database.state import State
from nestling.database.view_state import Views
from nestling.engine.protocol import RowEngine
from nestling.engine.python.terms import run_source

#: From what a user gave, the row that is meant; none where a longer look is needed.
Finder = Callable[[Any], Row | None]


#: What a user gave: a row that comes, a row that goes, or the key of one that goes.
COMING, GOING, KEY = range(3)


class ShortWay(NamedTuple):
    """How one row of a table changes: who finds it, by what was given, where it is noted, and who follows it."""

    finders: tuple[Finder, Finder, Finder]
    begin: Callable[[Row, int], OneRow]
    trigger: Callable[[Row, int], None]
    statements: int


class Ways:
    """The short ways into the tables of a state, while it has the engine and the views that it has now."""

    def __init__(self) -> None:
        self.engine: object = None
        self.views: Views | None = None
        self._ways: dict[str, ShortWay | None] = {}

    def find(self, state: State, table: str) -> ShortWay | None:
        """The short way into ``table``; none where there is more to do than a trigger does."""
        if state.engine is not self.engine or state.views is not self.views:
            self.engine, self.views, self._ways = state.engine, state.views, {}
        try:
            return self._ways[table]
        except KeyError:
            way = self._ways[table] = _way(state, table)
            return way
        except TypeError:
            return None  # that is no name


def _way(state: State, table: str) -> ShortWay | None:
    if not isinstance(state, RowState) or table not in state.tables or table.startswith(HIDDEN):
        return None
    if state.views.checked or state.views.constraints:
        return None  # to be looked at after every change
    if is_followed(state.recursions, table):
        return None
    found = finders(state.tables[table], state.objects, state.engine)
    if found is None:
        return None
    begin = partial(OneRow, state, table, bool(state.tables[table].key))
    return ShortWay(found, begin, state.engine.triggers[table], state.statements_of(table))


def finders(table: TableDef, objects: Objects, engine: RowEngine) -> tuple[Finder, Finder, Finder] | None:
    """The functions that find a row of ``table`` by what was given; none where rows always need a look.

    A row that comes is plain, its key is free in its family, and what it refers to is there. One that goes is there,
    and nothing that is kept may refer to it.
    """
    plain = plain_text(table.record) if table.is_flat else None
    if plain is None:
        return None
    names: dict[str, Any] = {
        "type": type,
        "len": len,
        "tuple": tuple,
        **CLASSES,
        "by_key": engine.by_key,
        "name": table.name,
    }
    texts = [f"row if {_comes(table, objects, plain, names)} else None", "None", "None"]
    if not table.append_only and table.name not in objects.referring:
        if table.key:
            texts[1] = (
                f"there if {plain} and (there := {_found(table.key_positions, 'name')}) == row else None"
            )
        else:
            names["counts"] = engine.counts
            texts[1] = f"row if {plain} and counts(name).get(row, 0) > 0 else None"
        if len(table.key) == 1:
            (type_,) = table.key_types
            assert isinstance(type_, Scalar)
            texts[2] = f"by_key(name, (row,)) if type(row) is {type_.name} else None"
    source = "".join(f"find_{n} = lambda row: {text}\n" for n, text in enumerate(texts))
    run_source(source, "single rows", names)
    return names["find_0"], names["find_1"], names["find_2"]


def _comes(table: TableDef, objects: Objects, plain: str, names: dict[str, Any]) -> str:
    """Whether a row may come, in Python."""
    tests = [plain]
    if table.key:
        family = objects.families.get(table.name, (table.name,))
        tests += [f"{_found(table.key_positions, _named(name, names))} is None" for name in family]
    tests += [_leads_somewhere(site, objects, names) for site in objects.sites.get(table.name, ())]
    return " and ".join(tests)


def _leads_somewhere(site: Site, objects: Objects, names: dict[str, Any]) -> str:
    extent = objects.extents.get(site.reference.table, ())
    ways = [f"{_found(site.places, _named(name, names))} is not None" for name in extent]
    if site.is_nullable:
        ways = [*(f"row[{i}] is None" for i in site.places), *ways]
    return f"({' or '.join(ways)})" if ways else "False"


def _named(table: str, names: dict[str, Any]) -> str:
    """A word for ``table``, whose own name is no part of the source."""
    word = f"table_{len(names)}"
    names[word] = table
    return word


def _found(places: tuple[int, ...], table: str) -> str:
    """The row of a table whose key stands at ``places``, in Python."""
    return f"by_key({table}, ({' '.join(f'row[{i}],' for i in places)}))"


class OneRow(RowJournal):
    """The journal of one row. Whoever finds it restores the rows, and computes the maps anew."""

    is_committing = is_running = torn = True

    def __init__(self, state: RowState, table: str, is_keyed: bool, row: Row, times: int) -> None:
        self.state, self.events = state, [RowEvent(table, row, times)]
        self.applied, self.done = 0, []
        there = times < 0 if is_keyed else state.engine.counts(table).get(row, 0)
        self.before = {table: {row: int(there)}}
