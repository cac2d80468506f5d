"""``Table``: the handle of a table that users have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nestling.calculus.types import Record, show_type
from nestling.database.arguments import defined
from nestling.database.core import Core
from nestling.database.deep import Address
from nestling.database.definitions import TableDef
from nestling.database.refresh import Refresh
from nestling.errors import ChangeError, QueryError, shown
from nestling.frontend.schema import copies, length, python_value


class Table:
    """A named bag of rows. Iterating gives rows as named tuples, inner bags as lists."""

    def __init__(self, database: Core, name: str) -> None:
        self._database, self.name = database, name

    @property
    def record(self) -> Record:
        return self._definition.record

    @property
    def key(self) -> tuple[str, ...]:
        return self._definition.key

    @property
    def _definition(self) -> TableDef:
        waiting = self._database._state.waiting.get(self.name)
        if waiting is not None:
            raise QueryError(waiting.why, hint=waiting.hint)
        return defined(self._database._state.tables, "table", self.name)

    def rows(self) -> list[Any]:
        """All rows, as often as they occur."""
        with self._database._reading():
            record = self.record
            bag = self._database._state.rows(self.name)
        return [python_value(record, row) for row in copies(bag.items(), self.name)]

    def df(self) -> Any:
        """The rows as a DataFrame, on Spark. It reads them as they are now; a view of it follows the table."""
        return self._database._table_df(self._definition.name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def __len__(self) -> int:
        with self._database._reading():
            return length(self._database._state.engine.table(self._definition.name).values(), self.name)

    def at(self, *key: Any) -> At:
        """One row by its key, for deep updates: ``orders.at(7).items.insert([...])``.

        An element of an inner bag is found by its columns: ``.items.at({"pid": 1}).update({"qty": 3})``.
        """
        return At(self._database, self._definition.name, key[0] if len(key) == 1 else key, ())

    def __repr__(self) -> str:
        key = f", key={', '.join(self.key)}" if self.key else ""
        return f"Table({self.name}: {show_type(self.record)}{key})"


class At:
    """A place inside one row: attributes select fields, ``at`` an element of an inner bag. A reference leads on to the
    row that it is of: ``orders.at(10).customer``.

    ``insert`` and ``delete`` change the elements of a bag, or which rows refer to this one, where an inverse is named:
    ``customers.at(1).orders``. ``update`` changes the columns of an element or of a row.
    """

    __slots__ = ("_database", "_key", "_path", "_table")

    def __init__(self, database: Core, table: str, key: Any, path: Address) -> None:
        self._database, self._table, self._key, self._path = database, table, key, path

    def __getattr__(self, name: str) -> At:
        if not isinstance(name, str):
            raise ChangeError(f"a bag is named by a str, not {shown(name)}", hint=".at(key).items")
        if name.startswith("__"):
            raise AttributeError(name)
        return At(self._database, self._table, self._key, (*self._path, name))

    __getitem__ = __getattr__

    def at(self, columns: Mapping[str, Any]) -> At:
        """The one element whose columns have these values: ``orders.at(7).items.at({"pid": 1})``."""
        if not isinstance(columns, Mapping):
            raise ChangeError(
                f"an element is found by its columns, not by {shown(columns)}", hint=".at({column: value})"
            )
        return At(self._database, self._table, self._key, (*self._path, dict(columns)))

    def insert(self, elements: Iterable[object]) -> Refresh:
        """Add elements; only they travel."""
        with self._database.transaction() as change:
            change.insert_into(self._table, self._key, self._path, elements)
        return change.refresh

    def delete(self, elements: Iterable[object]) -> Refresh:
        """Remove elements; only they travel."""
        with self._database.transaction() as change:
            change.delete_from(self._table, self._key, self._path, elements)
        return change.refresh

    def update(self, set: Mapping[str, Any]) -> Refresh:
        """Give columns new values; the bags of an element stay, and one element travels."""
        with self._database.transaction() as change:
            if self._path:
                change.update_in(self._table, self._key, self._path, set)
            else:
                change.update(self._table, key=self._key, set=set)
        return change.refresh
