"""Rows that arrive with new tables, before anything is computed from them.

Many are written to files a part at a time, so that no more than a part is here; the files are named by the commit that
has the tables, or go with the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.durable import EngineLake
from nestling.engine.spark.merging import group_rows, in_order
from nestling.engine.spark.state import SourceRows
from nestling.engine.spark.types import arrow_table
from nestling.storage.lake import DataFile, RelationFiles

#: Puts the rows of new tables into a lake.
Arriving = Callable[[EngineLake], Mapping[str, SourceRows]]


def nothing_arrives(durable: EngineLake) -> Mapping[str, SourceRows]:
    """New tables are empty."""
    return {}


def arriving(tables: Mapping[str, Iterable[Row]]) -> Arriving:
    """The rows of new tables, each of which comes once."""
    return lambda durable: {name: _arrived(durable, name, rows) for name, rows in tables.items()}


def _arrived(durable: EngineLake, name: str, rows: Iterable[Row]) -> SourceRows:
    layout, left = durable.layouts[name], iter(rows)
    files: list[DataFile] = []
    while part := [(*row, 1) for row in islice(left, limits.MAX_RECENT_ROWS)]:
        table = arrow_table(layout.columns, part)
        if not files and len(part) < limits.MAX_RECENT_ROWS:
            return SourceRows((), table)
        sorted_rows = in_order(table, layout)
        files.append(durable.lake.write_changes(durable.keys[name], sorted_rows, group_rows(table)))
    durable.files |= {file.name: file for file in files}
    return SourceRows(durable.parts(name, RelationFiles(tuple(files))))
