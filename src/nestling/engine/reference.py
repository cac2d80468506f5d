"""The reference engine: stores tables, and recomputes everything else on every read.

Law (17): every other engine answers what this one does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.calculus.types import Type
from nestling.engine.nesting import leaves, nested, shape
from nestling.engine.protocol import Batch, Row, consolidated
from nestling.program.meaning import Cells, meaning
from nestling.program.solve import added
from nestling.program.statements import Plan, Program
from nestling.values.bag import ZBag
from nestling.values.exact import exactly
from nestling.values.label import Label


class ReferenceEngine:
    """Runs ``program`` by the meaning of its queries and plans."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tables: dict[str, dict[Row, int]] = {name: {} for name in program.tables}

    def apply_batch(self, changes: Batch) -> None:
        for name, rows in changes.items():
            self.tables[name] = consolidated((*self.tables[name].items(), *rows))

    def table(self, name: str) -> dict[Row, int]:
        return dict(self.tables[name])

    def cells(self, name: str) -> Cells:
        return meaning(self.program.maps[name].query, self.tables)

    def read(self, view: str) -> ZBag:
        plan = self.program.views[view]
        return self._nested(view, self._rows(plan.rows, ()), plan.element)

    def find(self, view: str, first: Any) -> ZBag:
        plan = self.program.views[view]
        if plan.lookup is None:
            raise LookupError(f"{view} has no first column to look up")
        return self._nested(view, self._rows(plan.lookup, (first,)), plan.element)

    def _nested(self, view: str, rows: Iterable[tuple[Row, int]], element: Type) -> ZBag:
        def bag(label: Label, type_: Type) -> ZBag:
            return self._nested(view, self._under(view, label), type_)

        return ZBag((nested(iter(row), element, bag), times) for row, times in rows)

    def _under(self, view: str, label: Label) -> list[tuple[Row, int]]:
        if isinstance(label.site, int):
            plan = self.program.views[view].definitions[shape(label)]
            return self._rows(plan, tuple(leaves(label.environment)))
        rows = self.tables[label.site].items()
        return [(row[1:], times) for row, times in rows if row[0] == label]

    @exactly
    def _rows(self, plan: Plan, given: Row) -> list[tuple[Row, int]]:
        env = {param.name: value for param, value in zip(plan.params, given, strict=True)}
        found = (pair for statement in plan.statements for pair in added(statement, self._source, env))
        return [(key[plan.skipped :], amounts[0]) for key, amounts in found]

    def _source(self, name: str) -> Cells:
        if name in self.tables:
            return {row: (times,) for row, times in self.tables[name].items()}
        return self.cells(name)
