"""Types and values of the calculus as Spark and Arrow have them.

=========  ==============  =======================================================================
int        BIGINT          beyond 64 bits: refused on the way in, an error in arithmetic
float      DOUBLE
decimal    DECIMAL(37,18)  more digits: refused on the way in, an error in arithmetic
str        STRING
bytes      BINARY
date       DATE
datetime   TIMESTAMP_NTZ
timedelta  BIGINT          microseconds
label      STRING          see ``labels``
=========  ==============  =======================================================================

Law: a value that is written and read again is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from nestling.calculus.types import Label as LabelType
from nestling.calculus.types import Scalar, Type, show_type
from nestling.engine.spark.labels import MICROSECOND, read_label, write_label
from nestling.errors import ChangeError, QueryError

SQL = {
    "bool": "BOOLEAN", "int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL(37,18)", "str": "STRING",
    "bytes": "BINARY", "date": "DATE", "datetime": "TIMESTAMP_NTZ", "timedelta": "BIGINT",
}  # fmt: skip


def sql_type(type_: Type) -> str:
    """The type of a column."""
    match type_:
        case Scalar(name):
            return SQL[name]
        case LabelType():
            return "STRING"
    raise QueryError(
        f"Spark keeps no column of type {show_type(type_)}",
        hint="inner bags are kept as rows of their own: leave the level shredded",
    )


@cache
def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "BOOLEAN": pa.bool_(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string(),
        "DECIMAL(37,18)": pa.decimal128(37, 18), "BINARY": pa.binary(), "DATE": pa.date32(),
        "TIMESTAMP_NTZ": pa.timestamp("us"),
    }  # fmt: skip


def arrow_type(sql: str) -> Any:
    """The Arrow type of an SQL type."""
    return _arrow_types()[sql]


def ddl(schema: Any) -> str:
    """The columns of an Arrow schema as SQL declares them."""
    names = {arrow: sql for sql, arrow in _arrow_types().items()}
    return ", ".join(f"{field.name} {names[field.type]}" for field in schema)


def arrow_schema(columns: Sequence[tuple[str, str]]) -> Any:
    """The Arrow schema of named SQL types; every column may be null."""
    import pyarrow as pa

    return pa.schema([pa.field(name, arrow_type(sql)) for name, sql in columns])


def arrow_table(columns: Sequence[tuple[str, Type]], rows: Iterable[Sequence[Any]]) -> Any:
    """Rows of values as an Arrow table."""
    import pyarrow as pa

    parts = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = []
    for (name, type_), values in zip(columns, parts, strict=True):
        write = _writer(type_)
        try:
            arrays.append(
                pa.array([None if v is None else write(v) for v in values], arrow_type(sql_type(type_)))
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise ChangeError(
                f"a value of {name} does not fit Spark's {sql_type(type_)}: {error}",
                hint="ints have 64 bits there, decimals 19 digits before the point and 18 behind it",
            ) from error
    schema = arrow_schema([(name, sql_type(type_)) for name, type_ in columns])
    return pa.Table.from_arrays(arrays, schema=schema)


def _writer(type_: Type) -> Callable[[Any], Any]:
    match type_:
        case Scalar("timedelta"):
            return lambda value: value // MICROSECOND
        case Scalar("float"):
            return float
        case LabelType():
            return write_label
    return lambda value: value


def values(types: Sequence[Type], table: Any) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table, as values of ``types``."""
    columns = []
    for type_, column in zip(types, table.columns, strict=True):
        read = _reader(type_)
        found = column.to_pylist()
        columns.append(found if read is None else [None if v is None else read(v) for v in found])
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _reader(type_: Type) -> Callable[[Any], Any] | None:
    match type_:
        case Scalar("timedelta"):
            return lambda value: timedelta(microseconds=value)
        case Scalar("decimal"):
            return plain_decimal
        case LabelType():
            return read_label
    return None


def plain_decimal(value: Decimal) -> Decimal:
    """``value`` without the zeros that a fixed scale adds."""
    short = value.normalize()
    exponent = short.as_tuple().exponent
    return short.quantize(Decimal(1)) if isinstance(exponent, int) and exponent > 0 else short
