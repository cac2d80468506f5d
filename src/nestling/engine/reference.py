"""The reference engine: stores tables, and recomputes everything else on every read.

Law (17): every other engine answers what this one does.
"""

from __future__ import annotations

from nestling.engine.answers import Answers
from nestling.engine.protocol import Batch, Row, consolidated
from nestling.program.meaning import Cells, meaning
from nestling.program.statements import Program


class ReferenceEngine(Answers):
    """Runs ``program`` by the meaning of its queries and plans."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tables: dict[str, dict[Row, int]] = {name: {} for name in program.tables}

    def apply_batch(self, changes: Batch) -> None:
        for name, rows in changes.items():
            self.tables[name] = consolidated((*self.tables[name].items(), *rows))

    def cells(self, name: str) -> Cells:
        return meaning(self.program.maps[name].query, self.tables)

    def source(self, name: str) -> Cells:
        if name in self.tables:
            return {row: (times,) for row, times in self.tables[name].items()}
        return self.cells(name)
