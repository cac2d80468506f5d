"""Transactions: changes are checked against the stored rows and collected as events, which the commit applies.

Law (13): a failed transaction leaves every map and table unchanged. Until the commit no other thread sees its changes:
its events are in a list, and ``overlay`` looks rows up with them. Guards are checked once, on the state at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from threading import get_ident
from typing import Any, Concatenate, ParamSpec, Protocol

from nestling.calculus.types import Path, Type, bag_levels
from nestling.database import arguments
from nestling.database.arguments import NOT_GIVEN
from nestling.database.deep import Address, bag_at, changed, element_of
from nestling.database.definitions import TableDef
from nestling.database.elements import elements, inner_bag
from nestling.database.feed import Pairs
from nestling.database.overlay import Overlay
from nestling.database.prefetch import prefetch_bags, prefetch_changes, prefetch_rows
from nestling.database.refresh import Refresh
from nestling.database.rows import Row, RowEvent, Shredder, nested
from nestling.database.state import State
from nestling.errors import ChangeError, brief
from nestling.frontend.schema import element_value, multiplicity, python_value, row_value
from nestling.values.bag import ZBag
from nestling.values.columns import columns
from nestling.values.label import Label

Shredders = Callable[[str], Shredder]
P = ParamSpec("P")
NOTHING = Refresh(0, 0.0, 0, 0)
_NO_LOCK: AbstractContextManager[Any] = nullcontext()
Change = Callable[Concatenate["Transaction", P], None]


class Applying(Protocol):
    """Who applies the events of a transaction, be it for a reading."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while the engine is looked at."""

    def retract(self, done: int) -> None:
        """Have no more than ``done`` events in the engine."""


