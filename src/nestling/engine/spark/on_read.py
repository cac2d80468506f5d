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

from nestling.engine.spark.columns import Layout
from nestling.engine.spark.filling import fill
from nestling.engine.spark.reading import Reading
from nestling.engine.spark.state import LakeState, SourceRows
from nestling.program.statements import Program


class OnReadProgram(Reading):
    """A program whose triggers fill its maps, over one state of the tables."""

    def __init__(self, program: Program, layouts: dict[str, Layout], tables: LakeState) -> None:
        self.program, self.layouts = program, layouts
        self.session, self.driver = tables.session, tables.driver
        stored = {name: SourceRows() for name in program.maps}
        stored |= {name: tables.stored[name] for name in program.tables}
        self.now = replace(tables.next(), layouts=layouts, stored=stored)

    def fill(self) -> None:
        """Make a query of every map, or fill it here if that is little work."""
        fill(self.program, self.now, _none)


def _none(name: str, text: str, rows: int) -> None:
    raise AssertionError(f"{name} is kept nowhere")


@contextmanager
def computed(program: Program, layouts: dict[str, Layout], tables: LakeState) -> Iterator[OnReadProgram]:
    """A reader of the views of ``program`` over ``tables``; its DataFrames are valid as long as these are."""
    reading = OnReadProgram(program, layouts, tables)
    try:
        reading.fill()
        yield reading
    finally:
        reading.now.drop_views(tables)
