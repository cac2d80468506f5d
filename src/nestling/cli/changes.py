"""A folder of changes: ``<table>.jsonl`` at the start, then ``<n>-<table>.jsonl`` batch by batch.

A line is a row to insert, or says in ``_change_type`` what happens to it, as Spark's change feed does. Files
without a number are one batch, and so are files with the same number: a batch is one transaction. Inside it a
table's deletions come before its insertions, and a row that both comes and goes does neither. A deletion may
give the key alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nestling.cli.terminal import Advance, progress
from nestling.database import Database
from nestling.database.definitions import TableDef
from nestling.database.feed import FEED_COLUMNS, SIGNS, check_feed
from nestling.database.jsonl import FileLine, from_json, read_lines
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError, ConstraintError, NestlingError
from nestling.frontend.schema import row_value

NAME = re.compile(r"(?:(\d+)-)?(.+)\.jsonl")
START = -1  # the number of the files that have none


@dataclass
class Applied:
    """What a folder of changes came to."""

    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    statements: int = 0
    events: Counter[str] = field(default_factory=Counter)
    touched: Counter[str] = field(default_factory=Counter)  # batches that change a table


@dataclass(frozen=True)
class BatchRow:
    """A row of a batch: how often it comes, and the line that says so. A key alone stands for its row."""

    line: FileLine
    times: int
    value: Any = None
    key: Any = None


def apply_all(database: Database, folder: Path) -> Applied:
    """Apply the changes in ``folder`` in order, with a progress bar."""
    found = batches(database, folder)
    done = Applied()
    size = sum(file.stat().st_size for files in found.values() for file in files.values())
    with progress("applying changes", size) as advance:
        for files in found.values():
            done.rows += _apply(database, files, advance)
            refresh = database._last_refresh
            done.batches += 1
            done.seconds += refresh.seconds
            done.statements += refresh.statements
            done.events.update(refresh.tables)
            done.touched.update(refresh.tables.keys())
    return done


def batches(database: Database, folder: Path) -> dict[int, dict[str, Path]]:
    """The files of each batch by table, in the order they are applied."""
    found: dict[int, dict[str, Path]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        match = NAME.fullmatch(file.name)
        number, table = match.groups() if match else (None, file.stem)
        if table not in database.tables:
            known = ", ".join(database.tables) or "none"
            raise ChangeError(
                f"{file.name} is for a table {table!r}, which is not declared",
                hint=f"name it <table>.jsonl or <number>-<table>.jsonl; tables: {known}",
            )
        files = found.setdefault(START if number is None else int(number), {})
        if table in files:
            raise ChangeError(f"{files[table].name} and {file.name} have the same number and table")
        files[table] = file
    if not found:
        raise NestlingError(f"{folder} holds no .jsonl file", hint="name them after the tables")
    # As they were declared: what a row refers to is there before it.
    return {
        number: {table: files[table] for table in database.tables if table in files}
        for number, files in sorted(found.items())
    }


def _apply(database: Database, files: Mapping[str, Path], advance: Advance) -> int:
    """Apply one batch; the number of its lines."""
    found = {
        table: list(_rows(database._state.tables[table], file, advance)) for table, file in files.items()
    }
    batch = {table: _consolidated(rows) for table, rows in found.items()}
    try:
        with database.transaction() as change:
            for table, rows in batch.items():
                for row in rows:
                    if row.key is not None:
                        _apply_row(change, table, row)
            # At once: rows of one batch may refer to each other.
            change.apply(
                {
                    table: {row.value: row.times for row in rows if row.key is None}
                    for table, rows in batch.items()
                }
            )
    except ConstraintError as error:
        # It is the batch as a whole that breaks a constraint, not a line of it.
        error.add_note(f"in {', '.join(file.name for file in files.values())}")
        raise
    except NestlingError as error:
        raise _blamed(database, batch) or error from error.__cause__
    return sum(map(len, found.values()))


class _SoFarError(Exception):
    """Ends a transaction that is not to be committed."""


def _blamed(database: Database, batch: Mapping[str, list[BatchRow]]) -> NestlingError | None:
    """The line of a refused batch that is refused by itself."""
    try:
        with database.transaction() as change:
            for table, rows in batch.items():
                for row in rows:
                    _apply_row(change, table, row)
            raise _SoFarError
    except NestlingError as error:
        return error if error.at is not None else None
    except _SoFarError:
        return None


def _apply_row(change: Transaction, table: str, row: BatchRow) -> None:
    try:
        if row.key is not None:
            change.delete(table, key=row.key)
        else:
            change.apply({table: {row.value: row.times}})
    except NestlingError as error:
        raise error.located(row.line.span()) from error.__cause__


def _rows(table: TableDef, file: Path, advance: Advance) -> Iterator[BatchRow]:
    for line, found in read_lines(file):
        try:
            yield _row(table, line, found)
        except NestlingError as error:
            raise error.located(line.span()) from error.__cause__
        advance(len(line.text.encode()) + 1)


def _row(table: TableDef, line: FileLine, found: Any) -> BatchRow:
    times = 1
    if isinstance(found, Mapping):
        kind = found.get("_change_type", "insert")
        if kind not in SIGNS:
            raise ChangeError(f"_change_type {kind!r} is unknown", hint=f"one of {', '.join(SIGNS)}")
        times = SIGNS[kind]
        if "_change_type" in found:
            check_feed(table.name, table.record.names)
        others = {*FEED_COLUMNS} - {*table.record.names}
        found = {name: value for name, value in found.items() if name not in others}
        if times < 0 and table.key and set(found) == set(table.key) != set(table.record.names):
            types = dict(table.record.fields)
            key = tuple(from_json(types[name], found[name]) for name in table.key)
            return BatchRow(line, times, key=key if len(key) > 1 else key[0])
    return BatchRow(line, times, row_value(table.record, from_json(table.record, found)))


def _consolidated(rows: list[BatchRow]) -> list[BatchRow]:
    """Keys to delete, rows to delete, rows to insert: each value once, with its sum and its first line."""
    totals: dict[Any, BatchRow] = {}
    for row in rows:
        if row.key is None:
            before = totals.get(row.value)
            totals[row.value] = BatchRow(before.line, before.times + row.times, row.value) if before else row
    values = sorted((row for row in totals.values() if row.times), key=lambda row: row.times > 0)
    return [*(row for row in rows if row.key is not None), *values]
