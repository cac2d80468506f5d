"""Files that executors write and the driver must see: both count the rows.

Executors on other machines write to their own file systems. If these are not shared with the driver, Spark reports
success, and the driver finds fewer rows than were written, or none.

Law: ``written`` returns iff the files that this process sees have all rows that were written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

from nestling.engine.spark import limits
from nestling.engine.spark.jobs import WORK
from nestling.engine.spark.session import first_line, spark_errors
from nestling.errors import StoreError
from nestling.storage.lake import DataFile, Lake

_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SHARED = (
    "the folder must be the same one for the driver and all executors, such as a mount of network storage"
)


def written(lake: Lake, frame: Any, folder: str) -> tuple[tuple[DataFile, ...], int]:
    """Write a DataFrame as files, and count; ``folder`` is a fresh one of the lake."""
    files, rows, _ = written_and_checked(lake, frame, folder, "false")
    return files, rows


def has_plain_names(type_: Any) -> bool:
    """Whether a session of anybody reads the names in a text as they are.

    It may take ``${…}`` for the name of a setting, and names that differ in their case for one.
    """
    fields = getattr(type_, "fields", ())
    names = [field.name for field in fields]
    if len({name.lower() for name in names}) < len(names) or not all(map(_PLAIN.fullmatch, names)):
        return False
    inner = [*(field.dataType for field in fields), *(t for t in [getattr(type_, "elementType", None)] if t)]
    return all(map(has_plain_names, inner))


def written_and_checked(
    lake: Lake, frame: Any, folder: str, wrong: str
) -> tuple[tuple[DataFile, ...], int, int]:
    """The same, and how many of the rows are ``wrong``."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, expr, lit

    observed = Observation()
    counts = [count(lit(1)).alias("rows"), expr(f"count_if({wrong})").alias("wrong")]
    rows = frame.observe(observed, *counts)
    rows.write.mode("overwrite").option("parquet.block.size", limits.ROW_GROUP_BYTES).parquet(
        lake.store.uri(folder)
    )
    counted, files = _counted(observed), lake.adopt(folder)
    wrote = counted["rows"]
    WORK.queries, WORK.bytes = WORK.queries + 1, WORK.bytes + sum(file.bytes for file in files)
    seen = sum(file.rows for file in files)
    if seen != wrote:
        raise StoreError(
            f"Spark's executors wrote {wrote} rows to {lake.place}, and this process sees {seen} of them",
            hint=_SHARED,
        )
    return files, wrote, counted["wrong"]


def by_rows(frame: Any, keys: Sequence[str], rows: int, placed: bool = False) -> Any:
    """``frame``, of about so many ``rows``, sorted by ``keys`` in files: their number follows the rows, not the cores.

    To sort in one file needs no sample of the keys, for which Spark would compute all of it once more.
    """
    from pyspark.sql.functions import expr

    files = max(1, -(-rows // limits.ROWS_PER_FILE))
    by = [expr(key) for key in keys]
    if not placed:
        frame = frame.coalesce(1) if files == 1 else frame.repartitionByRange(files, *by)
    return frame.sortWithinPartitions(*by)


def _counted(observed: Any) -> dict[str, int]:
    """The observed metrics: Spark reports it shortly after the query, or never if it drops events under load."""
    if not hasattr(observed, "_jo"):
        return {name: int(number) for name, number in observed.get.items()}  # told with the answer
    end = monotonic() + limits.METRIC_SECONDS
    while not observed._jo.future().isCompleted():
        if monotonic() > end:
            raise StoreError(
                "Spark does not say how many rows it wrote", hint="nothing was stored: try again"
            )
        sleep(0.001)
    return {name: int(number) for name, number in observed.get.items()}


def probe(lake: Lake, session: Any, executors: int) -> None:
    """Reject a folder that the driver and the executors do not share, by one job of so many tasks.

    Each task reads a file that the driver wrote, and writes one that the driver looks for.
    """
    import pyarrow as pa

    files = [lake.write_changes("passing probe", pa.table({"k0": [number]})) for number in range(executors)]
    try:
        rows = session.read.schema("k0 BIGINT").parquet(*(lake.store.uri(file.name) for file in files))
        _, seen = written(lake, rows, lake.fresh("passing probe"))
    except spark_errors() as error:
        raise StoreError(
            f"Spark's executors do not see what this process writes to {lake.place}: {first_line(str(error))}",
            hint=_SHARED,
        ) from error
    finally:
        lake.discard()
    if seen != executors:
        raise StoreError(
            f"Spark's executors see {seen} of {executors} files that this process wrote to {lake.place}",
            hint=_SHARED,
        )
