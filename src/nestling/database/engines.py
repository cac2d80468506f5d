"""Which kind of database does the work: the embedded one, unless Spark is given."""

from __future__ import annotations

from typing import Any


def on_spark(asked: type[Any]) -> type[Any]:
    """The database on Spark, where a database was ``asked`` for; it needs PySpark, which the core does not."""
    from nestling.database.spark import SparkDatabase

    return SparkDatabase if issubclass(SparkDatabase, asked) else asked
