"""Views with ``store="none"``: computed from the tables by the query that reads them.

Each map of such a view is a query over tables and earlier maps, written from the statements that would fill it; its
rows are neither stored nor sent to the driver. So the view is one plan over the files of its tables, which Spark
runs when it is read. If the tables are small, the driver fills the maps itself.

Law (9): a reading gives the answer that it would give if the maps were stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.relations import difference
from nestling.engine.spark.state import UNCOUNTED, LakeState, SourceRows, register_frame
from nestling.engine.spark.statements import StatementWriter
from nestling.program.statements import Program, Statement
from nestling.program.steps import reads, trigger_statements


class OnReadProgram(Reading):
    """A program whose triggers fill its maps, over one state of the tables."""

    def __init__(self, program: Program, layouts: dict[str, Layout], tables: LakeState) -> None:
        self.program, self.layouts = program, layouts
        self.session, self.driver = tables.session, tables.driver
        stored = {name: SourceRows() for name in program.maps}
        stored |= {name: tables.stored[name] for name in program.tables}
        self.now = replace(tables.next(), layouts=layouts, stored=stored)

    def fill(self) -> None:
        for name, statements in fillings(self.program).items():
            self._fill(name, statements)

    def _fill(self, name: str, statements: list[Statement]) -> None:
        """Fill small maps on the driver; any other map is a query of unknown size."""
        here = self.driver.added(statements, self.now) if self._is_little(statements) else {}
        if name in here:
            self.now.add(name, here[name])
            return
        writer = StatementWriter(self.now, broadcast=False)
        some = [s for s in statements if not writer.finds_nothing(s)]
        if some:
            layout = self.layouts[name]
            texts = [writer.statement(statement, layout) for statement in some]
            rows = writer.text(difference(" UNION ALL ".join(texts), layout))
            self.now.stored[name] = SourceRows((register_frame(self.session.sql(rows), UNCOUNTED),))

    def _is_little(self, statements: list[Statement]) -> bool:
        """Whether filling scans no more rows than a small change has."""
        sources = {source for statement in statements for source in reads(statement)}
        return sum(self.now.stored[source].rows for source in sources) <= limits.MAX_DRIVER_ROWS


@contextmanager
def computed(program: Program, layouts: dict[str, Layout], tables: LakeState) -> Iterator[OnReadProgram]:
    """A reader of the views of ``program`` over ``tables``; its DataFrames are valid as long as these are."""
    reading = OnReadProgram(program, layouts, tables)
    try:
        reading.fill()
        yield reading
    finally:
        reading.now.drop_views(tables)


def fillings(program: Program) -> dict[str, list[Statement]]:
    """The statements that fill each map, in an order in which each comes after those it reads."""
    found: dict[str, list[Statement]] = {}
    for trigger in program.triggers.values():
        for statement in trigger_statements(trigger):
            found.setdefault(statement.target, []).append(statement)
    return found
