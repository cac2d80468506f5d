"""Changes given as DataFrames: few rows come to the driver, many are processed by Spark.

``_change_type`` says what happened to a row, in the words of Spark's change feed; without it every row is inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from nestling.calculus.types import Record
from nestling.database.export import to_arrow
from nestling.database.feed import Pairs, z_bag
from nestling.database.languages import is_frame
from nestling.engine.spark.conditions import is_column
from nestling.engine.spark.jobs import WORK, described_jobs
from nestling.errors import ChangeError
from nestling.frontend.schema import (
    arrow_rows,
    copies,
    has_zones,
    multiplicity,
    python_value,
    row_value,
    without_zones,
)
from nestling.quoting import sql_name

#: Bytes of a row, of a DataFrame that has too many.
Width = Callable[[float], None]


def few_rows(frame: Any, most: int, width: Width | None = None) -> list[dict[str, Any]] | None:
    """The rows of a DataFrame, if they are no more than ``most``; else ``width`` is told what one takes."""
    check_batch(frame)
    some = frame.limit(most + 1)
    if is_here(some) or _is_void_by_connect(some):
        found = some.collect()
        return None if len(found) > most else [row.asDict(recursive=True) for row in found]
    with described_jobs(frame.sparkSession, "nestling: rows that came, if they are few"):
        WORK.queries += 1
        table = some.toArrow()
    if table.num_rows > most:
        if width is not None:
            width(table.nbytes / table.num_rows)
        return None
    rows = arrow_rows(table)
    return without_zones(rows) if any(map(has_zones, table.schema.types)) else rows


#: Types of which Spark hands over the values that Arrow has; moments would be in the time zone of this process.
_PLAIN = frozenset(
    ("bigint", "int", "smallint", "tinyint", "string", "boolean", "double", "float", "date", "void")
)


def is_here(frame: Any) -> bool:
    """Whether Spark has the rows in its plan, so that they are handed over without a job."""
    plan = getattr(frame, "_jdf", None)
    if plan is None or not _is_plain(frame.schema):
        return False
    return bool(plan.queryExecution().optimizedPlan().getClass().getSimpleName() == "LocalRelation")


def _is_void_by_connect(frame: Any) -> bool:
    """Whether it has values of no type, as ``array()``, of which Spark Connect makes no table of Arrow."""
    return not hasattr(frame, "_jdf") and "void" in frame.schema.simpleString() and _is_plain(frame.schema)


def _is_plain(type_: Any) -> bool:
    name = type_.typeName()
    if name == "struct":
        names = [field.name for field in type_.fields]
        return len({*names}) == len(names) and all(_is_plain(field.dataType) for field in type_.fields)
    if name == "array":
        return _is_plain(type_.elementType)
    return name == "decimal" or type_.simpleString() in _PLAIN


def check_batch(frame: Any) -> None:
    """Reject a streaming DataFrame."""
    if frame.isStreaming:
        raise ChangeError("a streaming DataFrame is no change", hint="db.stream({table: frame})")


def is_feed(columns: Any) -> bool:
    """Whether rows say what happened to them."""
    return "_change_type" in columns


def signed(rows: list[dict[str, Any]], feed: bool, sign: int = 1) -> Any:
    """Rows with how often each comes: as they say, or ``sign``."""
    return z_bag(rows) if feed else Pairs((row, sign) for row in rows)


def few_changes(
    changes: Mapping[str, Any], sign: int, most: int, widths: dict[str, float]
) -> dict[str, Any] | None:
    """Changes of several tables as Z-bags, if they are few; what is no DataFrame is one already. Of one that has too
    many ``widths`` has the bytes of a row."""
    found = {}
    for table, change in changes.items():
        if not is_frame(change):
            found[table] = change
            continue
        rows = few_rows(change, most, partial(widths.__setitem__, table))
        if rows is None:
            return None
        found[table] = signed(rows, is_feed(change.columns), sign)
    return found


def few_split(frame: Any, tables: Mapping[str, bool], most: int) -> dict[str, Any] | None:
    """Rows of several tables, each a struct in a column of its own, by table, if they are few."""
    rows = few_rows(frame, most)
    if rows is None:
        return None
    return {
        table: signed([row[table] for row in rows if row[table] is not None], feed)
        for table, feed in tables.items()
    }


def split(frame: Any, tables: Iterable[str]) -> dict[str, Any]:
    """The same as DataFrames."""
    return {
        table: frame.where(frame[sql_name(table)].isNotNull()).select(f"{sql_name(table)}.*")
        for table in tables
    }


def as_frame(session: Any, record: Record, rows: Iterable[tuple[Any, int]]) -> Any:
    """Rows with their multiplicities as a DataFrame with ``_change_type``."""
    values = [(python_value(record, row_value(record, row)), multiplicity(times)) for row, times in rows]
    repeated = copies(((row, times > 0), abs(times)) for row, times in values)
    table = to_arrow(record, [row for row, _ in repeated])
    kinds = [["insert" if comes else "delete" for _, comes in repeated]]
    return session.createDataFrame(table.append_column("_change_type", kinds))


def kept(frame: Any, record: Record, where: Any) -> Any:
    """The rows of a table for which ``where`` holds: a condition of Spark, or a function of a row as embedded."""
    if not callable(where) or is_column(where):
        return frame.where(where)

    def batches(tables: Iterable[Any]) -> Iterator[Any]:
        for batch in tables:
            rows = (python_value(record, row_value(record, row)) for row in batch.to_pylist())
            yield batch.filter([bool(where(row)) for row in rows])

    return frame.mapInArrow(batches, frame.schema)
