"""Files of a relation merged into one run: by Arrow in this process, or by Spark.

Law: the files hold the rows that were merged, summed by key: where Arrow cannot sum as Spark does, a key may be there
more than once, as in any relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.types import FLOAT, INT, Bag, Record, Scalar
from nestling.engine.spark import limits
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.state import FLOATS
from nestling.engine.spark.totals import totals
from nestling.engine.spark.types import arrow_schema
from nestling.errors import NoValue
from nestling.storage.lake import DataFile, Lake

DECIMAL = Scalar("decimal")
#: A sum of decimals below this has all its digits in 128 bits, however it is added up.
_SAFE_DECIMAL = 1e17


def merged_here(lake: Lake, files: Sequence[DataFile], layout: Layout, whole: bool) -> Any:
    """The rows of ``files``, summed and in order; ``whole``: they are all of a relation."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    schema = arrow_schema(layout.sql)
    parts = [
        pq.ParquetFile(lake.store.open(file.name)).read(columns=layout.names).cast(schema) for file in files
    ]
    rows = summed_here(pa.concat_tables(parts), layout)
    if whole and layout.positive:
        rows = rows.filter(pc.not_equal(rows.column("m0"), 0))
    return in_order(rows, layout)


def summed_here(rows: Any, layout: Layout) -> Any:
    """``rows`` summed by key as far as Arrow sums as Spark does, those that change something."""
    if not is_summed_here(layout) or not all(
        fits(rows.column(f"m{i}"), t) for i, t in enumerate(layout.measures)
    ):
        return rows
    try:
        return totals(rows, layout).cast(rows.schema)
    except NoValue:  # what is in other files takes the sum back into 64 bits
        return rows


def is_summed_here(layout: Layout) -> bool:
    """Whether Arrow groups by the keys and adds the measures. It tells the two zeros apart: so may files."""
    return not any(isinstance(t, Record | Bag) for t in layout.keys) and all(
        measure in (INT, FLOAT, DECIMAL) for measure in layout.measures
    )


def has_keys_once(rows: Any, layout: Layout) -> bool:
    """Whether each of ``rows`` is there and has a key of its own, as in a base."""
    import pyarrow.compute as pc

    if not layout.keys or not is_summed_here(layout) or any(key in FLOATS for key in layout.keys):
        return False
    is_there = pc.min(rows.column("m0")).as_py() > 0
    return bool(is_there and rows.group_by(layout.key_names).aggregate([]).num_rows == rows.num_rows)


def fits(column: Any, type_: Any) -> bool:
    """Whether a sum of the column has all its digits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if type_ != DECIMAL:
        return True
    return bool((pc.sum(pc.abs(column.cast(pa.float64()))).as_py() or 0) < _SAFE_DECIMAL)


def in_order(rows: Any, layout: Layout) -> Any:
    """``rows`` in the order of files, as far as Arrow has one: an order that does not hold costs time, not answers."""
    names = []
    for name in layout.sorted_names:
        if isinstance(layout.keys[int(name[1:])], Record | Bag):
            break
        names.append((name, "ascending"))
    return rows.sort_by(names) if names else rows


def group_rows(rows: Any) -> int:
    """How many rows make a group of the size that a look-up reads."""
    return max(1, int(limits.ROW_GROUP_BYTES * rows.num_rows // max(1, rows.nbytes)))
