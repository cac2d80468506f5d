"""Conditions that users give of a DataFrame: a text in SQL or a column of Spark."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, functions

from nestling.engine.spark.remote import is_connect
from nestling.quoting import sql_name


def condition(given: Any) -> Any:
    """``given`` as a column, where it is a condition of Spark; one that is not given never holds."""
    if given is None:
        return functions.lit(False)
    if isinstance(given, str):
        return functions.expr(given)
    return given if isinstance(given, Column) else None


def is_column(given: object) -> bool:
    """Whether ``given`` is a condition as a column of Spark, and no function of a row."""
    return isinstance(given, Column)


def read_by(frame: Any, holds: Any) -> set[str]:
    """The columns of ``frame`` that a condition reads, by the plan that Spark has analysed; a client of Connect
    does not have it, and asks what is left of the rows without each of them."""
    if is_connect(frame):
        return {name for name in frame.columns if _fails_without(frame, name, holds)}
    found = frame.select(holds)._jdf.queryExecution().analyzed().references().iterator()
    names = set()
    while found.hasNext():
        names.add(found.next().name())
    return names


def _fails_without(frame: Any, name: str, holds: Any) -> bool:
    others = [functions.col(sql_name(other)) for other in frame.columns if other != name]
    try:
        return not frame.select(*others).select(holds).columns
    except PySparkException:
        return True
