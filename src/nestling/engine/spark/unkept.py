"""Views of which nothing is kept, computed from the tables by the query that reads them.

The maps of such a view are filled by statements of their own; here each is a query over tables and the maps before
it, and none of its rows is stored or brought here. So a view is one plan over the files of its tables, which Spark
runs when somebody asks. Where the tables are little the driver fills the maps by itself.

Law (9): it answers what it would if its maps were stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.run import ROWS
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.relations import difference
from nestling.engine.spark.state import UNCOUNTED, Moment, Stored, register_frame
from nestling.engine.spark.statements import Writer
from nestling.program.statements import Program, Statement
from nestling.program.steps import reads, trigger_statements


class Unkept(Reading):
    """A program whose triggers fill its maps, over the tables of a moment."""

    def __init__(self, program: Program, layouts: dict[str, Layout], tables: Moment) -> None:
        self.program, self.layouts = program, layouts
        self.session, self.driver = tables.session, tables.driver
        stored = {name: Stored() for name in program.maps}
        stored |= {name: tables.stored[name] for name in program.tables}
        self.now = replace(tables.next(), layouts=layouts, stored=stored)

    def fill(self) -> None:
        for name, statements in fillings(self.program).items():
            self._fill(name, statements)

    def _fill(self, name: str, statements: list[Statement]) -> None:
        """What is little is filled by the driver; else a map is a query, and how many rows it has is not known."""
        here = self.driver.added(statements, self.now) if self._is_little(statements) else None
        if here is not None:
            for table in here.values():
                self.now.add(name, table)
            return
        writer = Writer(self.now, broadcast=False)
        some = [s for s in statements if not writer.finds_nothing(s)]
        if some:
            layout = self.layouts[name]
            texts = [writer.statement(statement, layout) for statement in some]
            rows = writer.text(difference(" UNION ALL ".join(texts), layout))
            self.now.stored[name] = Stored((register_frame(self.session.sql(rows), UNCOUNTED),))

    def _is_little(self, statements: list[Statement]) -> bool:
        """Whether all that is gone through is no more than a small change."""
        sources = {source for statement in statements for source in reads(statement)}
        return sum(self.now.stored[source].rows for source in sources) <= ROWS


@contextmanager
def computed(program: Program, layouts: dict[str, Layout], tables: Moment) -> Iterator[Unkept]:
    """What reads the views of ``program`` as the ``tables`` are; a DataFrame that it gives lasts as long as they do."""
    reading = Unkept(program, layouts, tables)
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
