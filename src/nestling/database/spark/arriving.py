"""Changes that come as DataFrames: few rows are brought here, many stay where they are.

``_change_type`` says what happened to a row, in the words of Spark's change feed; without it every row comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.database.feed import Pairs, z_bag
from nestling.errors import ChangeError

#: Up to this many rows are checked and shredded here, with Arrow; more are checked and shredded by Spark.
FEW = 10_000


def is_frame(rows: Any) -> bool:
    """Whether ``rows`` is a DataFrame of Spark."""
    return hasattr(rows, "toLocalIterator") and hasattr(rows, "toArrow")


def few_rows(frame: Any) -> list[dict[str, Any]] | None:
    """The rows of a DataFrame, if they are few."""
    check_batch(frame)
    table = frame.limit(FEW + 1).toArrow()
    return None if table.num_rows > FEW else table.to_pylist()


def check_batch(frame: Any) -> None:
    """Refuse a DataFrame that never ends."""
    if frame.isStreaming:
        raise ChangeError("a streaming DataFrame is no change", hint="db.stream({table: frame})")


def is_feed(columns: Any) -> bool:
    """Whether rows say what happened to them."""
    return "_change_type" in columns


def signed(rows: list[dict[str, Any]], feed: bool) -> Any:
    """Rows with how often each comes."""
    return z_bag(rows) if feed else Pairs((row, 1) for row in rows)


def apart(frame: Any, tables: Mapping[str, bool]) -> dict[str, Any] | None:
    """Rows of several tables, each a struct in a column of its own, by table, if they are few."""
    rows = few_rows(frame)
    if rows is None:
        return None
    return {
        table: signed([row[table] for row in rows if row[table] is not None], feed)
        for table, feed in tables.items()
    }
