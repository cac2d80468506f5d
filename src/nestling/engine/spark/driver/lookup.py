"""The entries of a source at some keys, read by the driver: from its files by Arrow, and from what was added since.

Law: what is found is what a semi-join of the source with the keys finds, summed by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.state import Stored
from nestling.engine.spark.types import arrow_schema, arrow_table, values

#: Entries by the part of their key that was asked for: all columns, keys first.
Found = dict[Row, list[Row]]


class TooMuchError(Exception):
    """More was found than the driver goes through."""


def cells(stored: Stored, layout: Layout) -> int:
    """How many values are read where a source is."""
    return stored.rows * len(layout.columns)


def entries(
    folder: Path | None,
    stored: Stored,
    layout: Layout,
    positions: Sequence[int],
    wanted: Set[Row],
    most: int,
) -> Found:
    """The entries that have one of ``wanted`` at ``positions``."""
    if not wanted:
        return {}
    asked = arrow_table([(f"k{p}", layout.keys[p]) for p in positions], list(wanted)) if positions else None
    rows: list[Row] = []
    for table in _tables(folder, stored, layout):
        near = table if asked is None else _near(table, asked)
        if len(rows) + near.num_rows > most:
            raise TooMuchError
        rows += values([type_ for _, type_ in layout.columns], near)
    found: Found = {}
    for entry in merged(rows, layout):
        key = tuple([entry[p] for p in positions])
        if key in wanted:
            found.setdefault(key, []).append(entry)
    return found


def _tables(folder: Path | None, stored: Stored, layout: Layout) -> Iterator[Any]:
    """All rows of a source, column by column."""
    import pyarrow.parquet as pq

    schema = arrow_schema(layout.sql)
    for part in stored.files:
        for path in part.paths:
            assert folder is not None
            # Spark notes moments in a form of its own; they are told apart by the schema, not by the file.
            yield pq.ParquetFile(folder / path).read(columns=layout.names).cast(schema)
    if stored.recent_rows:
        yield stored.recent.select(layout.names)


def _near(table: Any, asked: Any) -> Any:
    """The rows that have at every column that is asked for some value that is."""
    import pyarrow.compute as pc

    kept = None
    for name in asked.column_names:
        some = pc.is_in(table.column(name), value_set=asked.column(name).combine_chunks())
        kept = some if kept is None else pc.and_(kept, some)
    return table.filter(kept)


def merged(rows: Sequence[Row], layout: Layout) -> list[Row]:
    """``rows`` summed by key, without what comes to nothing."""
    width = len(layout.keys)
    sums: dict[Row, Row] = {}
    for row in rows:
        key = row[:width]
        before = sums.get(key)
        sums[key] = row[width:] if before is None else tuple(map(sum, zip(before, row[width:], strict=True)))
    return [key + cell for key, cell in sums.items() if (cell[0] if layout.positive else any(cell))]
