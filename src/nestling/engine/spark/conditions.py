"""Conditions that users give of a DataFrame: a text in SQL or a column of Spark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, functions


def condition(given: Any) -> Any:
    """``given`` as a column, where it is a condition of Spark; one that is not given never holds."""
    if given is None:
        return functions.lit(False)
    if isinstance(given, str):
        return functions.expr(given)
    return given if isinstance(given, Column) else None


def read_by(frame: Any, holds: Any) -> set[str]:
    """The columns of ``frame`` that a condition reads, by the plan that Spark has analysed."""
    found = frame.select(holds)._jdf.queryExecution().analyzed().references().iterator()
    names = set()
    while found.hasNext():
        names.add(found.next().name())
    return names
