"""Tables and views as files of other programs, and back.

Law: the changes that lie in a folder, added up, are what was exported to it last: so whoever adds up what is there
follows, however the database was closed and opened in between.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nestling.calculus.types import STR, Record, Scalar
from nestling.database import arguments
from nestling.database.accept import known
from nestling.database.backups import Backups
from nestling.database.definitions import HIDDEN
from nestling.database.export import as_record
from nestling.database.feed import FEED_COLUMNS, SIGNS
from nestling.database.files import format_of, mode_argument, parts_of, read_file, write_file
from nestling.database.in_order import in_order
from nestling.database.refresh import Refresh
from nestling.errors import QueryError, StoreError
from nestling.frontend.schema import copies, named_row, python_values, row_value
from nestling.storage.lake.folder import scheme_of
from nestling.values.bag import ZBag

#: The columns that a file of changes has beside those of the rows.
_KIND, _VERSION = FEED_COLUMNS[:2]


class Exporting(Backups):
    """A database whose tables and views are written to files, and whose tables are loaded from them."""

    def export(self, name: Any, path: str | Path, *, mode: str = "snapshot") -> int:
        """Write a table or a view to a file, ``….parquet`` or ``….jsonl``, in the place of the one there: its rows now.

        With ``mode="changes"``, ``path`` is a folder, which gets one file more: what changed since the last one there,
        with ``_change_type`` and ``_commit_version``; the first has all rows. Files of it are Parquet, unless the
        folder is called ``….jsonl``. How many rows were written. ``load`` reads both.
        """
        wanted = getattr(name, "name", name)
        arguments.name_argument(wanted, "view")
        if mode_argument(mode) == "changes":
            return self._export_changes(wanted, self._file_place(path))
        where = self._file_place(path)
        format_of(where)
        return self._export_rows(wanted, where)

    def _file_place(self, path: Any) -> Any:
        """Where files of other programs are: on this machine."""
        where = arguments.path_argument(path)
        if scheme := scheme_of(str(path)):
            raise StoreError(
                f"{str(path)!r} is in {scheme}:, and this database writes and reads files of this machine only",
                hint="a database on Spark does: Database(spark=spark, path=…)",
            )
        return where

    def load(self, table: Any, path: str | Path, *, mode: str = "snapshot") -> Refresh:
        """Insert the rows of a file of Parquet or JSON lines, or of all files in a folder; or with ``mode="changes"``,
        apply what they say in ``_change_type``."""
        wanted = getattr(table, "name", table)
        arguments.name_argument(wanted, "table")
        is_feed = mode_argument(mode) == "changes"
        return self._load_rows(self._state.table(wanted).name, self._file_place(path), is_feed)

    def _export_rows(self, name: str, path: Path) -> int:
        record, bag, orders = self._exported(name)
        pairs = in_order(bag.items(), record, orders, name) if orders else copies(bag.items(), name)
        rows = pairs if orders else python_values(record, pairs)
        write_file(path, record, rows)
        return len(rows)

    def _export_changes(self, name: str, folder: Path) -> int:
        with self._access.reading():
            record, bag, _ = self._exported(name)
            version = self.version
        suffix = ".jsonl" if folder.suffix.lower() in (".jsonl", ".ndjson") else ".parquet"
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file", hint='with mode="changes", name a folder')
        if clash := set(record.names) & set(FEED_COLUMNS):
            raise QueryError(
                f"{name} has a column {min(clash)} of its own", hint="rename it in a view of this"
            )
        folder.mkdir(parents=True, exist_ok=True)
        files = parts_of(folder)
        change = bag - ZBag(pair for file in files for pair in _changes(file, record))
        if not change:
            return 0
        feed = Record((*record.fields, (_KIND, STR), (_VERSION, Scalar("int"))))
        # What goes stands before what comes.
        rows = [
            (*row, kind, version)
            for kind, part in (("delete", change.negative()), ("insert", change.positive()))
            for row in python_values(record, copies(part.items(), name))
        ]
        # Never under a name that is there: who reads the folder has read that file.
        number = 1 + max((int(file.stem) for file in files if file.stem.isdigit()), default=0)
        write_file(folder / f"{number:08d}{suffix}", feed, rows)
        return len(rows)

    def _exported(self, name: str) -> tuple[Record, ZBag, Any]:
        """The columns of a table or a view, its rows, and its order."""
        state = self._state
        if name in state.tables and not name.startswith(HIDDEN):
            with self._access.looking():
                return state.tables[name].record, state.rows(name), ()
        if name in state.xqueries:
            raise QueryError(
                f"{name} is an XQuery view, which has a text and no rows", hint=f"db.views[{name!r}].xml()"
            )
        if name not in state.definitions or name.startswith(HIDDEN):
            raise QueryError(
                f"there is no table or view {name!r}", hint=known([*state.tables, *state.definitions])
            )
        view, bag = state.definitions[name], self._read(name)
        record = as_record(view.element)
        if record is not view.element:
            bag = ZBag([((value,), times) for value, times in bag.items()])
        return record, bag, view.orders if record is view.element else ()

    def _load_rows(self, table: str, path: Path, is_feed: bool) -> Refresh:
        if not path.exists():
            raise StoreError(f"there is no file {path}", hint="check its name")
        record = self._state.table(table).record
        files = parts_of(path)
        if not files:
            raise StoreError(f"{path} has no file of rows", hint="they are called ….parquet or ….jsonl")
        feed = Record((*record.fields, (_KIND, STR), (_VERSION, Scalar("int")))) if is_feed else record
        rows = [row for file in files for row in read_file(file, feed)]
        return self.apply({table: rows}) if is_feed else self.insert(table, rows)


def _changes(file: Path, record: Record) -> list[tuple[Any, int]]:
    """The rows of a file of changes, and how often each comes."""
    format_of(file)
    feed = Record((*record.fields, (_KIND, STR), (_VERSION, Scalar("int"))))
    found = []
    for row in read_file(file, feed):
        named = dict(named_row(feed, row))
        kind, _ = named.pop(_KIND, None), named.pop(_VERSION, None)
        if kind not in SIGNS:
            raise StoreError(
                f"{file} is no file of changes of this",
                hint="choose a folder of its own for each table or view",
            )
        found.append((row_value(record, named), SIGNS[kind]))
    return found
