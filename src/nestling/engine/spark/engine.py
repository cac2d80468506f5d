"""A running program on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nestling.calculus.types import Type
from nestling.calculus.typing import term_type
from nestling.engine.nesting import leaves, nested, shape
from nestling.engine.protocol import Batch, Row, consolidated, inner_first
from nestling.engine.spark.batch import run_batch
from nestling.engine.spark.columns import Layout, joined_type, layouts
from nestling.engine.spark.relations import joins_text, summed, sums
from nestling.engine.spark.session import own_session, python_errors
from nestling.engine.spark.state import Moment, Stored, register
from nestling.engine.spark.statements import Given, Writer
from nestling.engine.spark.types import arrow_table, values
from nestling.program.meaning import meaning
from nestling.program.statements import Plan, Program
from nestling.values.bag import ZBag
from nestling.values.label import Label


class SparkEngine:
    """Runs a program for batches over relations of its own.

    Law (17): after the same batches it has the tables, maps and answers of the reference engine.
    """

    def __init__(self, program: Program, spark: Any) -> None:
        self.program = program
        self.session = own_session(spark)
        self.layouts = layouts(program)
        self.now = Moment(self.session, self.layouts, {name: Stored() for name in self.layouts})
        self._load_constants()

    def _load_constants(self) -> None:
        """Maps start at their meaning on empty tables: what depends on no row is there from the start."""
        empty: dict[str, dict[Row, int]] = {name: {} for name in self.program.tables}
        for name, decl in self.program.maps.items():
            cells = {} if decl.role == "watch" else meaning(decl.query, empty)
            self.now.add(name, self._table(name, ((*key, *cell) for key, cell in cells.items())))

    def _table(self, name: str, rows: Iterable[Row]) -> Any:
        return arrow_table(self.layouts[name].columns, rows)

    # -- changes

    def apply_batch(self, changes: Batch) -> None:
        """Add rows to tables, and bring every map up to date: all of it, or nothing."""
        tables = {
            name: self._table(name, ((*row, n) for row, n in consolidated(rows).items()))
            for name, rows in changes.items()
        }
        self.apply(tables)

    def apply(self, changes: Mapping[str, Any]) -> None:
        """The same, of Arrow tables that have each row once."""
        moment = self.now.next()
        for name in inner_first(self.program):
            if name in changes and changes[name].num_rows:
                run_batch(moment, self.program.triggers[name], changes[name])
        self.now = moment

    # -- reading

    def arrow(self, text: str) -> Any:
        """The rows of a query, here."""
        with python_errors():
            return self.session.sql(text).toArrow()

    def _entries(self, name: str) -> Iterable[Row]:
        layout = self.layouts[name]
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

    def find(self, view: str, first: Any) -> ZBag:
        plan = self.program.views[view]
        if plan.lookup is None:
            raise LookupError(f"{view} has no first column to look up")
        return ZBag(self._nested(view, self.rows(plan.lookup, [(first,)]), plan.element))

    def rows(self, plan: Plan, given: Sequence[Row] | None = None) -> list[tuple[Row, int]]:
        """The flat rows of a plan, for the parameters ``given``; with the parameters in front if it skips them."""
        if not plan.statements:
            return []
        start = None
        if plan.params and given is not None:
            columns = [(f"k{i}", param.type) for i, param in enumerate(plan.params)]
            start = Given(register(self.session, arrow_table(columns, given)).view, plan.params)
        layout = plan_layout(plan)
        text = plan_sql(plan, layout, self.now, start)
        if text is None:
            return []
        found = values([type_ for _, type_ in layout.columns], self.arrow(text))
        if start is not None:
            self.session.catalog.dropTempView(start.relation)
        return [(row[:-1], row[-1]) for row in found]

    def _nested(self, view: str, rows: Sequence[tuple[Row, int]], element: Type) -> list[tuple[Any, int]]:
        """Flat rows as nested values: all bags of a level are read at once."""
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
            under = self.under(kind, labels) if isinstance(kind, str) else self._defined(view, kind, labels)
            for element in {wanted[label] for label in labels}:
                rows = [(label, row, n) for label, row, n in under if wanted[label] == element]
                inner = self._nested(view, [(row, n) for _, row, n in rows], element)
                pairs: dict[Label, list[tuple[Any, int]]] = {}
                for (label, _, _), pair in zip(rows, inner, strict=True):
                    pairs.setdefault(label, []).append(pair)
                found |= {label: ZBag(pairs.get(label, ())) for label in labels if wanted[label] == element}
        return found

    def _defined(self, view: str, kind: Any, labels: Sequence[Label]) -> list[tuple[Label, Row, int]]:
        plan = self.program.views[view].definitions[kind]
        by_params = {tuple(leaves(label.environment)): label for label in labels}
        width = plan.skipped
        if not plan.params:
            return [(label, row, n) for label in labels for row, n in self.rows(plan)]
        found = self.rows(plan, list(by_params))
        return [(by_params[row[:width]], row[width:], n) for row, n in found]

    def under(self, dictionary: str, labels: Sequence[Label]) -> list[tuple[Label, Row, int]]:
        """The rows of inner bags of a table, each behind its label."""
        return [
            (row[0], row[1:-1], row[-1]) for row in self.matching(dictionary, (0,), [(v,) for v in labels])
        ]

    def matching(self, name: str, positions: Sequence[int], keys: Sequence[Row]) -> list[Row]:
        """The entries of a source that have one of ``keys`` at ``positions``, measures last."""
        layout = self.layouts[name]
        columns = [(f"g{i}", layout.keys[p]) for i, p in enumerate(positions)]
        part = register(self.session, arrow_table(columns, keys))
        on = " AND ".join(joins_text(f"a.k{p}", f"d.g{i}", layout.keys[p]) for i, p in enumerate(positions))
        rows = f"SELECT /*+ BROADCAST(d) */ a.* FROM ({self.now.raw(name)}) a LEFT SEMI JOIN {part.view} d ON {on}"
        found = values([type_ for _, type_ in layout.columns], self.arrow(summed(rows, layout)))
        self.session.catalog.dropTempView(part.view)
        return found


def _note(wanted: dict[Label, Type]) -> Callable[[Label, Type], ZBag]:
    def note(label: Label, type_: Type) -> ZBag:
        wanted[label] = type_
        return ZBag()

    return note


def plan_layout(plan: Plan) -> Layout:
    """The columns of what a plan finds."""
    keys = [statement.keys for statement in plan.statements]
    return Layout(
        tuple(joined_type([term_type(term) for term in column]) for column in zip(*keys, strict=True))
    )


def plan_sql(plan: Plan, layout: Layout, moment: Moment, given: Given | None) -> str | None:
    """The rows of a plan; ``None`` where there are none."""
    writer = Writer(moment, broadcast=given is not None)
    some = [s for s in plan.statements if not writer.finds_nothing(s)]
    if not some:
        return None
    texts = [writer.statement(statement, layout, given) for statement in some]
    return writer.text(f"SELECT * FROM ({sums(' UNION ALL '.join(texts), layout)}) WHERE m0 <> 0")
