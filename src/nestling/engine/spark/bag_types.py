"""The types of nested values, as Spark's SQL writes them."""

from __future__ import annotations

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.engine.spark.types import sql_type
from nestling.quoting import sql_name


def no_bag(element: Type) -> str:
    """An empty bag of a known type."""
    return f"CAST(array() AS ARRAY<{_nested_type(element)}>)"


def _nested_type(type_: Type) -> str:
    if is_optional(type_):
        return _nested_type(held(type_))
    if is_list(type_):
        return f"ARRAY<{_nested_type(item_type(type_))}>"
    if is_map(type_):
        return f"MAP<{', '.join(map(_nested_type, entry_types(type_)))}>"
    match type_:
        case Record(fields):
            parts = (f"{sql_name(name)}: {_nested_type(field)}" for name, field in fields)
            return f"STRUCT<{', '.join(parts)}>"
        case Bag(element, False):
            return f"ARRAY<{_nested_type(element)}>"
        case Scalar("timedelta"):
            return "INTERVAL DAY TO SECOND"
        case Scalar("time"):
            return "TIME"
    return sql_type(type_)
