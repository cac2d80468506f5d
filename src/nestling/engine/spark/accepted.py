"""Which Spark sessions are supported; others are rejected when a database is opened, before a folder is created."""

from __future__ import annotations

from typing import Any

from nestling.errors import QueryError

#: The first version of Spark that we are tested with.
MIN_SPARK_VERSION = (4, 2)

_HINT = "SparkSession.builder.getOrCreate()"


def check_session(spark: Any) -> None:
    """Reject an object that is no session of Spark 4 in this process, or a stopped one."""
    kind = type(spark)
    if kind.__module__.startswith("pyspark.sql.connect"):
        raise QueryError(
            "a session of Spark Connect, as Declarative Pipelines have one too, cannot keep a database:"
            " files are written and read beside Spark's driver",
            hint="run where the driver runs, with a session that is not remote",
        )
    if not _is_session(spark):
        raise QueryError(f"{spark!r:.80} is no SparkSession", hint=f"spark={_HINT}")
    context = spark.sparkContext
    if context is None or context._jsc is None or context._jsc.sc().isStopped():
        raise QueryError("the Spark session has been stopped", hint=_HINT)
    version = str(spark.version)
    if _numbers(version) < MIN_SPARK_VERSION:
        raise QueryError(
            f"this is Spark {version}, and Nestling needs Spark {'.'.join(map(str, MIN_SPARK_VERSION))} or later",
            hint="pip install --upgrade pyspark",
        )


def is_local(spark: Any) -> bool:
    """Whether everything runs in one process, and so in one file system."""
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
