"""Tables and views as files that Spark writes: folders of Parquet or JSON lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from nestling.database.feed import FEED_COLUMNS
from nestling.database.files import format_of
from nestling.errors import StoreError
from nestling.quoting import sql_name

_KIND, _VERSION = FEED_COLUMNS[:2]
_WORDS = {"parquet": "parquet", "jsonl": "json"}


def write_frame(frame: Any, path: Path | str) -> int:
    """Write a DataFrame to a folder, in the place of the one there; how many rows it has."""
    frame.write.format(_WORDS[format_of(path)]).mode("overwrite").save(str(path))
    return int(frame.count())


def write_changes(
    spark: Any, frame: Any, since: Callable[[int], Any], version: int, folder: Path | str
) -> int:
    """Add to a folder what changed since the last version there, which ``since`` has; the first time, all rows."""
    words = "json" if _suffix(folder) in (".jsonl", ".ndjson") else "parquet"
    last = _last(spark, folder, words)
    if last is None:
        change = frame.selectExpr("*", f"'insert' AS {_KIND}", f"{version}L AS {_VERSION}")
    else:
        change = since(last).drop(FEED_COLUMNS[2]).where(f"{_VERSION} > {last}")
    count = int(change.count())
    if count:
        change.write.format(words).mode("append").save(str(folder))
    return count


def _suffix(path: Path | str) -> str:
    return PurePosixPath(path).suffix.lower()


def _there(spark: Any, words: str, path: Path | str) -> Any:
    """The rows of a folder, or nothing where there is none; of an address only Spark can say which it is."""
    from pyspark.errors import AnalysisException

    if isinstance(path, Path) and (not path.exists() or (path.is_dir() and not any(path.iterdir()))):
        return None
    try:
        return spark.read.format(words).load(str(path))
    except AnalysisException as error:
        if error.getCondition() in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            return None
        raise


def _last(spark: Any, folder: Path | str, words: str) -> int | None:
    """The last version that a folder has; None where it has none."""
    there = _there(spark, words, folder)
    if there is None:
        return None
    if _VERSION not in there.columns:
        raise StoreError(
            f"{folder} has no changes", hint="choose a folder of its own for the changes of each view"
        )
    [(last,)] = there.selectExpr(f"max({_VERSION})").collect()
    return None if last is None else int(last)


def read_frame(spark: Any, like: Any, path: Path | str, is_feed: bool) -> Any:
    """The rows of a file or a folder, with the columns of ``like`` where JSON does not say their types."""
    words = _WORDS[format_of(path)] if _suffix(path) else "parquet"
    if (isinstance(path, Path) and not path.exists()) or _there(spark, words, path) is None:
        raise StoreError(f"there is no file {path}", hint="check its name")
    reader = spark.read
    if words == "json":
        columns = [f"{sql_name(field.name)} {field.dataType.simpleString()}" for field in like.schema.fields]
        columns += [f"{_KIND} STRING", f"{_VERSION} BIGINT"] if is_feed else []
        reader = reader.schema(", ".join(columns)).option("mode", "FAILFAST")
    return reader.format(words).load(str(path))
