"""The class of database: embedded, unless a Spark session is given, and one that is written, unless it is not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nestling.errors import QueryError


def on_spark(asked: type[Any]) -> type[Any]:
    """The database on Spark, where a database was ``asked`` for; it needs PySpark, which the core does not."""
    # By name: it is built on the database, which does not know it.
    try:
        found: type[Any] = import_module("nestling.database.spark").SparkDatabase
    except ModuleNotFoundError as error:
        raise QueryError(
            f"a database on Spark needs the library {error.name}", hint="pip install 'nestling[spark]'"
        ) from error
    return found if issubclass(found, asked) else asked


def for_reading(asked: type[Any]) -> type[Any]:
    """The database that follows a file, where a database was ``asked`` for."""
    found: type[Any] = import_module("nestling.database.readonly").FollowingDatabase
    return found if issubclass(found, asked) else asked
