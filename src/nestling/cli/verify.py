"""``nestling verify``: every view beside its meaning."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import typer
from rich.table import Table
from rich.text import Text

from nestling.cli.changes import apply_all
from nestling.cli.engines import EngineName, opened
from nestling.cli.terminal import answers, counted, duration
from nestling.database import Database
from nestling.database.view import View
from nestling.database.xml.view import XQueryView
from nestling.errors import NestlingError


def verify(pipeline: Path, changes: Path | None, engine: EngineName) -> None:
    """Recompute every view and compare; ends with exit code 1 if one differs."""
    with opened(pipeline, engine) as database:
        if changes is not None:
            apply_all(database, changes)
        _verify(database, pipeline.name)


def _verify(database: Database, title: str) -> None:
    table = Table("view")
    table.add_column("rows", justify="right")
    table.add_column("equal", justify="center")
    table.add_column("recomputed in", justify="right")
    differences: list[NestlingError] = []
    for name, view in database.views.items():
        started = perf_counter()
        difference = _difference(view)
        took = duration(perf_counter() - started)
        rows = str(len(view) if isinstance(view, XQueryView) else view.bag().size)
        table.add_row(Text(name), rows, "[red]✗[/]" if difference else "[green]✓[/]", took)
        differences += [difference] if difference else []
    _report(title, table, differences)


def _difference(view: View | XQueryView) -> NestlingError | None:
    try:
        view.verify()
    except NestlingError as difference:
        return difference
    return None


def _report(title: str, table: Table, differences: list[NestlingError]) -> None:
    console = answers()
    console.print(Text(f"{title}: views and their recomputation"))
    console.print(table)
    for difference in differences:
        console.print(Text.assemble(("✗", "red"), f" {difference.what}"), soft_wrap=True)
    if differences:
        console.print(
            f"{len(differences)} of {counted(table.row_count, 'view')} not equal to their recomputation"
        )
        raise typer.Exit(1)
