"""The tables under a DataFrame: each is marked by an alias that names the database and the table.

An alias is all of a DataFrame's start that stays as it is: the rows below it may come from other files tomorrow, and a
DataFrame that is joined with itself gets new columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "nestling:"


def marker(place: str, name: str) -> str:
    """The alias of the table or view ``name`` of the database at ``place``."""
    return f"{PREFIX}{place}:{name}"


def marked(frame: Any, place: str, name: str) -> Any:
    """``frame`` as the rows of ``name``; its columns are found as ``name.column``, too."""
    return frame.alias(marker(place, name)).alias(name)


def in_session(frame: Any, spark: Any) -> Any:
    """``frame`` as a DataFrame of the session ``spark``, whose settings hold for what is computed from it."""
    return frame_of(frame._jdf.queryExecution().analyzed(), spark)


def frame_of(plan: Any, spark: Any) -> Any:
    """The DataFrame of a plan that is analysed already."""
    from pyspark.sql.classic.dataframe import DataFrame

    return DataFrame(
        spark._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark
    )


def recognised(place: str, names: Iterable[str]) -> Mapping[str, str]:
    """Marks to the names they stand for."""
    return {marker(place, name): name for name in names}
