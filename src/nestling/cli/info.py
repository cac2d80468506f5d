"""``nestling info FILE``: what is in a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nestling import Database, StoreError
from nestling.calculus.types import show_type
from nestling.database.definitions import HIDDEN
from nestling.database.durable import DatabaseFile


def info(path: Path) -> None:
    """Print the tables and views of a database, with their types and sizes."""
    console = Console()
    with Database(path) as db:
        file = db._file
        if not isinstance(file, DatabaseFile):
            raise StoreError(f"{path} is no file", hint="name the file of an embedded database")
        sizes = file.store.stats()
        changes = "1 change" if db.version == 1 else f"{db.version:,} changes"
        since = f"{sizes.log_entries:,} since the snapshot"
        console.print(Text(f"{path}: {sizes.file_bytes:,} bytes, {changes}, {since}"))
        tables = Table("table", "rows", "key", "type", title_justify="left")
        for name, table in db.tables.items():
            tables.add_row(
                *map(Text, (name, f"{len(table):,}", ", ".join(table.key), show_type(table.record)))
            )
        for name in db.documents:
            tables.add_row(*map(Text, (name, "", "", "document")))
        console.print(tables)
        views = Table("view", "refresh", "store", "how", "type")
        for name, view in db._state.definitions.items():
            if name.startswith(HIDDEN):
                continue
            state = db._state.views[name]
            kept = "constraint" if state.is_constraint else type(state.policy).__name__.lower()
            views.add_row(*map(Text, (name, view.refresh, view.store, kept, show_type(view.element))))
        if views.row_count:
            console.print(views)
