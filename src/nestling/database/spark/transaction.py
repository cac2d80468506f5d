"""Transactions on Spark: what a change will look at is fetched before it, in a few queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nestling.calculus.types import Path, bag_levels, dictionary_name
from nestling.database.arguments import NOT_GIVEN, changes_argument, one_way, rows_argument
from nestling.database.definitions import TableDef
from nestling.database.elements import elements, inner_bag, outer_bags
from nestling.database.rows import Row
from nestling.database.spark.arriving import few_rows
from nestling.database.spark.buffer import Buffer, labels_in
from nestling.database.transaction import Rows, Transaction
from nestling.engine.spark import limits
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value, row_value
from nestling.values.bag import ZBag

if TYPE_CHECKING:
    from nestling.database.spark.state import SparkState


class SparkTransaction(Transaction):
    """All or nothing: checked row by row as embedded, and run as one batch when it is committed."""

    state: SparkState

    @property
    def buffer(self) -> Buffer:
        return self.state.buffer

    def _rows(self) -> Rows | None:
        self.state.buffer.begin(self)
        return self.state.buffer

    def rows(self, table: str) -> ZBag:
        return self.state.rows(table)

    def insert(self, table: str, rows: Iterable[object]) -> None:
        definition = self._table(table)
        values = [row_value(definition.record, row) for row in rows_argument(rows, definition.record)]
        self._look_at(definition, values)
        super().insert(table, values)

    def delete(
        self,
        table: str,
        rows: Any = NOT_GIVEN,
        *,
        where: Any = None,
        key: Any = NOT_GIVEN,
    ) -> None:
        one_way(rows, where, key)
        definition = self._table(table)
        if key is not NOT_GIVEN:
            super().delete(table, key=key)
            return
        if where is not None:
            values = self._rows_where(definition, where)
        else:
            values = [row_value(definition.record, row) for row in rows_argument(rows, definition.record)]
        self._look_at(definition, values, deep=True)
        super().delete(table, values)

    def _rows_where(self, table: TableDef, where: Any) -> list[Row]:
        self.state.check_committed()
        rows = few_rows(self.state.rows_where(table.name, where))
        if rows is None:
            raise ChangeError(
                f"more than {limits.MAX_TRANSACTION_ROWS:,} rows of {table.name} match,"
                " and a transaction on Spark deletes no more by where",
                hint="delete them outside it",
            )
        return [row_value(table.record, row) for row in rows]

    def apply(self, changes: Mapping[str, Any]) -> None:
        changes = changes_argument(changes, self.state.tables)
        for table, change in changes.items():
            if (bag := inner_bag(self.state.tables, table)) is not None:
                self._look_at_elements(*bag, change)
                continue
            definition = self._table(table)
            values = [row_value(definition.record, row) for row, _ in change.items()]
            self._look_at(definition, values, deep=True)
        super().apply(changes)

    def _look_at(self, table: TableDef, values: list[Row], deep: bool = False) -> None:
        """Fetch the rows that stand for ``values``, those they refer to, and ``deep`` what is inside them."""
        if not values:
            return
        for names, parent in table.references:
            places = self.state.tables[parent].declarations[parent].key
            columns = [table.record.names.index(name) for name in names]
            self.buffer.fetch(parent, places, [_flat(value[i] for i in columns) for value in values])
        flat = table.declarations[table.name]
        if table.key:
            keys = [_flat(value[i] for i in table.key_positions) for value in values]
            self.buffer.fetch(table.name, flat.key, keys)
            if deep:
                rows = (self.buffer.by_key(table.name, key) for key in keys)
                self._look_under(row for row in rows if row is not None)
        elif not table.levels:
            self.buffer.fetch(table.name, tuple(range(len(flat.columns))), map(_flat, values))

    def _look_at_elements(self, table: TableDef, level: Path, changes: Any) -> None:
        """Fetch the rows around some inner bags, and of the bags what is looked at."""
        found = elements(table, level, changes)
        keys = [_key(table, key) for key, *_ in found]
        self.buffer.fetch(table.name, table.declarations[table.name].key, keys)
        rows = [self.buffer.by_key(table.name, key) for key in keys]
        element = table.levels[level].element
        if outer_bags(table, level) or any(bag_levels(element)):
            self._look_under(row for row in rows if row is not None)
            return
        name, position = dictionary_name(table.name, level), table.labels[level]
        gone = [
            (row[position], *_flat((value,)))
            for row, (_, _, value, times) in zip(rows, found, strict=True)
            if row is not None and times < 0
        ]
        self.buffer.fetch(name, tuple(range(len(table.declarations[name].columns))), gone)

    def _look_under(self, rows: Iterable[Row]) -> None:
        for dictionary, labels in labels_in(rows).items():
            self.buffer.fetch(dictionary, (0,), [(label,) for label in labels])
            self._look_under(row for label in labels for row in self.buffer.under(dictionary, label))


def _key(table: TableDef, key: Any) -> Row:
    parts = key if isinstance(key, tuple) and len(table.key) > 1 else (key,)
    return _flat(map(element_value, table.key_types, parts))


def _flat(value: Iterable[Any]) -> Row:
    """The columns of a value: records are laid out."""
    columns: list[Any] = []
    for part in value:
        columns += _flat(part) if type(part) is tuple else (part,)
    return tuple(columns)
