"""Rows through the door of a table: functions made for it take all of them, or none.

They test types, sizes, keys and references, and run the triggers: one call of the extension where the engine is native
(``taken``), functions written in Python where not (``accepting``). What they do not take goes the long way, which does
it or says what is wrong. The short path asks for the rows of nobody; it is taken only where

* no view is told of changes, checked after them, or refreshed later from rows, and none is a constraint;
* no index of references and no document follows the rows;
* there is no file that stores them.

Otherwise a change through the door is committed as every other one, with a journal that makes events of its rows.

Law: rows that the door takes have the same outcome on the long way, and what is raised leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from time import perf_counter
from types import MappingProxyType
from typing import Any, Protocol

from nestling.calculus.types import Scalar
from nestling.database.accepting import acceptor
from nestling.database.accepting_nested import nested_acceptor
from nestling.database.access import Access
from nestling.database.definitions import HIDDEN, TableDef
from nestling.database.journal import Journal
from nestling.database.log import SLOW
from nestling.database.native import in_python, native_of
from nestling.database.objects import Objects
from nestling.database.plain import CLASSES
from nestling.database.recursion import feeds_recursion
from nestling.database.refresh import Refresh
from nestling.database.row_state import RowState
from nestling.database.rows import Row, Shredder
from nestling.database.seen import MANY, Seen, SeenRows, is_followed, note_all
from nestling.database.state import State
from nestling.database.taken import Entrance, NativeEntrance, TakenRows
from nestling.engine.local.engine import LocalEngine
from nestling.engine.native.specification import DoorSpecification, Leading
from nestling.errors import UNDEFINED
from nestling.frontend.schema import is_tabular, tuples
from nestling.progress import loading
from nestling.values.bag import ZBag

#: Takes a list of rows, or a stream of Arrow, that come (1) or go (-1), or the key (``KEY``) of a row that goes.
#: Without a result nothing was done, and they are for the long way.
Door = Callable[[Any, int], Refresh | None]
KEY = 0
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def all_alike(door: Door, changes: Any) -> Refresh | None:
    """The same of a Z-bag whose rows all come once, or all go once."""
    if not isinstance(changes, dict | ZBag):
        return None
    pairs = changes.items()
    counts = [n for _, n in pairs]
    if {*map(type, counts)} != {int} or {*counts} not in ({1}, {-1}):
        return None
    rows = [row for row, _ in pairs]
    with loading("applying changes", rows):
        return door(rows, counts[0])


class DoorHost(Protocol):
    """The database whose doors they are; see ``Core``."""

    _state: Any
    version: int
    _last_refresh: Refresh
    _access: Access
    _seen: Seen
    _is_readonly: bool

    @property
    def _is_asked_for_rows(self) -> bool:
        """Whether somebody outside of the state hears of the rows of every commit."""

    def _shredder(self, table: str) -> Shredder: ...
    def _run(self, journal: Journal, began: float) -> Refresh: ...
    def _tell(self, refresh: Refresh) -> None: ...
    def _recover(self, journal: Journal | None) -> None: ...
    def _cut_off(self, journal: Journal) -> None: ...


class Doors(dict[str, Door]):
    """The doors into the tables of a database, while it has the engine and the views that it has now."""

    def __init__(self, database: DoorHost) -> None:
        self._database = database
        self._engine: object = None
        self._views: object = None
        self._shut: set[str] = set()
        #: Not where a database is only read: every change goes the long way then, where it is refused.
        self.are_open = True

    def take(self, door: Door, table: str, rows: Any, times: int) -> Refresh | None:
        """What ``door``, the one of ``table``, makes of ``rows``, a list or columns that can be read again; nothing
        where they are for the long way."""
        if type(rows) is list:
            return door(rows, times)
        if not is_tabular(rows):
            return None
        definition, done = self._database._state.tables[table], None
        with suppress(
            ValueError, TypeError, OverflowError, NotImplementedError
        ):  # of what is no value of Python's
            if (
                native_of(self._engine) is not None
                and definition.is_flat
                and hasattr(rows, "__arrow_c_stream__")
            ):
                done = door(rows.__arrow_c_stream__(), times)
            elif (found := tuples(rows, dict(definition.record.fields))) is not None:
                done = door(found, times)
        return done

    def at(self, table: str) -> Door | None:
        """The door of ``table``, which there was none of yet."""
        state = self._database._state
        engine, views = state.engine, state.views
        if engine is not self._engine or views is not self._views:
            self.clear()
            self._shut.clear()
            self._engine, self._views = engine, views
        if not isinstance(table, str) or table in self._shut or not self.are_open:
            return None
        door = _door(self._database, state, table, self)
        if door is not None:
            self[table] = door
        elif table in state.tables:
            self._shut.add(table)
        return door


def _door(database: DoorHost, state: State, table: str, doors: Doors) -> Door | None:
    definition = state.tables.get(table)
    if not isinstance(state, RowState) or definition is None or table.startswith(HIDDEN):
        return None
    if database._is_readonly:
        return None
    if feeds_recursion(state.recursions, table):
        return None
    entrance = _entrance(state, definition, database._shredder(table))
    if entrance is None:
        return None
    views = state.views
    is_asked = bool(
        not definition.is_flat  # of which more than one flat table changes
        or any(view.is_told or view.feed is not None for view in views.values())
        or views.checked
        or views.constraints
        or views.lazy
        or state.objects.kept
        or database._is_asked_for_rows
    )
    return (_asked if is_asked else _short)(database, state, entrance, definition, doors)


def _entrance(state: RowState, table: TableDef, shredder: Shredder) -> Entrance | None:
    """What takes the rows of ``table`` into the engine there is; none where each needs a look."""
    native, engine = native_of(state.engine), in_python(state.engine)
    if native is not None:
        if not table.is_flat:
            return nested_acceptor(table, state.objects, native, shredder)
        number = native.door(_specification(table, state.objects))
        return NativeEntrance(native, table.name, number)
    if not isinstance(engine, LocalEngine):
        return None
    if table.is_flat:
        return acceptor(table, state.objects, engine)
    return nested_acceptor(table, state.objects, engine, shredder)


def _specification(table: TableDef, objects: Objects) -> DoorSpecification:
    types = [type_ for type_ in table.record.types if isinstance(type_, Scalar)]
    return DoorSpecification(
        table.name,
        table.record.names,
        tuple([type_.nullable for type_ in types]),
        tuple([_limits(type_) for type_ in types]),
        objects.families.get(table.name, (table.name,)) if table.key else (),
        tuple(
            [
                Leading(site.places, objects.extents.get(site.reference.table, ()), site.is_nullable)
                for site in objects.sites.get(table.name, ())
            ]
        ),
    )


def _limits(type_: Scalar) -> tuple[int, int] | None:
    if type_.name == "decimal" and type_.size:
        # As words: all digits, without the point. Those of a wider column all fit.
        most = 10 ** type_.size[0] - 1
        return None if most > MOST else (-most, most)
    if type_.name != "int" or not type_.size or type_.size[0] >= 64:
        return None
    bound = 1 << type_.size[0] - 1
    return -bound, bound - 1


#: The greatest word.
MOST = 2**63 - 1


def _may_go(state: RowState, table: TableDef) -> bool:
    """Whether rows go without more to look at than whether they are there."""
    return not table.append_only and table.name not in state.objects.referring


def _under_key(entrance: Entrance, table: TableDef) -> Callable[[Any], list[Row]]:
    """The row under a key; none where a longer look is needed. A key of one value is looked up as it is given."""
    types = [type_ for type_ in table.key_types if isinstance(type_, Scalar)]
    class_, by_key = CLASSES[types[0].name] if len(table.key) == len(types) == 1 else None, entrance.by_key

    def under(key: Any) -> list[Row]:
        row = by_key(key) if type(key) is class_ else None
        return [] if row is None else [row]

    return under


def _short(
    database: DoorHost, state: RowState, entrance: Entrance, definition: TableDef, doors: Doors
) -> Door:
    """The door where nobody asks for the rows: what ``Core._run`` does, less all that is for those who do."""
    access, views, table, engine = database._access, state.views, definition.name, state.engine
    writing, lock, is_owned = access.writing, access.lock, access.writing._is_owned  # type: ignore[attr-defined]
    coming, going = TakenRows(state, entrance, 1), TakenRows(state, entrance, -1)
    accept, under = entrance.accept, _under_key(entrance, definition)
    may_go, may_tear, made = _may_go(state, definition), bool(engine.program.deferred), tuple.__new__
    statements, compiled = state.statements_of(table), state.compiled

    def take(rows: Any, times: int) -> Refresh | None:
        if is_owned() or (times <= 0 and not may_go):
            return None
        began = perf_counter()
        with writing, lock:
            if state.engine is not engine or state.views is not views or database._state is not state:
                doors.clear()
                return None
            if access.journal is not None or (may_tear and engine.is_torn):
                return None
            if times == KEY:
                rows, times = under(rows), -1
            journal = coming if times > 0 else going
            access.open, access.journal, given = None, journal, journal.given
            try:
                count = accept(rows, times, given)
                if not count:
                    access.journal = None
                    given.clear()
                    _left(entrance, doors)
                    return None
                version, took = database.version + 1, perf_counter() - began
                content = version, took, count, statements * count, {table: count}, _NOTHING, ()
                refresh: Refresh = made(Refresh, content)
                state.patience -= count
                compiled.drafts = None  # they are kept while nothing but definitions come
                database.version, database._last_refresh, access.journal = version, refresh, None
            except UNDEFINED:
                doors.clear()  # its journals are used up
                database._recover(journal)
                return None  # the long way says why
            except BaseException:
                doors.clear()
                database._cut_off(journal)
                raise
            given.clear()
        if took >= SLOW or state.patience <= 0 or state.memory is not None:
            database._tell(refresh)
        return refresh

    return take


def _asked(
    database: DoorHost, state: RowState, entrance: Entrance, definition: TableDef, doors: Doors
) -> Door:
    """The door where somebody asks for the rows, or for the state that they lead to."""
    access, views, engine = database._access, state.views, state.engine
    accept, under = entrance.accept, _under_key(entrance, definition)
    may_go, may_tear = _may_go(state, definition), bool(engine.program.deferred)
    is_noted = is_followed(definition)

    def take(rows: Any, times: int) -> Refresh | None:
        if access.is_writing or (times <= 0 and not may_go):
            return None
        began = perf_counter()
        with access.writing, access.lock:
            if state.engine is not engine or state.views is not views or database._state is not state:
                doors.clear()
                return None
            if access.journal is not None or (may_tear and engine.is_torn):
                return None
            if times == KEY:
                rows, times = under(rows), -1
            seen = _noting(database, definition, rows) if times > 0 and is_noted else None
            access.open = None
            journal = TakenRows(state, entrance, times)
            access.journal = journal
            try:
                if not accept(rows, times, journal.given):
                    access.journal = None
                    _left(entrance, doors)
                    return None
            except UNDEFINED:
                database._recover(journal)
                return None  # the long way says why
            except BaseException:
                database._cut_off(journal)
                raise
            journal.torn = False
            refresh = database._run(journal, began)
            if seen is not None:
                note_all(seen, definition, rows, state.objects.links.get(definition.name))
                database._seen.keep(definition, seen, refresh)
        database._tell(refresh)
        return refresh

    return take


def _left(entrance: Entrance, doors: Doors) -> None:
    """Nothing was taken: where the program has moved to Python, all doors are to lead there."""
    if entrance.engine is not in_python(entrance.engine):
        doors.clear()


def _noting(database: DoorHost, table: TableDef, rows: Any) -> SeenRows | None:
    """What will have been seen of a table without rows that many are loaded into."""
    is_first = type(rows) is list and len(rows) >= MANY and not database._state.engine.entries(table.name)
    return database._seen.begin(table) if is_first else None
