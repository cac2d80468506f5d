"""The entries of a source at some keys, read by the driver: from its files by Arrow, and from what was added since.

Law: what is found is what a semi-join of the source with the keys finds, summed by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.files import Files, Rows
from nestling.engine.spark.state import Stored
from nestling.engine.spark.types import arrow_table, values

#: Entries by the part of their key that was asked for: all columns, keys first.
Found = dict[Row, list[Row]]


class TooMuchError(Exception):
    """More was found than the driver goes through."""


def cells(stored: Stored, layout: Layout) -> int:
    """How many values are read where a source is."""
    return stored.rows * len(layout.columns)


def entries(
    files: Files, stored: Stored, layout: Layout, positions: Sequence[int], wanted: Set[Row], most: int
) -> Found:
    """The entries that have one of ``wanted`` at ``positions``."""
    if not wanted:
        return {}
    asked = arrow_table([(f"k{p}", layout.keys[p]) for p in positions], list(wanted)) if positions else None
    rows: list[Row] = []
    for part in _parts(files, stored, layout):
        near = part.table if asked is None else part.near(asked)
        if len(rows) + near.num_rows > most:
            raise TooMuchError
        rows += values([type_ for _, type_ in layout.columns], near)
    found: Found = {}
    for entry in merged(rows, layout):
        key = tuple([entry[p] for p in positions])
        if key in wanted:
            found.setdefault(key, []).append(entry)
    return found


def _parts(files: Files, stored: Stored, layout: Layout) -> Iterator[Rows]:
    """All rows of a source."""
    for part in stored.files:
        if not part.paths:
            raise TooMuchError  # a query of many rows
        for path in part.paths:
            yield files.read(path, layout)
    if stored.recent_rows:
        yield Rows(stored.recent.select(layout.names))


def merged(rows: Sequence[Row], layout: Layout) -> list[Row]:
    """``rows`` summed by key, without what comes to nothing."""
    width = len(layout.keys)
    sums: dict[Row, Row] = {}
    for row in rows:
        key = row[:width]
        before = sums.get(key)
        sums[key] = row[width:] if before is None else tuple(map(sum, zip(before, row[width:], strict=True)))
    return [key + cell for key, cell in sums.items() if (cell[0] if layout.positive else any(cell))]
