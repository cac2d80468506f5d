"""Spark as the judge: the same state as temporary views, the same text, and the rows it yields."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from math import isnan
from typing import Any

from tests.frontends.sql.worlds import TABLES

#: Interpreted, in one partition: a query over ten rows takes as long as it takes to plan.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Judge:
    """A session of its own on the shared Spark."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark.newSession()
        for name, value in SETTINGS.items():
            self.spark.conf.set(name, value)

    def state(self, rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
        """Declare the tables with these rows. From Arrow they are part of the plan, which no job has to read."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        for table, found in rows.items():
            type_: Any = StructType.fromDDL(TABLES[table].spark)
            data = pa.Table.from_pylist([arrow(type_, row) for row in found], schema=to_arrow_schema(type_))
            self.spark.createDataFrame(data, type_).createOrReplaceTempView(table)

    def rows(self, query: str, in_order: bool = False) -> Counter[Any]:
        """What Spark makes of ``query``."""
        return Counter(exact(tuple(row), in_order) for row in self.spark.sql(query).collect())


def arrow(type_: Any, value: Any) -> Any:
    """``value`` with its structs by name."""
    match type_.typeName(), value:
        case "array", list():
            return [arrow(type_.elementType, element) for element in value]
        case "map", dict():
            return [(key, arrow(type_.valueType, inner)) for key, inner in value.items()]
        case "struct", tuple():
            return {field.name: arrow(field.dataType, v) for field, v in zip(type_, value, strict=True)}
    return value


def exact(value: Any, in_order: bool = False) -> Any:
    """A value that compares equal to what is the same for a user of Spark: a decimal is no double, nor an int.

    Arrays are bags, unless they are read ``in_order``.
    """
    match value:
        case float() if isnan(value):
            return ("double", "NaN")
        case float():
            return ("double", float(f"{value:.12g}") + 0.0)
        case Decimal():
            return ("decimal", value.normalize())
        case timedelta():
            return ("span", value)
        case tuple():
            return tuple(exact(part, in_order) for part in value)
        case dict():
            pairs = ((exact(key), exact(inner, in_order)) for key, inner in value.items())
            return ("map", tuple(sorted(pairs, key=repr)))
        case list():
            parts = [exact(part, in_order) for part in value]
            return ("array", tuple(parts if in_order else sorted(parts, key=repr)))
    return value
