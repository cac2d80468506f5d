"""Files that the driver reads again and again: the groups of rows that were used last stay in memory.

A file never changes. It is sorted by the columns that its entries are found by, so a group of rows holds the values
between two ends; and within one, numbers and texts are found by halving. All else is found by going through a column.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import Any

from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.types import arrow_schema, sql_type
from nestling.storage.lake.store import BlobStore

#: Files, and the columns by which something is looked up in them.
Asked = tuple[tuple[str, ...], tuple[int, ...]]
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
    #: What was found in some files, by these, by the columns that were given, and by what stands there.
    _found: dict[Asked, dict[Row, list[Row]]] = field(default_factory=dict)
    _remembered: int = 0
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
            ended = {name: i for i, name in enumerate(names) if name[0] in "km" and "." not in name}
            found = [
                RowGroup(path, number, metadata.row_group(number).num_rows, _ends(metadata, number, ended))
                for number in range(metadata.num_row_groups)
            ]
            with self._lock:
                self._known[path] = found
                if len(self._known) > limits.MAX_CACHED_FOOTERS:
                    self._known.popitem(last=False)
        return found

    @contextmanager
    def reading(self, layout: Layout) -> Iterator[Callable[[RowGroup], Rows]]:
        """Reads groups, those of a file one after the other: it is opened once. A footer says something of each group,
        and to read it takes longer than to read a group where there are a hundred."""
        import pyarrow.parquet as pq

        path = ""
        file: Any = None
        with ExitStack() as opened:

            def read(group: RowGroup) -> Rows:
                nonlocal path, file
                rows = self._kept.get((group.path, group.number))
                if rows is None:
                    if path != group.path:
                        opened.close()
                        file = pq.ParquetFile(self._open(group.path))
                        opened.callback(file.close, force=True)
                        path = group.path
                    # A group is too small to be worth while several threads.
                    table = file.read_row_group(group.number, columns=layout.names, use_threads=False)
                    table = table.combine_chunks().cast(arrow_schema(layout.sql))
                    rows = Rows(table, _in_order(table, layout))
                    self.reads += 1
                self._keep(group, rows)
                return rows

            yield read

    def read(self, path: str, layout: Layout) -> Any:
        """All rows of a file, which are not kept."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._open(path)) as file:
            return file.read(columns=layout.names, use_threads=False).cast(arrow_schema(layout.sql))

    def _keep(self, group: RowGroup, rows: Rows) -> None:
        """Rows that were read last stay, as far as there is room."""
        place = (group.path, group.number)
        with self._lock:
            if place not in self._kept:
                self._kept[place] = rows
                self._bytes += rows.table.nbytes
                while len(self._kept) > 1 and self._bytes > limits.MAX_CACHED_BYTES:
                    self._bytes -= self._kept.popitem(last=False)[1].table.nbytes
            self._kept.move_to_end(place)

    def has_once(self, paths: Iterable[str]) -> bool:
        """Whether every row of some files is there once, by the ends of what counts them."""
        return all(group.ends.get("m0") == (1, 1) for path in paths for group in self.groups(path))

    def remembered(self, asked: Asked, wanted: Set[Row]) -> dict[Row, list[Row]]:
        """What is known of ``wanted`` already: the rows that have it, not summed."""
        known = self._found.get(asked, {})
        return {key: known[key] for key in wanted if key in known}

    def remember(self, asked: Asked, found: Mapping[Row, list[Row]]) -> None:
        """Remember what was found, and what was not."""
        size = len(found) + sum(map(len, found.values()))
        with self._lock:
            self._remembered += size
            if self._remembered > limits.MAX_REMEMBERED_ROWS:
                # Files that are no longer there go with all others.
                self._found, self._remembered = {}, size
            self._found.setdefault(asked, {}).update(found)

    def cost(self, group: RowGroup, layout: Layout, asked: Any) -> int:
        """How many values are gone through to find what is asked for."""
        rows = self._kept.get((group.path, group.number))
        if rows is None:
            return group.rows * len(layout.columns)
        return 0 if rows.is_halved(asked) else group.rows

    def _open(self, path: str) -> Any:
        assert self.store is not None
        return self.store.open(path)


def _ends(metadata: Any, number: int, columns: Mapping[str, int]) -> dict[str, tuple[Any, Any]]:
    """The least and the greatest value of each column, of numbers, texts and dates, if none is null."""
    found = {}
    for name, place in columns.items():
        known = metadata.row_group(number).column(place).statistics
        if known is not None and known.has_min_max and known.null_count == 0 and isinstance(known.min, ENDS):
            found[name] = known.min, known.max
    return found


def _in_order(table: Any, layout: Layout) -> str:
    """The column that the rows are sorted by, if it can be searched by halving: the first of the layout's order, or of
    the order that they were written in, before there were other views."""
    import pyarrow.compute as pc

    if not table.num_rows or not hasattr(pc, "search_sorted"):
        return ""
    for name in layout.sorted_names:
        column = table.column(name).combine_chunks()
        is_searched = sql_type(layout.keys[int(name[1:])]) in ("BIGINT", "STRING") and not column.null_count
        if is_searched and pc.all(pc.less_equal(column[:-1], column[1:])).as_py() is not False:
            return name
    return ""
