"""Files that the driver reads again and again: the groups of rows that were used last stay in memory.

A file never changes. Those of a base are sorted by key, so a group of rows holds the keys between two ends; and within
one, a first key that is a number is found by halving. All else is found by going through a column.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from nestling.calculus.types import INT
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.types import arrow_schema


@dataclass(frozen=True)
class Rows:
    """Rows of a source; ``sorted``: their first keys as an array, where these are numbers in order."""

    table: Any
    sorted: Any = None

    def is_halved(self, asked: Any) -> bool:
        """Whether what is asked for is found without going through a column."""
        some = asked is not None and asked.column_names[0] == "k0" and self.sorted is not None
        return some and asked.num_rows * limits.MIN_ROWS_PER_BISECTED_KEY < len(self.sorted)

    def near(self, asked: Any) -> Any:
        """The rows that have at every column of ``asked`` some value that is in it; ``None``: all."""
        import pyarrow.compute as pc

        if asked is None:
            return self.table
        table, halved = self.table, self.is_halved(asked)
        for name in asked.column_names:
            values = asked.column(name).combine_chunks()
            if halved and name == "k0":
                table = table.take(self._places(values))
            else:
                table = table.filter(pc.is_in(table.column(name), value_set=values))
        return table

    def _places(self, values: Any) -> Any:
        import numpy as np

        wanted = np.unique(values.drop_null().to_numpy())
        first = np.searchsorted(self.sorted, wanted, "left")
        many = np.searchsorted(self.sorted, wanted, "right") - first
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.repeat(first, many) + within


@dataclass(frozen=True)
class RowGroup:
    """A group of rows in a file, and the ends of its first keys where they are known."""

    path: str
    number: int
    rows: int
    ends: tuple[Any, Any] | None

    def within(self, keys: Sequence[Any]) -> slice:
        """Which of ``keys``, that are in order, may be first keys of its rows."""
        if self.ends is None:
            return slice(0, len(keys))
        return slice(bisect_left(keys, self.ends[0]), bisect_right(keys, self.ends[1]))


@dataclass
class Files:
    """The files in ``folder``."""

    folder: Path | None
    _kept: OrderedDict[tuple[str, int], Rows] = field(default_factory=OrderedDict)
    _known: OrderedDict[str, list[RowGroup]] = field(default_factory=OrderedDict)
    _bytes: int = 0
    #: Readers and a writer come at the same time.
    _lock: Any = field(default_factory=Lock)

    def groups(self, path: str) -> list[RowGroup]:
        """The groups of a file."""
        import pyarrow.parquet as pq

        found = self._known.get(path)
        if found is None:
            metadata = pq.read_metadata(self._path(path))
            names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
            first = names.index("k0") if "k0" in names else None
            found = [
                RowGroup(path, number, metadata.row_group(number).num_rows, _ends(metadata, number, first))
                for number in range(metadata.num_row_groups)
            ]
            with self._lock:
                self._known[path] = found
                if len(self._known) > limits.MAX_CACHED_FOOTERS:
                    self._known.popitem(last=False)
        return found

    def read(self, group: RowGroup, layout: Layout) -> Rows:
        """The rows of a group."""
        import pyarrow.parquet as pq

        place = (group.path, group.number)
        rows = self._kept.get(place)
        if rows is None:
            file = pq.ParquetFile(self._path(group.path))
            table = file.read_row_group(group.number, columns=layout.names).combine_chunks()
            rows = Rows(table.cast(arrow_schema(layout.sql)), _in_order(table, layout))
        with self._lock:
            if place not in self._kept:
                self._kept[place] = rows
                self._bytes += rows.table.nbytes
                while len(self._kept) > 1 and self._bytes > limits.MAX_CACHED_BYTES:
                    self._bytes -= self._kept.popitem(last=False)[1].table.nbytes
            self._kept.move_to_end(place)
        return rows

    def cost(self, group: RowGroup, layout: Layout, asked: Any) -> int:
        """How many values are gone through to find what is asked for."""
        rows = self._kept.get((group.path, group.number))
        if rows is None:
            return group.rows * len(layout.columns)
        return 0 if rows.is_halved(asked) else group.rows

    def _path(self, path: str) -> Path:
        assert self.folder is not None
        return self.folder / path


def _ends(metadata: Any, number: int, first: int | None) -> tuple[Any, Any] | None:
    """The least and the greatest first key, of numbers and texts, if none is null."""
    found = None if first is None else metadata.row_group(number).column(first).statistics
    if (
        found is None
        or not found.has_min_max
        or found.null_count != 0
        or not isinstance(found.min, int | str)
    ):
        return None
    return found.min, found.max


def _in_order(table: Any, layout: Layout) -> Any:
    """The first column, if its values are numbers in order."""
    if not layout.keys or layout.keys[0] != INT or not table.num_rows:
        return None
    first = table.column(0).combine_chunks().to_numpy()
    return first if bool((first[1:] >= first[:-1]).all()) else None
