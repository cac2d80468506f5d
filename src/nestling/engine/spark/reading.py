"""Reading tables and views on Spark: as Python values on the driver, and as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nestling.calculus.types import Type
from nestling.engine.nesting import leaves, nested, shape
from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.frames import counted_frame, frame, table_frame
from nestling.engine.spark.jobs import WORK
from nestling.engine.spark.plans import plan_layout, plan_sql
from nestling.engine.spark.relations import joins_text, nothing, pruned, summed
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import Doer, LakeState, TempView, near, register
from nestling.engine.spark.statements import PlanStart
from nestling.engine.spark.types import arrow_table, values
from nestling.program.statements import Plan, Program
from nestling.values.bag import ZBag
from nestling.values.label import Label


class Reading:
    """Executes the plans of a program over one state of its relations."""

    program: Program
    session: Any
    layouts: dict[str, Layout]
    driver: Doer
    now: LakeState

    def arrow(self, text: str) -> Any:
        """The rows of a query, here."""
        with python_errors():
            WORK.queries += 1
            return self.session.sql(text).toArrow()

    def here(self, rows: Any) -> Any:
        """The rows of a change as an Arrow table on the driver."""
        return self.arrow(f"SELECT * FROM {rows.view}") if isinstance(rows, TempView) else rows

    def _entries(self, name: str) -> Iterable[Row]:
        layout = self.layouts[name]
        here = self.driver.matching(self.now, name, (), {()})
        if here is not None:
            return here
        table = self.arrow(summed(self.now.raw(name), layout))
        return values([type_ for _, type_ in layout.columns], table)

    def table(self, name: str) -> dict[Row, int]:
        return {row[:-1]: row[-1] for row in self._entries(name)}

    def cells(self, name: str) -> dict[Row, tuple[Any, ...]]:
        width = len(self.layouts[name].keys)
        return {row[:width]: row[width:] for row in self._entries(name)}

    def read(self, view: str) -> ZBag:
        plan = self.program.views[view]
        return ZBag(self._nested(view, self.rows(plan.rows), plan.element))

    def frame(self, view: str) -> Any:
        """A view as a DataFrame, inner bags as arrays."""
        return frame(self.program, self.now, view)

    def counted(self, view: str) -> Any:
        """A view as a DataFrame of distinct rows ``v`` with their multiplicities ``n``."""
        return counted_frame(self.program, self.now, view)

    def total(self, view: str) -> int:
        """How many rows a view has."""
        found = self.arrow(f"SELECT coalesce(SUM(m0), 0) AS n FROM ({self._flat_sql(view)})").to_pylist()
        return int(found[0]["n"])

    def some(self, view: str, most: int) -> list[dict[str, Any]]:
        """At most so many rows of a view, on the driver."""
        with python_errors():
            found: list[dict[str, Any]] = self.frame(view).limit(most).toArrow().to_pylist()
        return found

    def table_frame(self, name: str, element: Type) -> Any:
        """A table as a DataFrame, inner bags as arrays."""
        return table_frame(self.program, self.now, name, element)

    def flat_frame(self, view: str) -> Any:
        """The flat rows of a view as a DataFrame: ``k0, k1, …``, inner bags as labels, and ``m0``, how often."""
        return self.session.sql(self._flat_sql(view))

    def _flat_sql(self, view: str) -> str:
        plan = self.program.views[view].rows
        layout = plan_layout(plan)
        return plan_sql(plan, layout, self.now, None) or nothing(layout)

    def nested_table(self, name: str, element: Type) -> ZBag:
        """The rows of a table, nested."""
        return ZBag(self._nested("", list(self.table(name).items()), element))

    def find(self, view: str, first: Any) -> ZBag:
        plan = self.program.views[view]
        if plan.lookup is None:
            raise LookupError(f"{view} has no first column to look up")
        return ZBag(self._nested(view, self.rows(plan.lookup, [(first,)]), plan.element))

    def rows(self, plan: Plan, given: Sequence[Row] | None = None) -> list[tuple[Row, int]]:
        """The flat rows of a plan, for the parameters ``given``; with the parameters in front if it skips them."""
        if not plan.statements:
            return []
        layout = plan_layout(plan)
        here = self.driver.answer(plan, layout, self.now, given)
        if here is not None:
            return [(row[:-1], row[-1]) for row in here]
        start = None
        if plan.params and given is not None:
            columns = [(f"k{i}", param.type) for i, param in enumerate(plan.params)]
            start = PlanStart(register(self.session, arrow_table(columns, given)).view, plan.params)
        text = plan_sql(plan, layout, self.now, start)
        if text is None:
            return []
        found = values([type_ for _, type_ in layout.columns], self.arrow(text))
        if start is not None:
            self.session.catalog.dropTempView(start.relation)
        return [(row[:-1], row[-1]) for row in found]

    def _nested(self, view: str, rows: Sequence[tuple[Row, int]], element: Type) -> list[tuple[Any, int]]:
        """Flat rows as nested values; one query reads all bags of a level."""
        wanted: dict[Label, Type] = {}
        for row, _ in rows:
            nested(iter(row), element, _note(wanted))
        bags = self._bags(view, wanted)
        return [(nested(iter(row), element, lambda label, _: bags[label]), n) for row, n in rows]

    def _bags(self, view: str, wanted: Mapping[Label, Type]) -> dict[Label, ZBag]:
        found: dict[Label, ZBag] = {}
        groups: dict[Any, list[Label]] = {}
        for label in wanted:
            kind = shape(label) if isinstance(label.site, int) else label.site
            groups.setdefault(kind, []).append(label)
        for kind, labels in groups.items():
            under = self.elements(view, kind, labels)
            for element in {wanted[label] for label in labels}:
                rows = [(label, row, n) for label, row, n in under if wanted[label] == element]
                inner = self._nested(view, [(row, n) for _, row, n in rows], element)
                pairs: dict[Label, list[tuple[Any, int]]] = {}
                for (label, _, _), pair in zip(rows, inner, strict=True):
                    pairs.setdefault(label, []).append(pair)
                found |= {label: ZBag(pairs.get(label, ())) for label in labels if wanted[label] == element}
        return found

    def elements(self, view: str, kind: Any, labels: Sequence[Label]) -> list[tuple[Label, Row, int]]:
        """The flat elements of inner bags: of a table's, by its dictionary, or of a view's, by the labels' shape."""
        return self.rows_of_bags(kind, labels) if isinstance(kind, str) else self._defined(view, kind, labels)

    def _defined(self, view: str, kind: Any, labels: Sequence[Label]) -> list[tuple[Label, Row, int]]:
        plan = self.program.views[view].definitions[kind]
        by_params = {tuple(leaves(label.environment)): label for label in labels}
        width = plan.skipped
        if not plan.params:
            return [(label, row, n) for label in labels for row, n in self.rows(plan)]
        found = self.rows(plan, list(by_params))
        return [(by_params[row[:width]], row[width:], n) for row, n in found]

    def rows_of_bags(self, dictionary: str, labels: Sequence[Label]) -> list[tuple[Label, Row, int]]:
        """The rows of inner bags of a table, each behind its label."""
        return [
            (row[0], row[1:-1], row[-1]) for row in self.matching(dictionary, (0,), [(v,) for v in labels])
        ]

    def matching(self, name: str, positions: Sequence[int], keys: Sequence[Row]) -> list[Row]:
        """The entries of a source that have one of ``keys`` at ``positions``, measures last."""
        here = self.driver.matching(self.now, name, positions, set(keys))
        if here is not None:
            return here
        layout = self.layouts[name]
        columns = [(f"g{i}", layout.keys[p]) for i, p in enumerate(positions)]
        table = arrow_table(columns, keys)
        part, stored = register(self.session, table), self.now.raw(name)
        first = (layout.order or (0,))[0]
        if first in positions:
            at = list(positions).index(first)
            stored = pruned(
                stored, f"k{first}", near(table, Layout(tuple(type_ for _, type_ in columns)), at)
            )
        on = " AND ".join(joins_text(f"a.k{p}", f"d.g{i}", layout.keys[p]) for i, p in enumerate(positions))
        rows = f"SELECT /*+ BROADCAST(d) */ a.* FROM ({stored}) a LEFT SEMI JOIN {part.view} d ON {on}"
        found = values([type_ for _, type_ in layout.columns], self.arrow(summed(rows, layout)))
        self.session.catalog.dropTempView(part.view)
        return found


def _note(wanted: dict[Label, Type]) -> Callable[[Label, Type], ZBag]:
    def note(label: Label, type_: Type) -> ZBag:
        wanted[label] = type_
        return ZBag()

    return note