def _all_or_nothing(change: Change[P]) -> Change[P]:
    """A change that is refused leaves what was done before it, and nothing of its own."""

    @wraps(change)
    def whole(transaction: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> None:
        transaction.check_usable()
        done = len(transaction.events)
        try:
            if transaction.is_applied:
                with transaction.using():
                    change(transaction, *args, **kwargs)
            else:
                change(transaction, *args, **kwargs)
        except BaseException:
            transaction.rollback(done)
            raise

    return whole


all_or_nothing = _all_or_nothing


class Transaction:
    """All or nothing. Reads inside it see its changes; others see them, and subscribers hear of them, when it is
    committed. It belongs to the thread that began it, and ends with its block."""

    def __init__(self, state: State, shredder: Shredders, access: Applying) -> None:
        self.state, self.shredder, self._access = state, shredder, access
        self.events: list[RowEvent] = []
        self._stored: Overlay | None = None  # one row that comes looks nothing up
        self.thread = get_ident()
        #: What it did, once it is committed.
        self.refresh = NOTHING
        self.is_over = False
        #: Whether the engine has some of the events, because a view was read.
        self.is_applied = False

    @property
    def stored(self) -> Overlay:
        """The rows as this transaction sees them."""
        if self._stored is None:
            self._stored = Overlay(self.state, self.events)
        return self._stored

    def check_usable(self) -> None:
        """Refuse changes after the block, and in another thread."""
        if self.is_over:
            raise ChangeError("the transaction is over", hint="begin another: with db.transaction() as t")
        if self.thread != get_ident():
            raise ChangeError(
                "the transaction belongs to another thread", hint="each thread begins one of its own"
            )

    def using(self) -> AbstractContextManager[Any]:
        """The frame of one change: while the engine has some of the events, another thread that reads takes them out
        of it; not in between."""
        return self._access.lock if self.is_applied else _NO_LOCK

    @_all_or_nothing
    def insert(self, table: str, rows: Iterable[object]) -> None:
        """Add rows: dicts, tuples, dataclasses."""
        definition = self._table(table)
        rows = rows if type(rows) is list else arguments.rows_argument(rows, definition.record)
        values = [(row_value(definition.record, row), 1) for row in rows]
        if self.state.engine.is_remote:
            prefetch_rows(self.stored, self.state.tables, definition, [value for value, _ in values])
        self._insert_all(definition, values)

    @_all_or_nothing
    def delete(
        self,
        table: str,
        rows: Any = NOT_GIVEN,
        *,
        where: Any = None,
        key: Any = NOT_GIVEN,
    ) -> None:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        arguments.one_way(rows, where, key)
        definition = self._table(table)
        gone: list[tuple[Any, int]] = []
        if rows is not NOT_GIVEN:
            given = rows if type(rows) is list else arguments.rows_argument(rows, definition.record)
            gone += [(row_value(definition.record, row), 1) for row in given]
        if where is not None:
            gone += self._rows_where(definition, where)
        if self.state.engine.is_remote:
            prefetch_rows(self.stored, self.state.tables, definition, [value for value, _ in gone], deep=True)
        with self.using():  # rows and where are the user's, and may have read a view
            for value, times in gone:
                self._delete(definition, value, times)
            if key is not NOT_GIVEN:
                self._remove(definition, self._row_of(definition, key), 1)

    def _rows_where(self, table: TableDef, where: Any) -> list[tuple[Row, int]]:
        found = self.state.selected(table.name, where, bool(self.events))
        if found is None:
            holds = arguments.condition(where)
            rows = self.rows(table.name).items()
            found = [(value, times) for value, times in rows if holds(python_value(table.record, value))]
        return found

    @_all_or_nothing
    def update(self, table: str, *, key: Any, set: Mapping[str, Any]) -> None:
        """Give columns of the row with this ``key`` new values."""
        definition = self._table(table)
        flat = self._row_of(definition, key)
        old = nested(iter(flat), definition.record, self.stored)
        named = dict(zip(definition.record.names, old, strict=True))
        for name in arguments.set_argument(set):
            if name not in named:
                raise ChangeError(
                    f"{table} has no column {name!r}", hint=f"it has {', '.join(definition.record.names)}"
                )
        new = row_value(definition.record, named | dict(set))
        if new != old:
            self._remove(definition, flat, 1)
            self._insert(definition, new, 1)

    @_all_or_nothing
    def apply(self, changes: Mapping[str, Any]) -> None:
        """Add a Z-bag per table, or rows with ``_change_type``.

        What is deleted goes first, so that a key may be given again. Under the name of an inner bag, elements of it:
        see ``elements``.
        """
        changes = arguments.changes_argument(changes, self.state.tables)
        if self.state.engine.is_remote:
            prefetch_changes(self.stored, self.state.tables, changes)
        for table, change in changes.items():
            if (bag := inner_bag(self.state.tables, table)) is not None:
                self._apply_elements(*bag, change)
                continue
            definition = self._table(table)
            pairs = (
                (row_value(definition.record, row), multiplicity(times)) for row, times in change.items()
            )
            total = ZBag(pairs)
            for row, times in total.negative().items():
                self._delete(definition, row, times)
            self._insert_all(definition, list(total.positive().items()))

    def _apply_elements(self, table: TableDef, level: Path, changes: Any) -> None:
        for key, address, value, times in elements(table, level, changes):
            change = self.insert_into if times > 0 else self.delete_from
            change(table.name, key, address, Pairs([(value, abs(times))]))

    @_all_or_nothing
    def insert_into(self, table: str, key: Any, path: Address, elements: Any) -> None:
        """Add elements to one inner bag."""
        definition, level, label = self._bag(table, key, path)
        element = definition.levels[level].element
        bag = ZBag(
            [(element_value(element, value), times) for value, times in arguments.elements_argument(elements)]
        )
        self._run(self.shredder(table).elements(level, label, bag))

    @_all_or_nothing
    def delete_from(self, table: str, key: Any, path: Address, elements: Any) -> None:
        """Remove elements from one inner bag."""
        definition, level, label = self._bag(table, key, path)
        element = definition.levels[level].element
        shredder = self.shredder(table)
        name = ".".join((table, *level))
        for value, times in arguments.elements_argument(elements):
            wanted = element_value(element, value)
            while times:
                found = self._element(name, label, wanted, element)
                if found is None:
                    raise not_in(name, element, wanted, _parts(definition, key))
                available = self.stored.count(name, (label, *found))
                taken = min(times, available)
                gone = [RowEvent(name, (label, *found), -taken)]
                if taken == available:
                    # The last of equal elements takes its bags along.
                    gone += shredder.deletion(found, taken, self.stored)[1:]
                self._run(gone)
                times -= taken

    @_all_or_nothing
    def update_in(self, table: str, key: Any, path: Address, set: Mapping[str, Any]) -> None:
        """Give columns of the element that ``path`` ends with new values; the bags inside it stay as they are."""
        path = arguments.address_argument(path)
        if not path or isinstance(path[-1], str):
            raise ChangeError(f"{table} is updated at an element", hint=".at({column: value}).update({...})")
        definition, level, label = self._bag(table, key, path[:-1])
        name = ".".join((table, *level))
        old = element_of(self.stored, definition, level, label, path[-1])
        new = changed(name, definition.levels[level].element, old, arguments.set_argument(set))
        if new != old:
            self._run([RowEvent(name, (label, *old), -1), RowEvent(name, (label, *new), 1)])

    def _element(self, name: str, label: Label, wanted: Any, element: Any) -> Row | None:
        if not any(bag_levels(element)):
            plain = tuple(columns((wanted,)))
            return plain if self.stored.count(name, (label, *plain)) > 0 else None
        rows = self.stored.under(name, label)
        return next((row for row in rows if nested(iter(row), element, self.stored) == wanted), None)

    def rollback(self, done: int = 0) -> None:
        """Forget the events after the first ``done``."""
        self._access.retract(done)
        undone = self.events[done:]
        del self.events[done:]
        self.stored.forget(undone)

    def rows(self, table: str) -> ZBag:
        """The rows of a table, nested, with the changes of this transaction."""
        if not self.events:
            return self.state.rows(self._table(table).name)
        record, rows = self._table(table).record, self.stored.table(table).items()
        if self.state.engine.is_remote:
            prefetch_bags(self.stored, (row for row, _ in rows))
        return ZBag((nested(iter(row), record, self.stored), times) for row, times in rows)

    def _table(self, name: str) -> TableDef:
        return self.state.table(name)

    def _insert(self, table: TableDef, value: Row, times: int) -> None:
        self._check_new(table, value, times, set())
        self._run(self.shredder(table.name).insertion(value, times))

    def _insert_all(self, table: TableDef, values: Sequence[tuple[Row, int]]) -> None:
        """Rows as one batch: all of an inner bag's rows, then all rows that have them."""
        if len(values) == 1:
            self._insert(table, *values[0])
            return
        batches: dict[str, list[RowEvent]] = {name: [] for name in reversed(table.declarations)}
        shredder, keys = self.shredder(table.name), set[Row]()
        for value, times in values:
            self._check_new(table, value, times, keys)
            for event in shredder.insertion(value, times):
                batches[event.table].append(event)
        for events in batches.values():
            self._run(events)

    def _check_new(self, table: TableDef, value: Row, times: int, keys: set[Row]) -> None:
        """Refuse a row whose key is taken, also by ``keys``, or that refers to none; its own key is taken then."""
        if table.key:
            key = tuple([value[i] for i in table.key_positions])
            if times > 1 or key in keys or self._by_key(table, key) is not None:
                raise key_taken(table, key)
            self._check_references(table, value, keys)
            keys.add(key)
        else:
            self._check_references(table, value, keys)

    def _by_key(self, table: TableDef, key: Row) -> Row | None:
        """The flat row with this key, whose columns may be records."""
        flat = tuple(columns(key)) if tuple in map(type, key) else key
        return self.stored.by_key(table.name, flat)

    def _check_references(self, table: TableDef, value: Row, keys: set[Row]) -> None:
        for names, parent in table.references:
            key = tuple(value[table.record.names.index(name)] for name in names)
            if parent == table.name and key in keys:
                continue
            if self._by_key(self.state.tables[parent], key) is None:
                raise no_parent(table, names, parent, key)

    def _delete(self, table: TableDef, value: Row, times: int) -> None:
        for flat, available in self._copies(table, value):
            taken = min(times, available)
            self._remove(table, flat, taken)
            times -= taken
            if not times:
                return
        raise no_row(table, value, times)

    def _copies(self, table: TableDef, value: Row) -> list[tuple[Row, int]]:
        """The stored flat rows that stand for ``value``; several where equal rows have bags of their own."""
        if table.key:
            flat = self._by_key(table, tuple(value[i] for i in table.key_positions))
            candidates = {} if flat is None else {flat: 1}
        elif table.levels:
            candidates = self.stored.table(table.name)
        else:
            flat = tuple(columns(value))
            times = self.stored.count(table.name, flat)
            return [(flat, times)] if times else []
        return [
            (flat, times)
            for flat, times in candidates.items()
            if nested(iter(flat), table.record, self.stored) == value
        ]

    def _remove(self, table: TableDef, flat: Row, times: int) -> None:
        check_removable(table)
        stays = self.stored.count(table.name, flat) > times
        if stays:
            self._run([RowEvent(table.name, flat, -times)])
        else:
            self._run(self.shredder(table.name).deletion(flat, times, self.stored))

    def _row_of(self, table: TableDef, key: Any) -> Row:
        if not table.key:
            raise keyless(table)
        parts = _parts(table, key)
        try:
            flat = self._by_key(table, tuple(map(element_value, table.key_types, parts)))
        except ChangeError:
            flat = None  # a value of another type is the key of no row
        if flat is None or len(parts) != len(table.key_types):
            raise no_key(table, parts)
        return flat

    def _bag(self, table: str, key: Any, path: Address) -> tuple[TableDef, Path, Label]:
        """The inner bag of one row that is to be changed."""
        definition = self._table(table)
        check_removable(definition)
        address = arguments.address_argument(path)
        return definition, *bag_at(self.stored, definition, self._row_of(definition, key), address)

    def _run(self, events: Sequence[RowEvent]) -> None:
        self.events += events


def check_removable(table: TableDef) -> None:
    """Refuse to take rows from a table that only grows."""
    if table.append_only:
        raise ChangeError(f"{table.name} is append-only", hint="its rows cannot be deleted or updated")


def key_taken(table: TableDef, key: Row) -> ChangeError:
    return ChangeError(
        f"{table.name} already has a row with key {_shown(key)}", hint="delete it first, or use update"
    )


def keyless(table: TableDef) -> ChangeError:
    return ChangeError(f"{table.name} has no key", hint="declare one: db.table(name, schema, key=...)")


def no_key(table: TableDef, key: Row) -> ChangeError:
    return ChangeError(
        f"{table.name} has no row with key {_shown(key)}", hint=f"its key is {', '.join(table.key)}"
    )


def not_in(name: str, element: Type, wanted: Any, key: Row) -> ChangeError:
    """``wanted`` is no element of the inner bag ``name`` of the row with this key."""
    return ChangeError(f"{brief(python_value(element, wanted), 200)} is not in {name} of {_shown(key)}")


def no_parent(table: TableDef, names: Sequence[str], parent: str, key: Row) -> ChangeError:
    return ChangeError(
        f"{', '.join(names)} of {table.name} is {_shown(key)}, but {parent} has no such row",
        hint=f"insert it into {parent} first",
    )


def no_row(table: TableDef, value: Row, times: int) -> ChangeError:
    """``value`` would have to be there ``times`` more times."""
    shown = f"{table.name} has no row {brief(python_value(table.record, value), 200)}"
    return ChangeError(shown + ("" if times == 1 else f" {times} more times"), hint="nothing was deleted")


def _parts(table: TableDef, key: Any) -> Row:
    return key if isinstance(key, tuple) and len(table.key) > 1 else (key,)


def _shown(key: tuple[Any, ...]) -> str:
    return brief(key[0] if len(key) == 1 else key)
