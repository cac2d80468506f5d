"""``nestling run``: the views a file declares, kept while changes arrive, and written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nestling.calculus.types import Bag
from nestling.cli.changes import Applied, apply_all
from nestling.cli.engines import EngineName, opened
from nestling.cli.queries import add_views
from nestling.cli.terminal import answers, counted, duration
from nestling.database import Database
from nestling.database.jsonl import write_rows
from nestling.database.names import check_path_name
from nestling.database.xml.view import XQueryView
from nestling.frontend.schema import python_value

Stats = Mapping[str, Mapping[str, Any]]


def run(
    pipeline: Path,
    queries: Iterable[Path],
    changes: Path | None,
    out: Path | None,
    engine: EngineName,
    path: str | None = None,
) -> None:
    """Load the pipeline and the queries, apply the changes, write the views, and say what it took."""
    with opened(pipeline, engine, path) as database:
        add_views(database, queries)
        for name in database.views if out is not None else ():
            check_path_name(name, f"a file in {out}")
        applied = apply_all(database, changes) if changes is not None else None
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        stats = database.stats()
        table = _summary(database, stats, _runs(applied or Applied(), engine), out)
    console = answers()
    console.print(Text(pipeline.name))
    console.print(table)
    _report(console, applied, stats, out)


def _summary(database: Database, stats: Stats, runs: Counter[str], out: Path | None) -> Table:
    table = Table("view")
    for name in ("rows", "read and written in" if out else "read in", "statements"):
        table.add_column(name, justify="right")
    for name, view in database.views.items():
        started = perf_counter()
        is_ordered = not isinstance(view, XQueryView) and bool(database._state.definitions[name].orders)
        rows = _read(view, is_ordered, None if out is None else out / name)
        took = duration(perf_counter() - started)
        table.add_row(Text(name), f"{rows:,}", took, _statements(stats[name], runs))
    return table


def _read(view: Any, is_ordered: bool, file: Path | None) -> int:
    """Read a view, and write it to ``file`` where there is one: how many rows or items it has."""
    if isinstance(view, XQueryView):
        if file is not None:
            Path(f"{file}.xml").write_text(view.xml(), encoding="utf-8")
        return len(view)
    # Sorted, so that two runs write the same; or in the order that the view has.
    rows = view.rows() if is_ordered else python_value(Bag(view.element), view.bag())
    if file is not None:
        write_rows(Path(f"{file}.jsonl"), view.element, rows)
    return len(rows)


def _runs(applied: Applied, engine: EngineName) -> Counter[str]:
    """How often the statements of each table were run: embedded for every row, on Spark for every batch."""
    return applied.touched if engine is EngineName.SPARK else applied.events


def _statements(view: Mapping[str, Any], runs: Counter[str]) -> str:
    """How many statements the changes set off for a view; statements that serve several count for each."""
    if view.get("evaluated_on_read"):
        return "—"
    return f"{sum(each * runs[table] for table, each in view['statements'].items()):,}"


def _report(console: Console, applied: Applied | None, stats: Stats, out: Path | None) -> None:
    if applied is not None:
        console.print(
            f"{counted(applied.rows, 'row')} in {counted(applied.batches, 'batch')} applied in "
            f"{duration(applied.seconds)}, {counted(applied.statements, 'statement')} for all views and constraints"
        )
    for name, view in stats.items():
        if reason := view.get("evaluated_on_read"):
            console.print(Text(f"{name} is recomputed when it is read: {reason}"), soft_wrap=True)
    if out is not None:
        console.print(Text(f"written to {out}"), soft_wrap=True)
