"""Answers by the meaning of plans: for engines that need not be fast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from nestling.calculus.types import Type
from nestling.engine.described import Described, Places, Plain
from nestling.engine.nesting import leaves, nested, shape
from nestling.engine.protocol import Row
from nestling.program.meaning import Cells
from nestling.program.solve import added
from nestling.program.statements import Plan, Program
from nestling.program.traverse import exact_columns
from nestling.values.bag import ZBag
from nestling.values.exact import exactly
from nestling.values.label import Label


class Answers(Protocol):
    """What a program answers, given the entries of its tables and maps."""

    program: Program
    name: str = "an engine by meaning"
    is_remote: bool = False
    has_snapshots: bool = False
    is_torn: bool = False

    def source(self, name: str) -> Cells:
        """The entries of a table or map; of a table, each row with its count."""
        ...

    # -- rows, by going through all

    def table(self, name: str) -> dict[Row, int]:
        return {row: times for row, (times, *_) in self.source(name).items()}

    def having(self, table: str, places: Places, part: Row) -> dict[Row, int]:
        rows = self.table(table).items()
        return {row: times for row, times in rows if tuple([row[i] for i in places]) == part}

    def by_key(self, table: str, key: Row) -> Row | None:
        return next(iter(self.having(table, self.program.tables[table].key, key)), None)

    def count(self, table: str, row: Row) -> int:
        return self.table(table).get(row, 0)

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        return {row[1:]: times for row, times in self.having(dictionary, (0,), (label,)).items()}

    def prefetch(self, table: str, places: Places, parts: Iterable[Row]) -> None:
        return  # nothing is far away

    def flush(self) -> None:
        return  # nothing waits

    def entries(self, name: str) -> int:
        return len(self.source(name))

    def view_bytes(self, view: str) -> int:
        return 0  # nobody counts them

    def described(self) -> Described:
        return Plain(self)

    def fits(self, rows: int) -> bool:
        return True  # they are here

    def differing(self, maps: Iterable[str]) -> list[str] | None:
        return None

    # -- answers

    def read(self, view: str) -> ZBag:
        return self._nested(view, self.flat_rows(view), self.program.views[view].element)

    def find(self, view: str, first: Any) -> ZBag:
        plan = self.program.views[view]
        if plan.lookup is None:
            raise LookupError(f"{view} has no first column to look up")
        return self._nested(view, self._rows(plan.lookup, (first,)), plan.element)

    def flat_rows(self, view: str) -> list[tuple[Row, int]]:
        return self._rows(self.program.views[view].rows, ())

    def texts(self, view: str) -> list[Any]:
        return [row[0] for row, _ in self.flat_rows(view)]

    def nested(self, view: str, columns: Row, type_: Type) -> Any:
        def bag(label: Label, inner: Type) -> ZBag:
            return self._nested(view, self.rows_under(view, label), inner)

        return nested(iter(columns), type_, bag)

    def rows_under(self, view: str, label: Label) -> list[tuple[Row, int]]:
        if isinstance(label.site, int):
            plan = self.program.views[view].definitions[shape(label)]
            return self._rows(plan, tuple(leaves(label.environment)))
        return list(self.under(label.site, label).items())

    def total(self, watch: str, flat: Row) -> int:
        exact = exact_columns(self.program.maps[watch].query)
        rows = self._rows(self.program.totals[watch], tuple([flat[i] for i in exact]))
        return sum(times for row, times in rows if row == flat)

    def _nested(self, view: str, rows: Iterable[tuple[Row, int]], element: Type) -> ZBag:
        return ZBag((self.nested(view, row, element), times) for row, times in rows)

    @exactly
    def _rows(self, plan: Plan, given: Row) -> list[tuple[Row, int]]:
        env = {param.name: value for param, value in zip(plan.params, given, strict=True)}
        found = (pair for statement in plan.statements for pair in added(statement, self.source, env))
        return [(key[plan.skipped :], amounts[0]) for key, amounts in found]
