"""What was logged, found again when the maps that held it are lost.

Law: for every watch, what its query gains from the tables as they were when it was last drained to the tables as they
are now is what was logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nestling.engine.protocol import Row
from nestling.program.meaning import Cells, meaning
from nestling.program.statements import Program

Tables = Mapping[str, Mapping[Row, int]]


class LogHistory:
    """The changes of tables since the watches of a program were drained; nothing where there are none."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._since = {name: 0 for name, decl in program.maps.items() if decl.role == "watch"}
        self._events: list[tuple[str, Row, int]] = []
        self.is_kept = bool(self._since)

    def add(self, table: str, pairs: Iterable[tuple[Row, int]]) -> None:
        if self.is_kept:
            self._events += [(table, row, times) for row, times in pairs]

    def replace(self, table: str, pairs: Iterable[tuple[Row, Row]]) -> None:
        self.add(table, [pair for old, new in pairs for pair in ((old, -1), (new, 1))])

    def drained(self, watch: str) -> None:
        self._since[watch] = len(self._events)

    def clear(self) -> None:
        """No log has anything: whatever came since, every query gained nothing."""
        self._events.clear()
        self._since = dict.fromkeys(self._since, 0)

    def logged(self, tables: Tables) -> dict[str, Cells]:
        """By watch, what its query gained, given the tables as they are."""
        return {
            watch: _gained(meaning(decl.query, tables), meaning(decl.query, self._before(tables, since)))
            for watch, since in self._since.items()
            for decl in [self._program.maps[watch]]
        }

    def _before(self, tables: Tables, since: int) -> Tables:
        before = {name: dict(rows) for name, rows in tables.items()}
        for table, row, times in self._events[since:]:
            before[table][row] = before[table].get(row, 0) - times
        return {name: {row: n for row, n in rows.items() if n} for name, rows in before.items()}


def _gained(now: Cells, then: Cells) -> Cells:
    found: dict[Any, Any] = {}
    for key in {**then, **now}:
        amounts = now.get(key, (0,)), then.get(key, (0,))
        if amounts[0] != amounts[1]:
            found[key] = tuple(a - b for a, b in zip(*amounts, strict=True))
    return found
