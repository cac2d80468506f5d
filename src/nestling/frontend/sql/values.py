"""The values and types of SQL expressions, in Spark's words."""

from __future__ import annotations

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type, show_type
from nestling.frontend.values import Barred, Null, Value, type_of

#: What Spark calls a scalar type.
SPARK = {
    "bool": "BOOLEAN", "int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL", "str": "STRING",
    "bytes": "BINARY", "date": "DATE", "datetime": "TIMESTAMP", "time": "TIME", "timedelta": "INTERVAL",
}  # fmt: skip


def shown(value: Value) -> str:
    """What ``value`` is, in Spark's words."""
    match value:
        case Null():
            return "NULL"
        case Barred():
            return "a column"
    return spark_type(type_of(value))


def spark_type(type_: Type) -> str:
    """A type in Spark's words."""
    if is_optional(type_):
        return spark_type(held(type_))
    match type_:
        case Scalar(name):
            return SPARK[name]
        case Record(fields):
            return "STRUCT<" + ", ".join(f"{name}: {spark_type(inner)}" for name, inner in fields) + ">"
        case Bag() if is_map(type_):
            return f"MAP<{', '.join(map(spark_type, entry_types(type_)))}>"
        case Bag(element):
            return f"ARRAY<{spark_type(item_type(type_) if is_list(type_) else element)}>"
    return show_type(type_)
