"""Files that the driver reads again and again: the groups of rows that were used last stay in memory.

A file never changes. It is sorted by the columns that its entries are found by, so a group of rows holds the values
between two ends; and within one, numbers and texts are found by halving. All else is found by going through a column.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import Any

from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.types import arrow_schema, sql_type
from nestling.storage.lake.store import BlobStore

#: Values whose ends tell what lies between them.
ENDS = (int, str, date)


@dataclass(frozen=True)
class Rows:
    """Rows of a source; ``sorted``: the column that they are sorted by, if it can be searched by halving."""

    table: Any
    sorted: str = ""

    def is_halved(self, asked: Any) -> bool:
        """Whether what is asked for is found without going through a column."""
        some = asked is not None and self.sorted in asked.column_names
        return some and asked.num_rows * limits.MIN_ROWS_PER_BISECTED_KEY < self.table.num_rows

    def near(self, asked: Any) -> Any:
        """The rows that have at every column of ``asked`` some value that is in it; ``None``: all."""
        import pyarrow.compute as pc

        if asked is None:
            return self.table
        is_halved = self.is_halved(asked)
        table = self.table.take(self._places(asked.column(self.sorted))) if is_halved else self.table
        for name in asked.column_names:
            if not is_halved or name != self.sorted:
                values = asked.column(name).combine_chunks()
                table = table.filter(pc.is_in(table.column(name), value_set=values))
        return table

    def _places(self, values: Any) -> Any:
        import numpy as np
        import pyarrow.compute as pc

        wanted = pc.unique(values).drop_null()
        column = self.table.column(self.sorted).combine_chunks()
        first, end = (
            pc.search_sorted(column, wanted, side=side).to_numpy().astype(np.int64)
            for side in ("left", "right")
        )
        many = end - first
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.repeat(first, many) + within


@dataclass(frozen=True)
class AskedRows:
    """What is asked for, by the columns that it gives: each has a copy of it in its order, nulls last."""

    table: Any
    by: dict[str, tuple[Any, list[Any]]]

    @staticmethod
    def of(table: Any) -> AskedRows:
        found = {}
        for name in table.column_names:
            if not table.column(name).null_count:
                some = table.sort_by(name)
                found[name] = some, some.column(name).to_pylist()
        return AskedRows(table, found)


@dataclass(frozen=True)
class RowGroup:
    """A group of rows in a file, and the ends of the columns where they are known."""

    path: str
    number: int
    rows: int
    ends: Mapping[str, tuple[Any, Any]]

    def within(self, asked: AskedRows) -> Any:
        """What of ``asked`` its rows may have; ``None``: nothing."""
        best = asked.table
        for name, (table, values) in asked.by.items():
            if name in self.ends:
                least, greatest = self.ends[name]
                first, end = bisect_left(values, least), bisect_right(values, greatest)
                if first >= end:
                    return None
                if end - first < best.num_rows:
                    best = table.slice(first, end - first)
        return best


@dataclass
class Files:
    """The files in a store."""

    store: BlobStore | None
    _kept: OrderedDict[tuple[str, int], Rows] = field(default_factory=OrderedDict)
    _known: OrderedDict[str, list[RowGroup]] = field(default_factory=OrderedDict)
    _bytes: int = 0
    #: Readers and a writer come at the same time.
    _lock: Any = field(default_factory=Lock)
    #: How many groups were read from files.
    reads: int = 0

    def groups(self, path: str) -> list[RowGroup]:
        """The groups of a file."""
        import pyarrow.parquet as pq

        found = self._known.get(path)
        if found is None:
            metadata = pq.read_metadata(self._open(path))
            names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
            keys = {name: i for i, name in enumerate(names) if name.startswith("k") and "." not in name}
            found = [
                RowGroup(path, number, metadata.row_group(number).num_rows, _ends(metadata, number, keys))
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
            file = pq.ParquetFile(self._open(group.path))
            table = file.read_row_group(group.number, columns=layout.names).combine_chunks()
            table = table.cast(arrow_schema(layout.sql))
            rows = Rows(table, _in_order(table, layout))
            self.reads += 1
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

    def _open(self, path: str) -> Any:
        assert self.store is not None
        return self.store.open(path)


def _ends(metadata: Any, number: int, keys: Mapping[str, int]) -> dict[str, tuple[Any, Any]]:
    """The least and the greatest value of each key, of numbers, texts and dates, if none is null."""
    found = {}
    for name, place in keys.items():
        known = metadata.row_group(number).column(place).statistics
        if known is not None and known.has_min_max and known.null_count == 0 and isinstance(known.min, ENDS):
            found[name] = known.min, known.max
    return found


def _in_order(table: Any, layout: Layout) -> str:
    """The column that the rows are sorted by, if it can be searched by halving."""
    import pyarrow.compute as pc

    if not layout.keys or not table.num_rows or not hasattr(pc, "search_sorted"):
        return ""
    name = layout.sorted_names[0]
    column = table.column(name).combine_chunks()
    if sql_type(layout.keys[int(name[1:])]) not in ("BIGINT", "STRING") or column.null_count:
        return ""
    return name if pc.all(pc.less_equal(column[:-1], column[1:])).as_py() is not False else ""
