"""Whether views on Spark hold what plain Spark computes from the same tables, nested ones too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.workloads.tpch_orders import PLAIN, name_of


def disagreeing(spark: Any, db: Any, views: Sequence[str]) -> list[str]:
    """Those of ``views`` that are not what plain Spark makes of the tables as they are. All rows come here."""
    for name in ("customers", "orders"):
        db.table(name).df().createOrReplaceTempView(name)
    return [view for view in views if _ours(db, view) != counted(spark.sql(PLAIN[view]).collect())]


def counted(rows: Iterable[Any]) -> Counter[Any]:
    """Rows of Spark and how often each is there, arrays in an order that their elements alone say."""
    return Counter(map(_value, rows))


def _ours(db: Any, view: str) -> Counter[Any]:
    rows = db.view_df(name_of(view)).collect()
    # A plain query has no row for a customer without orders.
    return counted(row for row in rows if view != "top 3" or row.best)


def _value(value: Any) -> Any:
    match value:
        case tuple():
            return tuple(map(_value, value))
        case list():
            return tuple(sorted(map(_value, value), key=repr))
        case Decimal():
            return value.normalize()
    return value
