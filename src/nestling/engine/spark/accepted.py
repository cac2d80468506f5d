"""Which Spark sessions are supported; others are rejected when a database is opened, before a folder is created."""

from __future__ import annotations

from typing import Any

from nestling.engine.spark.remote import is_connect
from nestling.errors import QueryError

#: The first version of Spark that we are tested with.
MIN_SPARK_VERSION = (4, 2)

_HINT = "SparkSession.builder.getOrCreate()"


def check_session(spark: Any) -> None:
    """Reject an object that is no session of Spark 4 in this process, or a stopped one."""
    if not is_connect(spark) and not _is_session(spark):
        raise QueryError(f"{spark!r:.80} is no SparkSession", hint=f"spark={_HINT}")
    if _is_stopped(spark):
        raise QueryError("the Spark session has been stopped", hint=_HINT)
    version = str(spark.version)
    if _numbers(version) < MIN_SPARK_VERSION:
        raise QueryError(
            f"this is Spark {version}, and Nestling needs Spark {'.'.join(map(str, MIN_SPARK_VERSION))} or later",
            hint="pip install --upgrade pyspark",
        )


def _is_stopped(spark: Any) -> bool:
    if is_connect(spark):
        return bool(spark.is_stopped)
    context = spark.sparkContext
    return context is None or context._jsc is None or bool(context._jsc.sc().isStopped())


def is_local(spark: Any) -> bool:
    """Whether everything runs in one process, and so in one file system."""
    if is_connect(spark):
        return False  # the server may be anywhere
    master = str(spark.sparkContext.master)
    return master == "local" or master.startswith("local[")


def _is_session(spark: Any) -> bool:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return False
    return isinstance(spark, SparkSession)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
