"""Which Spark sessions are supported; others are rejected when a database is opened, before a folder is created."""

from __future__ import annotations

from typing import Any

from nestling.engine.spark.remote import is_connect
from nestling.errors import QueryError

#: The versions of Spark that work, first and last. Over Connect a session is made beside another from 4.3 on.
MIN_SPARK_VERSION, MAX_SPARK_VERSION = (4, 2), (4, 3)
MIN_CONNECT_VERSION = (4, 3)

_HINT = "SparkSession.builder.getOrCreate()"


def check_session(spark: Any) -> None:
    """Reject an object that is no session of Spark 4 in this process, or a stopped one."""
    if not is_connect(spark) and not _is_session(spark):
        raise QueryError(f"{spark!r:.80} is no SparkSession", hint=f"spark={_HINT}")
    if _is_stopped(spark):
        raise QueryError("the Spark session has been stopped", hint=_HINT)
    version = str(spark.version)
    first = MIN_CONNECT_VERSION if is_connect(spark) else MIN_SPARK_VERSION
    if not first <= _numbers(version) <= MAX_SPARK_VERSION:
        works = " or ".join(dict.fromkeys(_text(each) for each in (first, MAX_SPARK_VERSION)))
        raise QueryError(
            f"this is Spark {version}, and Nestling runs on Spark {works}{' over Connect' * is_connect(spark)}",
            hint=f'pip install "pyspark>={_text(first)},<{MAX_SPARK_VERSION[0]}.{MAX_SPARK_VERSION[1] + 1}"',
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


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
