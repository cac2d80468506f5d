"""A third engine, for the seam's sake: rows in an SQLite database, everything else computed when somebody asks.

It has no idea of triggers, indexes or generated code. What was logged of a watched view is what its query says now,
less what it said when somebody last looked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from nestling.engine.answers import Answers
from nestling.engine.protocol import Batch, Engines, Row, RowEngine
from nestling.program.meaning import Cells, meaning
from nestling.program.statements import Program
from nestling.storage.codec import decode, encode


class ToyEngine(Answers):
    """Runs ``program`` over rows in SQLite."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._sql = sqlite3.connect(":memory:", check_same_thread=False)
        self._sql.execute("CREATE TABLE rows (name, row, times, PRIMARY KEY (name, row))")
        #: What queries meant when it was last asked, until a row changes; and of watches, when they were drained.
        self._known: dict[str, Cells] = {}
        self._drained: dict[str, Cells] = {}
        self.triggers: Mapping[str, Callable[[Row, int], None]] = {
            name: partial(self.apply, name) for name in program.tables
        }
        self.batches: Mapping[str, Callable[[Iterable[tuple[Row, int]]], None]] = {
            name: partial(self._add, name) for name in program.tables
        }
        self.updates: Mapping[str, Callable[[Row, Row], None]] = {
            name: partial(self._replace_one, name) for name in program.updates
        }
        self.update_batches: Mapping[str, Callable[[Iterable[tuple[Row, Row]]], None]] = {
            name: partial(self._replace, name) for name in program.updates
        }
        self.drain_all()

    # -- rows

    def table(self, name: str) -> dict[Row, int]:
        found = self._sql.execute("SELECT row, times FROM rows WHERE name = ?", [name])
        return {decode(row): times for row, times in found}

    def counts(self, table: str) -> Mapping[Row, int]:
        return self.table(table)

    def load_table(self, name: str, rows: Mapping[Row, int]) -> None:
        self._sql.execute("DELETE FROM rows WHERE name = ?", [name])
        self._add(name, rows.items())

    def _add(self, name: str, rows: Iterable[tuple[Row, int]]) -> None:
        self._sql.executemany(
            "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET times = times + excluded.times",
            [(name, encode(row), times) for row, times in rows],
        )
        self._sql.execute("DELETE FROM rows WHERE times = 0")
        self._known = {}

    def _replace(self, name: str, rows: Iterable[tuple[Row, Row]]) -> None:
        self._add(name, [pair for old, new in rows for pair in ((old, -1), (new, 1))])

    def _replace_one(self, name: str, old: Row, new: Row) -> None:
        self._replace(name, [(old, new)])

    def apply(self, table: str, row: Row, times: int) -> None:
        self._add(table, [(row, times)])

    def apply_batch(self, changes: Batch) -> None:
        for table, rows in changes.items():
            self._add(table, rows)

    # -- maps

    def cells(self, name: str) -> Cells:
        if name not in self._known:
            tables = {table: self.table(table) for table in self.program.tables}
            self._known[name] = meaning(self.program.maps[name].query, tables)
        return self._known[name]

    def source(self, name: str) -> Cells:
        if name in self.program.maps:
            return self.cells(name)
        return {row: (times,) for row, times in self.table(name).items()}

    def load_map(self, name: str, cells: Mapping[Row, tuple[Any, ...]]) -> None:
        """It follows from the tables."""

    def recompute(self) -> None:
        """Nothing is stored."""

    def check(self) -> None:
        for name in self.program.maps:
            self.cells(name)

    # -- logs

    def logged(self, watch: str) -> dict[Row, int]:
        now, then = self.cells(watch), self._drained.get(watch, {})
        found = {key: now.get(key, (0,))[0] - then.get(key, (0,))[0] for key in {**then, **now}}
        return {key: times for key, times in found.items() if times}

    def has_logged(self, watch: str) -> bool:
        return bool(self.logged(watch))

    def drain(self, watch: str) -> dict[Row, int]:
        logged = self.logged(watch)
        self._drained[watch] = self.cells(watch)
        return logged

    def drain_all(self) -> None:
        for name, decl in self.program.maps.items():
            if decl.role == "watch":
                self._drained[name] = self.cells(name)

    # -- sizes

    def rows(self, table: str) -> Iterable[Row]:
        return self.table(table)


def computed(program: Program, tables: Mapping[str, Mapping[Row, int]]) -> ToyEngine:
    """``program`` over these rows, with nothing logged."""
    engine = ToyEngine(program)
    for name, rows in tables.items():
        engine.load_table(name, rows)
    engine.drain_all()
    return engine


def filled(program: Program, old: RowEngine) -> ToyEngine:
    common = program.tables.keys() & old.program.tables.keys()
    return computed(program, {name: old.table(name) for name in common})


def fill_maps(engine: RowEngine, names: Iterable[str]) -> None:
    """They follow from the tables."""


TOY = Engines(ToyEngine, computed, filled, fill_maps)
