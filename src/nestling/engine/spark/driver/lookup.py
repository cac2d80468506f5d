"""The entries of a source at some keys, read by the driver: from its files by Arrow, and from what was added since.

Law: what is found is what a semi-join of the source with the keys finds, summed by key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.driver.files import AskedRows, Files, RowGroup, Rows
from nestling.engine.spark.driver.labelled import first_keys
from nestling.engine.spark.state import SourceRows
from nestling.engine.spark.types import arrow_schema, arrow_table, values

#: Entries by the part of their key that was asked for: all columns, keys first.
Found = dict[Row, list[Row]]


class TooMuchError(Exception):
    """More would have to be read, or was found, than the driver goes through."""


@dataclass
class Budget:
    """Values that may still be gone through, and entries that one look-up may find."""

    values: int = field(default_factory=lambda: limits.MAX_DRIVER_VALUES * limits.LOOKUP_FACTOR)
    entries: int = field(default_factory=lambda: limits.MAX_LOOKUP_ENTRIES)

    def spend(self, values: int) -> None:
        self.values -= values
        if self.values < 0:
            raise TooMuchError


def cells(stored: SourceRows, layout: Layout) -> int:
    """How many values are stored."""
    return stored.rows * len(layout.columns)


def entries(
    files: Files,
    stored: SourceRows,
    layout: Layout,
    positions: Sequence[int],
    wanted: Set[Row],
    budget: Budget,
) -> Found:
    """The entries that have one of ``wanted`` at ``positions``.

    A change asks twice: to check what goes, and for its statements. So what was found in files is remembered; and who
    asks by a label that is made from a key asks by the key.
    """
    if not wanted:
        return {}
    if not positions and stored.rows > budget.entries:
        raise TooMuchError
    if any(part.rows and not part.paths for part in stored.files):
        raise TooMuchError  # what is in no file is a query of many rows
    if layout.key == (0,) and (first := first_keys(layout, positions, wanted)) is not None:
        owners = entries(files, stored, layout, (0,), {(key,) for key in first}, budget)
        return _by(positions, wanted, (row for rows in owners.values() for row in rows))
    asked = tuple(path for part in stored.files for path in part.paths), tuple(positions)
    known = files.remembered(asked, wanted)
    left = wanted - known.keys()
    found: Found = {key: [] for key in left} | _by(
        positions, left, _in_files(files, stored, layout, positions, left, budget)
    )
    if positions:
        files.remember(asked, found)
    rows = [row for rows in (*known.values(), *found.values()) for row in rows]
    rows += _recent(stored, layout, positions, wanted, budget)
    if len(rows) > budget.entries:
        raise TooMuchError
    return _by(positions, wanted, merged(rows, layout))


def _by(positions: Sequence[int], wanted: Set[Row], rows: Iterable[Row]) -> Found:
    """``rows`` by what stands at ``positions``, if that is ``wanted``."""
    found: Found = {}
    for row in rows:
        key = tuple([row[p] for p in positions])
        if key in wanted:
            found.setdefault(key, []).append(row)
    return found


def _in_files(
    files: Files,
    stored: SourceRows,
    layout: Layout,
    positions: Sequence[int],
    wanted: Set[Row],
    budget: Budget,
) -> list[Row]:
    """The rows in files that may be wanted, not summed."""
    import pyarrow as pa

    if not wanted:
        return []
    parts = _parts(files, stored, layout, _asked(layout, positions, wanted) if positions else None, budget)
    return _values(layout, pa.concat_tables(parts)) if any(part.num_rows for part in parts) else []


def _parts(files: Files, stored: SourceRows, layout: Layout, asked: Any, budget: Budget) -> list[Any]:
    """The same as Arrow tables."""
    groups = _groups(files, stored, asked)
    budget.spend(sum(files.cost(group, layout, some) for group, some in groups))
    parts, number = [], 0
    with files.reading(layout) as read:
        for group, some in groups:
            parts.append(read(group).near(some))
            number += parts[-1].num_rows
            if number > budget.entries:
                raise TooMuchError
    return parts


def rows_at(files: Files, stored: SourceRows, layout: Layout, asked: Any, budget: Budget) -> Any:
    """The rows, not summed, that have in the one column of ``asked`` some value that is there, as an Arrow table."""
    import pyarrow as pa

    if any(part.rows and not part.paths for part in stored.files):
        raise TooMuchError
    parts = [arrow_schema(layout.sql).empty_table(), *_parts(files, stored, layout, asked, budget)]
    if stored.recent_rows:
        budget.spend(stored.recent_rows)
        parts.append(Rows(stored.recent.select(layout.names)).near(asked))
    return pa.concat_tables(parts)


def all_rows(files: Files, stored: SourceRows, layout: Layout) -> Any:
    """All rows, not summed, as an Arrow table."""
    import pyarrow as pa

    if any(part.rows and not part.paths for part in stored.files):
        raise TooMuchError
    paths = [path for part in stored.files for path in part.paths]
    parts = [arrow_schema(layout.sql).empty_table(), *(files.read(path, layout) for path in paths)]
    if stored.recent_rows:
        parts.append(stored.recent.select(layout.names))
    return pa.concat_tables(parts)


def _recent(
    stored: SourceRows, layout: Layout, positions: Sequence[int], wanted: Set[Row], budget: Budget
) -> list[Row]:
    """The same of what was added since."""
    if not stored.recent_rows:
        return []
    budget.spend(stored.recent_rows)
    asked = _asked(layout, positions, wanted) if positions else None
    return _values(layout, Rows(stored.recent.select(layout.names)).near(asked))


def _values(layout: Layout, table: Any) -> list[Row]:
    return values([type_ for _, type_ in layout.columns], table)


def _asked(layout: Layout, positions: Sequence[int], wanted: Set[Row]) -> Any:
    """What is asked for, as columns: those of ``positions``, and the first one where these say what it is."""
    columns, parts = [(f"k{p}", layout.keys[p]) for p in positions], list(wanted)
    first = first_keys(layout, positions, wanted)
    if first is None:
        return arrow_table(columns, parts)
    return arrow_table(
        [("k0", layout.keys[0]), *columns], [(k, *p) for k, p in zip(first, parts, strict=True)]
    )


def _groups(files: Files, stored: SourceRows, asked: Any) -> list[tuple[RowGroup, Any]]:
    """The groups of rows that may hold what is asked for, and which of it."""
    paths = [path for part in stored.files for path in part.paths]
    groups = [group for path in paths for group in files.groups(path)]
    if asked is None:
        return [(group, asked) for group in groups]
    some = AskedRows.of(asked)
    within = [(group, group.within(some)) for group in groups]
    return [(group, found) for group, found in within if found is not None]


def merged(rows: Sequence[Row], layout: Layout) -> list[Row]:
    """``rows`` summed by key, without what comes to nothing."""
    width = len(layout.keys)
    sums: dict[Row, Row] = {}
    for row in rows:
        key = row[:width]
        before = sums.get(key)
        sums[key] = row[width:] if before is None else tuple(map(sum, zip(before, row[width:], strict=True)))
    return [key + cell for key, cell in sums.items() if (cell[0] if layout.positive else any(cell))]
