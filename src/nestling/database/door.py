"""Rows through the door of a native engine: one call of the extension takes all of them, or none.

The extension tests types, sizes, keys and references, and runs the triggers. What it does not take goes the long way,
which does it or says what is wrong. The short path asks for the rows of nobody; it is taken only where

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
from typing import TYPE_CHECKING, Any, Protocol

from nestling.calculus.types import Scalar
from nestling.database.access import Access
from nestling.database.definitions import HIDDEN, TableDef
from nestling.database.journal import Journal, RowJournal
from nestling.database.log import SLOW
from nestling.database.native import native_of
from nestling.database.objects import Objects
from nestling.database.recursion import is_followed
from nestling.database.refresh import Refresh
from nestling.database.row_state import RowState
from nestling.database.rows import Row, RowEvent
from nestling.database.seen import Seen
from nestling.database.state import State
from nestling.engine.native.specification import DoorSpecification, Leading
from nestling.engine.runs import Run
from nestling.errors import UNDEFINED
from nestling.values.bag import ZBag

if TYPE_CHECKING:
    from nestling.engine.native.engine import NativeEngine

#: Takes a list of rows, or a stream of Arrow, that come (1) or go (-1). Without a result nothing was done, and they are
#: for the long way.
Door = Callable[[Any, int], Refresh | None]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def taken(door: Door, rows: Any, times: int) -> Refresh | None:
    """What ``door`` makes of ``rows``, a list or columns; nothing where they are for the long way, as a stream is that
    can be read once."""
    if type(rows) is list:
        return door(rows, times)
    if hasattr(rows, "__arrow_c_stream__") and not hasattr(rows, "read_all"):
        with suppress(ValueError, TypeError, NotImplementedError):  # of a frame that Arrow has no types for
            return door(rows.__arrow_c_stream__(), times)
    return None


def all_alike(door: Door, changes: Any) -> Refresh | None:
    """The same of a Z-bag whose rows all come once, or all go once."""
    if not isinstance(changes, dict | ZBag):
        return None
    pairs = changes.items()
    times = {(type(n), n) for _, n in pairs}
    return door([row for row, _ in pairs], times.pop()[1]) if times in ({(int, 1)}, {(int, -1)}) else None


class DoorHost(Protocol):
    """The database whose doors they are; see ``Core``."""

    _state: Any
    version: int
    _last_refresh: Refresh
    _access: Access
    _seen: Seen

    @property
    def _is_asked_for_rows(self) -> bool:
        """Whether somebody outside of the state hears of the rows of every commit."""

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

    def at(self, table: str) -> Door | None:
        """The door of ``table``, which there was none of yet."""
        state = self._database._state
        engine, views = state.engine, state.views
        if engine is not self._engine or views is not self._views:
            self.clear()
            self._shut.clear()
            self._engine, self._views = engine, views
        if not isinstance(table, str) or table in self._shut:
            return None
        door = _door(self._database, state, table, self)
        if door is not None:
            self[table] = door
        elif table in state.tables:
            self._shut.add(table)
        return door


def _door(database: DoorHost, state: State, table: str, doors: Doors) -> Door | None:
    engine = native_of(state.engine)
    if engine is None or not isinstance(state, RowState) or table.startswith(HIDDEN):
        return None
    definition = state.tables.get(table)
    if definition is None or not definition.is_flat or is_followed(state.recursions, table):
        return None
    number = engine.door(_specification(definition, state.objects))
    may_go = not definition.append_only and table not in state.objects.referring
    views = state.views
    is_told = any(view.is_told or view.feed is not None for view in views.values())
    is_asked = bool(
        is_told
        or views.checked
        or views.constraints
        or views.lazy
        or state.objects.kept
        or database._is_asked_for_rows
    )
    made = _asked if is_asked else _short
    return made(database, state, engine, table, number, may_go, doors)


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
    if type_.name != "int" or not type_.size or type_.size[0] >= 64:
        return None
    bound = 1 << type_.size[0] - 1
    return -bound, bound - 1


class TakenRows(RowJournal):
    """The rows that a door took: none, or all of them."""

    is_committing = is_running = torn = True

    def __init__(self, state: RowState, engine: NativeEngine, table: str, door: int, times: int) -> None:
        self.state, self.engine, self.table, self.door, self.times = state, engine, table, door, times
        self.applied, self.done = 0, []
        #: The rows, once the engine has them: the extension puts them here, as one tuple, or as words.
        self.given: list[Any] = []
        self._was_undone = False
        self._before: dict[Row, int] | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        if not self.given:
            return ()
        found = self.given[0] = self.engine.taken(self.door, self.given[0])
        return found

    @property
    def events(self) -> list[RowEvent]:  # type: ignore[override]  # made when it is asked for
        return [RowEvent(self.table, row, self.times) for row in self.rows]

    @property
    def tables(self) -> Mapping[str, int]:
        return {self.table: len(self.rows)} if self.given else {}

    def run(self) -> None:
        """The engine has them already, unless they were undone."""
        if self._was_undone:
            self._pairs().apply(self.state.engine)
        self.is_running = False

    def _pairs(self) -> Run:
        return Run(self.table, [(row, self.times) for row in self.rows])

    def undo(self) -> None:
        """Run the opposite; where something was cut off, compute the maps anew from the rows as they were."""
        if self._before is None:
            self._before = self._counted()
        is_torn, self.torn, self._was_undone = self.torn, True, True
        if is_torn or self.state.engine is not self.engine:
            self.state.restore({self.table: self._before})
            return
        try:
            self._pairs().undo(self.engine)
            self.engine.drain_all()
        except UNDEFINED:
            self.state.restore({self.table: self._before})

    def restore(self, applied: int | None = None) -> None:
        self.undo()

    def _counted(self) -> dict[Row, int]:
        """How often the rows were there before they were taken."""
        before: dict[Row, int] = {}
        for row in self.rows:
            before[row] = before.get(row, self.engine.count(self.table, row)) - self.times
        return before


def _short(
    database: DoorHost,
    state: RowState,
    engine: NativeEngine,
    table: str,
    number: int,
    may_go: bool,
    doors: Doors,
) -> Door:
    """The door where nobody asks for the rows: what ``Core._run`` does, less all that is for those who do."""
    access, views, statements = database._access, state.views, state.statements_of(table)
    writing, lock, is_owned = access.writing, access.lock, access.writing._is_owned  # type: ignore[attr-defined]
    coming, going = TakenRows(state, engine, table, number, 1), TakenRows(state, engine, table, number, -1)
    accept, may_tear, made = engine.accepting(number, table), bool(engine.program.deferred), tuple.__new__
    forget = state.compiled.forget  # what is kept while nothing but definitions come

    def take(rows: Any, times: int) -> Refresh | None:
        journal = coming if times > 0 else going
        if is_owned() or not rows or (times < 0 and not may_go):
            return None
        began = perf_counter()
        with writing, lock:
            if state.engine is not engine or state.views is not views or database._state is not state:
                doors.clear()
                return None
            if access.journal is not None or (may_tear and engine.is_torn):
                return None
            access.open, access.journal, given = None, journal, journal.given
            try:
                count = accept(number, rows, times, given)
                if count is None:
                    access.journal = None
                    return None
                version, took = database.version + 1, perf_counter() - began
                content = version, took, count, statements * count, {table: count}, _NOTHING, ()
                refresh: Refresh = made(Refresh, content)
                state.patience -= count
                forget()
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
    database: DoorHost,
    state: RowState,
    engine: NativeEngine,
    table: str,
    number: int,
    may_go: bool,
    doors: Doors,
) -> Door:
    """The door where somebody asks for the rows, or for the state that they lead to."""
    access, views, may_tear = database._access, state.views, bool(engine.program.deferred)
    accept = engine.accepting(number, table)

    def take(rows: Any, times: int) -> Refresh | None:
        if access.is_writing or not rows or (times < 0 and not may_go):
            return None
        began = perf_counter()
        with access.writing, access.lock:
            if state.engine is not engine or state.views is not views or database._state is not state:
                doors.clear()
                return None
            if access.journal is not None or (may_tear and engine.is_torn):
                return None
            access.open = None
            journal = TakenRows(state, engine, table, number, times)
            access.journal = journal
            try:
                if accept(number, rows, times, journal.given) is None:
                    access.journal = None
                    return None
            except UNDEFINED:
                database._recover(journal)
                return None  # the long way says why
            except BaseException:
                database._cut_off(journal)
                raise
            journal.torn = False
            refresh = database._run(journal, began)
        database._tell(refresh)
        return refresh

    return take
