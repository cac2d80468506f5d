"""Files that the driver reads again and again: the last that were used stay in memory, up to so many bytes.

A file never changes. Those of a base are sorted by key, so what is looked up by a first key that is a number is found
by halving; all else is found by going through a column.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nestling.calculus.types import INT
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.types import arrow_schema

#: Bytes of all files that are kept.
KEPT = 256_000_000
#: Below so many rows for each key that is looked up, going through the column is as fast.
SPARSE = 16


@dataclass(frozen=True)
class Rows:
    """Rows of a source; ``sorted``: their first keys as an array, where these are numbers in order."""

    table: Any
    sorted: Any = None

    def near(self, asked: Any) -> Any:
        """The rows that have at every column of ``asked`` some value that is in it."""
        import pyarrow.compute as pc

        table = self.table
        for name in asked.column_names:
            values = asked.column(name).combine_chunks()
            if name == "k0" and self.sorted is not None and len(values) * SPARSE < len(self.sorted):
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


@dataclass
class Files:
    """The files in ``folder``."""

    folder: Path | None
    _kept: OrderedDict[str, Rows] = field(default_factory=OrderedDict)

    def read(self, path: str, layout: Layout) -> Rows:
        import pyarrow.parquet as pq

        rows = self._kept.get(path)
        if rows is None:
            assert self.folder is not None
            table = pq.ParquetFile(self.folder / path).read(columns=layout.names).combine_chunks()
            rows = Rows(table.cast(arrow_schema(layout.sql)), _in_order(table, layout))
            self._kept[path] = rows
            while len(self._kept) > 1 and sum(known.table.nbytes for known in self._kept.values()) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(path)
        return rows


def _in_order(table: Any, layout: Layout) -> Any:
    """The first column, if its values are numbers in order."""
    if not layout.keys or layout.keys[0] != INT or not table.num_rows:
        return None
    first = table.column(0).combine_chunks().to_numpy()
    return first if bool((first[1:] >= first[:-1]).all()) else None
