"""Numbers of the sizes that were declared, for DataFrames and SQL: inside, ints have 64 bits and decimals 37 digits."""

from __future__ import annotations

from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.engine.spark.types import SQL
from nestling.quoting import sql_name

_WORDS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}


def declared(frame: Any, element: Type) -> Any:
    """``frame`` with numbers of the size that was declared: what Spark computes from them depends on it."""
    types = zip(element.names, element.types, strict=True) if isinstance(element, Record) else ()
    casts = {name: type_sql(type_) for name, type_ in types if has_sizes(type_)}
    new = {name: frame[sql_name(name)].cast(type_) for name, type_ in casts.items()}
    return frame.withColumns(new) if new else frame


def has_sizes(type_: Type) -> bool:
    match type_:
        case Scalar():
            return bool(type_.size)
        case Record():
            return any(map(has_sizes, type_.types))
        case Bag(element):
            return has_sizes(item_type(type_) if is_list(type_) else element)
    return False


def type_sql(type_: Type) -> str:
    """A type as Spark declares it.

    >>> from nestling.frontend.schema import record_type
    >>> type_sql(record_type("id INT, items ARRAY<STRUCT<qty: SMALLINT, price: DECIMAL(10, 2)>>"))
    'STRUCT<`id`: INT, `items`: ARRAY<STRUCT<`qty`: SMALLINT, `price`: DECIMAL(10,2)>>>'
    """
    if is_optional(type_):
        return type_sql(held(type_))
    if is_map(type_):
        return f"MAP<{', '.join(map(type_sql, entry_types(type_)))}>"
    match type_:
        case Scalar("int", _, size) if size:
            return _WORDS[size[0]]
        case Scalar("decimal", _, size) if size:
            return f"DECIMAL({size[0]},{size[1]})"
        case Scalar("timedelta"):
            return "INTERVAL DAY TO SECOND"
        case Scalar("time"):
            return "TIME"
        case Scalar(name):
            return SQL[name]
        case Record(fields):
            return f"STRUCT<{', '.join(f'{sql_name(name)}: {type_sql(field)}' for name, field in fields)}>"
        case Bag(element):
            return f"ARRAY<{type_sql(item_type(type_) if is_list(type_) else element)}>"
    raise TypeError(type_)


def declared_columns(element: Type) -> str:
    """The columns of an element, as SQL, with numbers of the size that was declared: what Spark computes from them
    depends on it."""
    if not isinstance(element, Record):
        return "*"
    pairs = [(sql_name(name), type_) for name, type_ in zip(element.names, element.types, strict=True)]
    return ", ".join(f"CAST({n} AS {type_sql(t)}) AS {n}" if has_sizes(t) else n for n, t in pairs)
