"""A view's answer as other libraries have it: pandas, Arrow, Spark. Each is imported only where it is asked for."""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import NestlingError

_ARROW = {
    "bool": "bool_", "int": "int64", "float": "float64", "str": "string", "bytes": "binary",
    "date": "date32",
}  # fmt: skip


def plain(type_: Type, value: Any) -> Any:
    """A row as dicts and lists, the way JSON and Arrow have it."""
    match type_:
        case Record(fields):
            return {name: plain(t, v) for (name, t), v in zip(fields, value, strict=True)}
        case Bag(element):
            return [plain(element, v) for v in value]
    return value


def to_arrow(type_: Type, rows: list[Any]) -> Any:
    """An Arrow table; rows that are no records are its one column ``value``."""
    arrow = _imported("pyarrow", "arrow")
    record = type_ if isinstance(type_, Record) else Record((("value", type_),))
    values = rows if isinstance(type_, Record) else [(row,) for row in rows]
    schema = arrow.schema([arrow.field(name, _arrow_type(t, arrow)) for name, t in record.fields])
    return arrow.Table.from_pylist([plain(record, row) for row in values], schema=schema)


def to_pandas(type_: Type, rows: list[Any]) -> Any:
    """A pandas DataFrame; inner bags are lists of dicts."""
    pandas = _imported("pandas", "arrow")
    record = type_ if isinstance(type_, Record) else Record((("value", type_),))
    values = rows if isinstance(type_, Record) else [(row,) for row in rows]
    return pandas.DataFrame([plain(record, row) for row in values], columns=list(record.names))


def to_df(type_: Type, rows: list[Any], spark: Any) -> Any:
    """A Spark DataFrame of the user's session."""
    return spark.createDataFrame(to_arrow(type_, rows))


def _imported(module: str, extra: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise NestlingError(
            f"{module} is not installed", hint=f"pip install 'nestling[{extra}]' or {module} itself"
        ) from error


def _arrow_type(type_: Type, arrow: Any) -> Any:
    match type_:
        case Scalar("decimal"):
            return arrow.decimal128(38, 18)
        case Scalar("datetime"):
            return arrow.timestamp("us")
        case Scalar("timedelta"):
            return arrow.duration("us")
        case Scalar(name):
            return getattr(arrow, _ARROW[name])()
        case Record(fields):
            return arrow.struct([arrow.field(name, _arrow_type(t, arrow)) for name, t in fields])
        case Bag(element):
            return arrow.list_(_arrow_type(element, arrow))
    raise NestlingError(f"Arrow has no type for {type_}")
