"""``Table``: the handle of a table that users have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nestling.calculus.types import Record, show_type
from nestling.database import export
from nestling.database.arguments import NOT_GIVEN, defined
from nestling.database.at import At
from nestling.database.by_key import row_by_key
from nestling.database.definitions import TableDef
from nestling.database.markup import tag
from nestling.database.notebook import rows_html
from nestling.database.refresh import Refresh
from nestling.database.reshape import DropColumn, RenameColumn
from nestling.database.reshape_arguments import added, column_path, widened
from nestling.database.writing import Writing
from nestling.errors import ChangeError, QueryError
from nestling.frontend.schema import copies, length, python_schema, python_value, python_values, row_value


class Table:
    """A named bag of rows. Iterating gives rows as named tuples, inner bags as lists."""

    def __init__(self, database: Writing, name: str) -> None:
        self._database, self.name = database, name

    # -- what it is

    @property
    def record(self) -> Record:
        return self._definition.record

    @property
    def key(self) -> tuple[str, ...]:
        return self._definition.key

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.record.names)

    @property
    def schema(self) -> dict[str, Any]:
        """The types by column, as ``db.table`` takes them: what is declared with them has rows of the same type."""
        return python_schema(self.record)

    @property
    def _definition(self) -> TableDef:
        waiting = self._database._state.waiting.get(self.name)
        if waiting is not None:
            raise QueryError(waiting.why, hint=waiting.hint)
        return defined(self._database._state.tables, "table", self.name)

    # -- reading

    def rows(self) -> list[Any]:
        """All rows, as often as they occur."""
        with self._database._reading():
            record = self.record
            bag = self._database._state.rows(self.name)
        return python_values(record, copies(bag.items(), self.name))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def __len__(self) -> int:
        with self._database._reading():
            return length(self._database._state.engine.table(self._definition.name).values(), self.name)

    def __getitem__(self, key: Any) -> Any:
        """The row with this key; of a key of several columns, a tuple."""
        definition = self._definition
        if not definition.key:
            raise QueryError(f"{self.name} has no key", hint="declare one: db.table(name, schema, key=…)")
        with self._database._reading():
            found = row_by_key(self._database._state, definition, key)
        if found is None:
            raise KeyError(key)
        return python_value(definition.record, found)

    def __contains__(self, row: Any) -> bool:
        """Whether there is a row with this key, or this row."""
        definition = self._definition
        state = self._database._state
        with self._database._reading():
            if definition.key and row_by_key(state, definition, row) is not None:
                return True
            try:
                value = row_value(definition.record, row, state.objects.links.get(self.name))
            except ChangeError:
                return False  # nothing that could stand in this table
            if not definition.key:
                return value in state.rows(self.name)
            own = tuple(value[i] for i in definition.key_positions)
            return row_by_key(state, definition, own[0] if len(own) == 1 else own) == value

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return export.to_pandas(self.record, self.rows())

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return export.to_arrow(self.record, self.rows())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows for any library that takes Arrow's stream: ``polars.DataFrame(it)``, ``pyarrow.table(it)``."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        return export.to_polars(self.record, self.rows())

    def df(self) -> Any:
        """The rows as a DataFrame, on Spark. It reads them as they are now; a view of it follows the table."""
        return self._database._table_df(self._definition.name)

    # -- changes, each as the method of the database that has its name

    def insert(self, rows: Iterable[object]) -> Refresh:
        """Add rows: dicts, tuples, dataclasses."""
        return self._database.insert(self.name, rows)

    def delete(self, rows: Any = NOT_GIVEN, *, where: Any = None, key: Any = NOT_GIVEN) -> Refresh:
        """Remove rows: those given, those for which ``where`` holds, or the one with this ``key``."""
        return self._database.delete(self.name, rows, where=where, key=key)

    def update(self, *, key: Any = NOT_GIVEN, where: Any = None, set: Mapping[str, Any]) -> Refresh:
        """Give columns of the row with this ``key``, or of those for which ``where`` holds, new values, or what
        functions of the row say."""
        return self._database.update(self.name, key=key, where=where, set=set)

    def upsert(self, rows: Iterable[object]) -> Refresh:
        """Add rows, each in the place of the one that has its key, if there is one: it becomes this row."""
        return self._database.upsert(self.name, rows)

    def merge(
        self, rows: Any, *, delete_when: Any = None, sequence_by: str | Sequence[str] | None = None
    ) -> Refresh:
        """Leave of each key what its row says, and of several its last; see ``Database.merge``."""
        return self._database.merge(self.name, rows, delete_when=delete_when, sequence_by=sequence_by)

    def sync(self, snapshot: Iterable[object]) -> Refresh:
        """Let the table hold exactly ``snapshot``: the difference is found and applied."""
        return self._database.sync(self.name, snapshot)

    def apply(self, changes: Any) -> Refresh:
        """Apply a Z-bag, or rows with ``_change_type``."""
        return self._database.apply({self.name: changes})

    def at(self, *key: Any) -> At[Refresh]:
        """One row by its key, for deep updates: ``orders.at(7).items.insert([...])``.

        An element of an inner bag is found by its columns: ``.items.at({"pid": 1}).update({"qty": 3})``.
        """
        return At(self._database._changed, self._definition.name, key[0] if len(key) == 1 else key)

    # -- columns; one inside is named by its path: "items.qty"

    def add_column(self, path: str | tuple[str, ...], type: Any, default: Any = NOT_GIVEN) -> None:
        """Add a column, with the same value in all rows there are: ``default``, or None, or an empty bag.

        Views keep the columns and the answers that they have.
        """
        where = column_path(path)
        self._database._reshape(self._definition.name, added(where, type, default))

    def drop_column(self, path: str | tuple[str, ...]) -> None:
        """Drop a column that no view reads."""
        self._database._reshape(self._definition.name, DropColumn(column_path(path)))

    def rename_column(self, path: str | tuple[str, ...], name: str) -> None:
        """Give a column another name; views keep the names that their own columns have."""
        where = column_path(path)
        self._database._reshape(self._definition.name, RenameColumn(where, column_path((name,))[0]))

    def widen_column(self, path: str | tuple[str, ...], type: Any) -> None:
        """Let a column hold more: larger ints, ints as Decimal or float, or None; views that read it follow."""
        where = column_path(path)
        self._database._reshape(self._definition.name, widened(where, type))

    def __repr__(self) -> str:
        waiting = self._database._state.waiting.get(self.name)
        if waiting is not None:
            return f"Table({self.name}: waits for the table of {waiting.target})"
        key = f", key={', '.join(self.key)}" if self.key else ""
        return f"Table({self.name}: {show_type(self.record)}{key})"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook; on Spark, where reading is a job, what it is."""
        if self._database._state.engine.is_remote:
            return tag("p", repr(self))
        return rows_html(self.name, self.record, self.rows())
