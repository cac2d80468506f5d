"""``nestling run``: the views a file declares, kept while changes arrive, and written out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from nestling.calculus.types import Bag
from nestling.cli.changes import Applied, apply_all
from nestling.cli.jsonl import write_rows
from nestling.cli.pipeline import load
from nestling.cli.terminal import answers, counted, duration
from nestling.database import Database
from nestling.frontend.schema import python_value
from nestling.program.statements import Add, Program, Propagate
from nestling.transform.viewlet import compile_views


def run(pipeline: Path, changes: Path | None, out: Path | None) -> None:
    """Load the pipeline, apply the changes, write the views, and say what it took."""
    with load(pipeline) as database:
        applied = apply_all(database, changes) if changes is not None else None
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        table = _summary(database, applied or Applied(), out)
        console = answers()
        console.print(pipeline.name)
        console.print(table)
        _report(console, applied, database.state.reasons, out)


def _report(console: Console, applied: Applied | None, reasons: Mapping[str, str], out: Path | None) -> None:
    if applied is not None:
        console.print(
            f"{counted(applied.rows, 'row')} in {counted(applied.batches, 'batch')} applied in "
            f"{duration(applied.seconds)}, {counted(applied.statements, 'statement')} for all views together"
        )
    for name, reason in reasons.items():
        console.print(f"{name} is recomputed when it is read: {reason}", soft_wrap=True)
    if out is not None:
        console.print(f"written to {out}", soft_wrap=True)


def _summary(database: Database, applied: Applied, out: Path | None) -> Table:
    done = "read and written in" if out else "read in"
    table = Table("view")
    for name in ("rows", done, "statements"):
        table.add_column(name, justify="right")
    for name, view in database.views.items():
        started = perf_counter()
        rows = python_value(Bag(view.element), view.bag())
        if out is not None:
            write_rows(out / f"{name}.jsonl", view.element, rows)
        took = perf_counter() - started
        statements = statements_of(database, name, applied)
        table.add_row(
            name, f"{len(rows):,}", duration(took), "—" if statements is None else f"{statements:,}"
        )
    return table


def statements_of(database: Database, view: str, applied: Applied) -> int | None:
    """How many statements ``view`` alone needs for what was applied; None where it is not maintained."""
    state = database.state
    if view not in state.flat:
        return None
    program = compile_views(state.declarations(), {view: state.flat[view]})
    return sum(_statements(program, table) * rows for table, rows in applied.events.items())


def _statements(program: Program, table: str) -> int:
    """How many statements one row of ``table`` sets off."""
    return sum(
        1 if isinstance(action, Add) else sum(len(adds) for _, adds in action.events)
        for action in program.triggers[table].actions
        if isinstance(action, Add | Propagate)
    )
