"""A table or a view as a table of pandas, Arrow, Polars or Spark. Each library is imported on first use."""

from __future__ import annotations

from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import NestlingError, shown

_ARROW = {
    "bool": "bool_", "int": "int64", "float": "float64", "str": "string", "bytes": "binary",
    "date": "date32",
}  # fmt: skip


def plain(type_: Type, value: Any) -> Any:
    """A row as dicts and lists, the way JSON and Arrow have it."""
    if is_optional(type_):
        return None if value is None else plain(held(type_), value)
    match type_:
        case Record(fields):
            return {name: plain(t, v) for (name, t), v in zip(fields, value, strict=True)}
        case Bag(Record(((_, key), (_, inner)))) if is_map(type_):
            return [{"key": plain(key, k), "value": plain(inner, v)} for k, v in value.items()]
        case Bag(element):
            element = item_type(type_) if is_list(type_) else element
            return [plain(element, v) for v in value]
    return value


def to_arrow(type_: Type, rows: list[Any]) -> Any:
    """An Arrow table; rows that are no records are its one column ``value``."""
    arrow = _imported("pyarrow")
    record, values = _columns(type_, rows)
    schema = arrow.schema([arrow.field(name, _arrow_type(t, arrow)) for name, t in record.fields])
    try:
        return (
            arrow.Table.from_arrays(
                [
                    arrow.array(
                        column if isinstance(t, Scalar) else [plain(t, v) for v in column], schema.types[at]
                    )
                    for at, (column, t) in enumerate(
                        zip(_transposed(record, values), record.types, strict=True)
                    )
                ],
                schema=schema,
            )
            if record.fields
            else arrow.Table.from_pylist([{} for _ in values], schema=schema)
        )
    except (arrow.ArrowInvalid, OverflowError, UnicodeError) as error:
        raise NestlingError(
            f"Arrow cannot hold a value: {error}",
            hint="its ints have 64 bits, decimals 38 digits; read rows() or bag() instead",
        ) from error


def to_pandas(type_: Type, rows: list[Any]) -> Any:
    """A pandas DataFrame; inner bags are lists of dicts.

    A column has the type that holds its values as they are: ``int64``, ``float64``, ``bool``, ``datetime64[us]``,
    ``timedelta64[us]``, and ``object`` for all others, ints of more than 64 bits among them. What may be None is
    ``Int64``, ``Float64`` or ``boolean``, where None is ``NA`` and a NaN stays one; in moments it is ``NaT``.
    """
    pandas = _imported("pandas")
    record, values = _columns(type_, rows)
    columns = _transposed(record, values)
    series = {
        name: _series(pandas, t, [plain(t, value) for value in column])
        for (name, t), column in zip(record.fields, columns, strict=True)
    }
    return pandas.DataFrame(series, columns=list(record.names), index=range(len(values)))


def to_polars(type_: Type, rows: list[Any]) -> Any:
    """A Polars DataFrame; inner bags are lists of structs."""
    polars = _imported("polars")
    return polars.from_arrow(to_arrow(type_, rows))


def _columns(type_: Type, rows: list[Any]) -> tuple[Record, list[Any]]:
    """Rows with columns: those that have none are one column."""
    return as_record(type_), rows if isinstance(type_, Record) else [(row,) for row in rows]


def _transposed(record: Record, rows: list[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [() for _ in record.fields]


def as_record(type_: Type) -> Record:
    """The columns of rows: those that are no records are one, ``value``."""
    return type_ if isinstance(type_, Record) else Record((("value", type_),))


_PANDAS = {
    ("int", False): "int64", ("int", True): "Int64", ("bool", False): "bool", ("bool", True): "boolean",
    ("float", False): "float64", ("datetime", False): "datetime64[us]", ("datetime", True): "datetime64[us]",
    ("timedelta", False): "timedelta64[us]", ("timedelta", True): "timedelta64[us]",
}  # fmt: skip


def _series(pandas: Any, type_: Type, values: list[Any]) -> Any:
    if type_ == Scalar("float", nullable=True):
        # Made from its parts: pandas would take a NaN for a missing value.
        numpy = _imported("numpy")
        numbers = numpy.array([0.0 if value is None else value for value in values], dtype="float64")
        missing = numpy.array([value is None for value in values], dtype="bool")
        return pandas.Series(pandas.arrays.FloatingArray(numbers, missing))
    dtype = _PANDAS.get((type_.name, type_.nullable), "object") if isinstance(type_, Scalar) else "object"
    try:
        return pandas.Series(values, dtype=dtype)
    except (OverflowError, ValueError):
        return pandas.Series(values, dtype="object")  # a number or a span that is too large for it


def to_df(type_: Type, rows: list[Any], spark: Any) -> Any:
    """A Spark DataFrame of the user's session."""
    if not hasattr(spark, "createDataFrame"):
        raise NestlingError(f"a session of Spark is not {shown(spark)}", hint="view.to_df(spark)")
    return spark.createDataFrame(to_arrow(type_, rows))


def _imported(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise NestlingError(f"{module} is not installed", hint=f"pip install {module}") from error


def _arrow_type(type_: Type, arrow: Any) -> Any:  # noqa: C901 - one arm per type
    if is_optional(type_):
        return _arrow_type(held(type_), arrow)
    match type_:
        case Scalar("decimal", _, (digits, places)) if digits - places > 20:
            return arrow.decimal128(digits, places)
        case Scalar("decimal"):
            return arrow.decimal128(38, 18)
        case Scalar("datetime"):
            return arrow.timestamp("us")
        case Scalar("timedelta"):
            return arrow.duration("us")
        case Scalar("time"):
            return arrow.time64("us")
        case Scalar(name):
            return getattr(arrow, _ARROW[name])()
        case Record(fields):
            return arrow.struct([arrow.field(name, _arrow_type(t, arrow)) for name, t in fields])
        case Bag() if is_map(type_):
            return arrow.map_(*(_arrow_type(t, arrow) for t in entry_types(type_)))
        case Bag(element):
            return arrow.list_(_arrow_type(item_type(type_) if is_list(type_) else element, arrow))
    raise NestlingError(f"Arrow has no type for {type_}")
