"""Transactions: changes are checked against the stored rows and collected as events, which the commit applies.

Law (13): a failed transaction leaves every map and table unchanged. Until the commit no other thread sees its changes:
its events are in a list, and ``overlay`` looks rows up with them. Guards are checked once, on the state at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial, wraps
from threading import get_ident
from typing import Any, Concatenate, ParamSpec, Protocol

from nestling.calculus.types import Path, dictionary_name
from nestling.database import arguments
from nestling.database.arguments import NOT_GIVEN
from nestling.database.changing import Changing, Shredders
from nestling.database.deep import Address, changed, element_of
from nestling.database.definitions import TableDef
from nestling.database.elements import elements, inner_bag
from nestling.database.images import images
from nestling.database.merging import Merging
from nestling.database.prefetch import prefetch_bags, prefetch_changes, prefetch_rows
from nestling.database.reaching import delete_referring, insert_referring, inverse_of, reached
from nestling.database.refresh import Refresh
from nestling.database.refused import (
    key_parts,
)
from nestling.database.rows import Row, RowEvent, nested_row
from nestling.database.seen import SeenRows, digest, glance
from nestling.database.state import State
from nestling.database.statements import check_statement
from nestling.database.table_in import TableIn
from nestling.errors import ChangeError
from nestling.frontend.schema import multiplicity, python_value
from nestling.progress import told
from nestling.values.bag import EMPTY, ZBag

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
            if transaction.objects.is_checked:
                check_statement(transaction, done)
        except BaseException:
            transaction.rollback(done)
            raise

    return whole


all_or_nothing = _all_or_nothing


class Transaction(Changing):
    """All or nothing. Reads inside it see its changes; others see them, and subscribers hear of them, when it is
    committed. It belongs to the thread that began it, and ends with its block."""

    def __init__(self, state: State, shredder: Shredders, access: Applying) -> None:
        self.state, self.shredder, self._access = state, shredder, access
        self.objects, self.events, self._stored = state.objects, [], None
        self.thread = get_ident()
        #: What it did, once it is committed.
        self.refresh = NOTHING
        self.is_over = False
        #: Whether the engine has some of the events, because a view was read.
        self.is_applied = False

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
        values = self._values(definition, rows)
        if self.state.engine.is_remote:
            prefetch_rows(self.stored, definition, [value for value, _ in values])
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
            gone += self._values(definition, given)
        if where is not None:
            gone += self._rows_where(definition, where)
        if self.state.engine.is_remote:
            prefetch_rows(self.stored, definition, [value for value, _ in gone], deep=True)
        with self.using():  # rows and where are the user's, and may have read a view
            for value, times in gone:
                self._delete(definition, value, times)
            if key is not NOT_GIVEN:
                self._remove(definition, self._row_of(definition, key), 1)

    def _values(self, table: TableDef, rows: Iterable[Any]) -> list[tuple[Row, int]]:
        """Rows as they are stored, once each."""
        is_plain, read = table.is_plain, self._reader(table)
        return [(row if is_plain(row) else read(row), 1) for row in told(rows, "rows read")]

    def _reader(self, table: TableDef) -> Callable[[object], Row]:
        return table.reader(self.objects.links.get(table.name))

    def _rows_where(self, table: TableDef, where: Any) -> list[tuple[Row, int]]:
        found = self.state.selected(table.name, where, bool(self.events))
        if found is None:
            holds = arguments.condition(where)
            rows = self.rows(table.name).items()
            found = [(value, times) for value, times in rows if holds(python_value(table.record, value))]
        return found

    @_all_or_nothing
    def update(self, table: str, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]) -> None:
        """Give columns of the row with this ``key``, or of those for which ``where`` holds, new values."""
        arguments.one_of(where, key)
        definition = self._table(table)
        new = self._new_values(definition, set)
        if where is None:
            flat = self._row_of(definition, key)
            found = new(lambda: nested_row(definition, flat, self.stored))
            with self.using():  # a new value may be a function of the user's
                self._set(definition, flat, found)
            return
        rows = [
            (value, times, new(partial(tuple, value))) for value, times in self._rows_where(definition, where)
        ]
        with self.using():
            for value, times, found in rows:
                self._set_all(definition, value, times, found)

    @_all_or_nothing
    def upsert(self, table: str, rows: Iterable[object]) -> None:
        """Add rows, each in the place of the one that has its key, if there is one: it becomes this row."""
        definition = self._table(table)
        rows = rows if type(rows) is list else arguments.rows_argument(rows, definition.record)
        values = [value for value, _ in self._values(definition, rows)]
        if self.state.engine.is_remote:
            prefetch_rows(self.stored, definition, values, deep=True)
        with self.using():  # rows are the user's, and may have read a view
            self._upsert(definition, values)

    @_all_or_nothing
    def merge(
        self, table: str, rows: Iterable[object], *, delete_when: Any = None, sequence_by: Any = None
    ) -> None:
        """Leave of each key what its last row says; see ``Database.merge``."""
        definition = self._table(table)
        links = self.objects.links.get(definition.name)
        merging = Merging(definition, rows, delete_when, sequence_by, links)
        with self.using():  # rows and delete_when are the user's, and may have read a view
            self._merge(merging)

    @_all_or_nothing
    def _merged(self, merging: Merging) -> None:
        """The same, of rows that were read already."""
        self._merge(merging)

    @_all_or_nothing
    def _apply_once(self, changes: Mapping[str, Any], once: tuple[str, int]) -> None:
        """Apply a batch of a job, unless it is there already."""
        if self._is_new(once):
            self.apply(changes)

    @_all_or_nothing
    def sync(self, table: str, snapshot: Iterable[object]) -> None:
        """Let ``table`` hold exactly ``snapshot``: the difference is found and applied."""
        definition = self._table(table)
        rows = arguments.rows_argument(snapshot, definition.record)
        wanted = ZBag(self._values(definition, rows))
        self._apply_values({definition.name: wanted - self.rows(table)})

    @_all_or_nothing
    def _sync_seen(self, table: TableDef, rows: Iterable[object], known: SeenRows, seen: SeenRows) -> None:
        """The same where the table holds what is ``known``: a row that is known stays; ``seen`` notes them."""
        is_plain, read = table.is_plain, self._reader(table)
        noted, stay = known.by_digest, seen.by_digest
        come: list[tuple[Row, int]] = []
        for row in told(arguments.rows_argument(rows, table.record), "rows compared"):
            text = glance(row)
            if text not in noted:
                text = digest(row)
            if text in noted and text not in stay:
                stay[text] = noted[text]
                continue
            value = row if is_plain(row) else read(row)
            come.append((value, 1))
            seen.add(text, tuple([value[i] for i in table.key_positions]))
        gone = [*known.others, *(key for text, key in noted.items() if text not in stay)]
        with self.using():  # rows are the user's, and may have read a view
            old = [
                nested_row(table, flat, self.stored)
                for flat in (self._by_key(table, key) for key in gone)
                if flat
            ]
        self._apply_values({table.name: ZBag(come) - ZBag([(row, 1) for row in old])})

    @_all_or_nothing
    def apply(self, changes: Mapping[str, Any]) -> None:
        """Add a Z-bag per table, or rows with ``_change_type``.

        What is deleted goes first, so that a key may be given again. Under the name of an inner bag, elements of it:
        see ``elements``.
        """
        changes = arguments.changes_argument(changes, self.state.tables)
        total = {
            name: self._total(self._table(name), change)
            for name, change in changes.items()
            if inner_bag(self.state.tables, name) is None
        }
        self._apply_values({**changes, **total})

    def _apply_values(self, changes: Mapping[str, Any]) -> None:
        """The same, where rows have been read as values; elements have not."""
        if self.state.engine.is_remote:
            prefetch_changes(self.stored, self.state.tables, changes)
        total = {name: change for name, change in changes.items() if name in self.state.tables}
        if len(total) > 1 and self.objects.has_order:
            self._apply_in_order(total)
            total = dict.fromkeys(total, EMPTY)
        for name, change in changes.items():
            if (bag := inner_bag(self.state.tables, name)) is not None:
                self._apply_elements(*bag, change)
            else:
                self._apply_rows([name], [name], total)

    def _total(self, table: TableDef, change: Any) -> ZBag:
        is_plain, read = table.is_plain, self._reader(table)
        return ZBag(
            (row if is_plain(row) else read(row), multiplicity(times)) for row, times in change.items()
        )

    def _apply_in_order(self, total: Mapping[str, ZBag]) -> None:
        """Rows that refer to others go before these and come after them."""
        parents_first = sorted(total, key=self.objects.ranks.__getitem__)
        self._apply_rows(parents_first[::-1], parents_first, total)

    def _apply_rows(self, going: Sequence[str], coming: Sequence[str], total: Mapping[str, ZBag]) -> None:
        change = {name: images(self._table(name), total[name]) for name in coming}
        for name in going:
            for row, times in change[name].gone:
                self._delete(self._table(name), row, times)
        for name in coming:
            for old, new in change[name].pairs:
                self._set_image(self._table(name), old, new)
            self._insert_all(self._table(name), change[name].come)

    def _apply_elements(self, table: TableDef, level: Path, changes: Any) -> None:
        links = self.objects.links_in(table.name, level)
        for key, address, value, times in elements(table, level, changes, links):
            found = self._bag_of(table, self._row_of(table, key), address)
            if times > 0:
                self._insert_elements(*found, [(value, times)])
            else:
                self._delete_elements(*found, [(value, -times)], key_parts(table, key))

    @_all_or_nothing
    def insert_into(self, table: str, key: Any, path: Address, elements: Any) -> None:
        """Add elements to one inner bag; or to an inverse, rows that refer to this one from now on."""
        definition, row, address = self._reach(table, key, path)
        if inverse_of(self.objects, definition, address):
            insert_referring(self, definition, row, str(address[0]), elements)
            return
        found = self._bag_of(definition, row, address)
        self._insert_elements(*found, arguments.elements_argument(elements))

    @_all_or_nothing
    def delete_from(self, table: str, key: Any, path: Address, elements: Any) -> None:
        """Remove elements from one inner bag; or from an inverse, rows whose reference to this one is nil then."""
        definition, row, address = self._reach(table, key, path)
        if inverse_of(self.objects, definition, address):
            delete_referring(self, definition, row, str(address[0]), elements)
            return
        found = self._bag_of(definition, row, address)
        own = tuple(row[i] for i in definition.declarations[definition.name].key)
        self._delete_elements(*found, arguments.elements_argument(elements), own)

    @_all_or_nothing
    def update_in(self, table: str, key: Any, path: Address, set: Mapping[str, Any]) -> None:
        """Give columns of what ``path`` ends with new values: an element, whose bags stay as they are, or the row
        that a reference leads to."""
        definition, row, address = self._reach(table, key, path)
        if not address:
            self._set(definition, row, self._new_columns(definition, set))
            return
        if isinstance(address[-1], str):
            raise ChangeError(
                f"{definition.name} is updated at an element, or at what a reference leads to",
                hint=".at({column: value}).update({...})",
            )
        definition, level, label = self._bag_of(definition, row, address[:-1])
        name, element = dictionary_name(definition.name, level), definition.levels[level].element
        links = self.objects.links_in(definition.name, level)
        old = element_of(self.stored, definition, level, label, address[-1], links)
        new = changed(name, element, old, arguments.set_argument(set), links)
        if new != old:
            self._run([RowEvent(name, (label, *old), -1), RowEvent(name, (label, *new), 1)])

    def _reach(self, table: str, key: Any, path: Address) -> tuple[TableDef, Row, Address]:
        """The row that ``path`` leads to through references, and what is left of it."""
        definition = self._table(table)
        address = arguments.address_argument(path)
        return reached(self.stored, self.objects, definition, self._row_of(definition, key), address)

    def table(self, name: str) -> TableIn:
        """A table whose changes are part of this transaction: ``t.table("orders").at(7).items.insert([…])``."""
        self.check_usable()
        return TableIn(self, self._table(name).name)

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
        definition, rows = self._table(table), self.stored.table(table).items()
        if self.state.engine.is_remote:
            prefetch_bags(self.stored, (row for row, _ in rows))
        return ZBag((nested_row(definition, row, self.stored), times) for row, times in rows)
