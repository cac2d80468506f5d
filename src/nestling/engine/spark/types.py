"""Types and values of the calculus as Spark and Arrow have them.

=========  ==============  =======================================================================
int        BIGINT          beyond 64 bits: refused on the way in, an error in arithmetic
float      DOUBLE
decimal    DECIMAL(37,18)  more digits: refused on the way in, an error in arithmetic
str        STRING
bytes      BINARY
date       DATE
datetime   TIMESTAMP_NTZ
time       BIGINT          microseconds since midnight
timedelta  BIGINT          microseconds
label      STRING          see ``labels``
record     STRUCT          fields ``f0, f1, …``: the elements that are kept in order
bag        ARRAY           of elements ``v`` and how often each, ``n``, in order: the first of them
=========  ==============  =======================================================================

Law: a value that is written and read again is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import cache, partial
from typing import Any

from nestling.calculus.types import Bag, LabelType, Record, Scalar, Type, show_type
from nestling.engine.spark.labels import MICROSECOND, read_label, write_label
from nestling.errors import ChangeError, QueryError
from nestling.values.bag import ZBag
from nestling.values.clock import clock_of, micros_of
from nestling.values.exact import WIDE, one_nan
from nestling.values.order import order_key

SQL = {
    "bool": "BOOLEAN", "int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL(37,18)", "str": "STRING",
    "bytes": "BINARY", "date": "DATE", "datetime": "TIMESTAMP_NTZ", "time": "BIGINT",
    "timedelta": "BIGINT",
}  # fmt: skip

#: Behind the point of a decimal.
PLACES = 18


#: No file has a struct without fields.
UNIT = "u: BIGINT"


def sql_type(type_: Type) -> str:
    """The type of a column."""
    match type_:
        case Scalar(name):
            return SQL[name]
        case LabelType():
            return "STRING"
        case Record():
            fields = ", ".join(f"f{i}: {sql_type(field)}" for i, field in enumerate(type_.types))
            return f"STRUCT<{fields or UNIT}>"
        case Bag(element, True):
            return f"ARRAY<STRUCT<v: {sql_type(element)}, n: BIGINT>>"
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


@cache
def arrow_type(sql: str) -> Any:
    """The Arrow type of an SQL type."""
    import pyarrow as pa

    if sql.startswith("ARRAY<"):
        return pa.list_(arrow_type(sql[len("ARRAY<") : -1]))
    if sql.startswith("STRUCT<"):
        fields = (field.split(": ", 1) for field in _fields(sql[len("STRUCT<") : -1]))
        return pa.struct([pa.field(name, arrow_type(type_)) for name, type_ in fields])
    return _arrow_types()[sql]


def _fields(text: str) -> list[str]:
    """``text`` parted at the commas that stand in no brackets."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [field.strip() for field in found]


def ddl(schema: Any) -> str:
    """The columns of an Arrow schema as SQL declares them."""
    return ", ".join(f"{field.name} {_declared(field.type)}" for field in schema)


def _declared(arrow: Any) -> str:
    import pyarrow as pa

    if pa.types.is_list(arrow):
        return f"ARRAY<{_declared(arrow.value_type)}>"
    if pa.types.is_struct(arrow):
        return f"STRUCT<{', '.join(f'{field.name}: {_declared(field.type)}' for field in arrow)}>"
    return next(sql for sql, known in _arrow_types().items() if known == arrow)


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
            written = values if write is None else [None if v is None else write(v) for v in values]
            arrays.append(pa.array(written, arrow_type(sql_type(type_))))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise ChangeError(
                f"a value of {name} does not fit Spark's {sql_type(type_)}: {error}",
                hint="ints have 64 bits there, decimals 19 digits before the point and 18 after it",
            ) from error
    schema = arrow_schema([(name, sql_type(type_)) for name, type_ in columns])
    return pa.Table.from_arrays(arrays, schema=schema)


def _writer(type_: Type) -> Callable[[Any], Any] | None:
    """How a value is written; ``None``: as it is."""
    match type_:
        case Scalar("timedelta"):
            return lambda value: value // MICROSECOND
        case Scalar("time"):
            return micros_of
        case Scalar("float"):
            return float
        case LabelType():
            return write_label
        case Record():
            return _record_writer(type_)
        case Bag(element):
            write = _writer(element) or _same
            return lambda bag: [{"v": write(v), "n": n} for v, n in sorted(bag.items(), key=_by_value)]
    return None


def _same(value: Any) -> Any:
    return value


def _record_writer(type_: Record) -> Callable[[Any], Any]:
    fields = [(f"f{i}", _writer(field) or _same) for i, field in enumerate(type_.types)]

    def write(value: Any) -> Any:
        pairs = zip(fields, value, strict=True)
        return {name: None if v is None else to(v) for (name, to), v in pairs} or {"u": 0}

    return write


def _by_value(item: tuple[Any, int]) -> Any:
    return order_key(item[0])


def values(types: Sequence[Type], table: Any) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table, as values of ``types``."""
    columns = []
    for type_, column in zip(types, table.columns, strict=True):
        read = _reader(type_)
        found = column.to_pylist()
        if read is read_label:  # all elements of a bag have the same
            known = {v: None if v is None else read(v) for v in dict.fromkeys(found)}
            columns.append([known[v] for v in found])
        else:
            columns.append(found if read is None else [None if v is None else read(v) for v in found])
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _reader(type_: Type) -> Callable[[Any], Any] | None:
    match type_:
        case Scalar("timedelta"):
            return lambda value: timedelta(microseconds=value)
        case Scalar("time"):
            return clock_of
        case Scalar("decimal", size=(_, places)):
            return partial(placed_decimal, places)
        case Scalar("decimal"):
            return plain_decimal
        case Scalar("float"):
            return one_nan
        case LabelType():
            return read_label
        case Record():
            return _record_reader(type_)
        case Bag(element):
            read = _reader(element) or _same
            return lambda pairs: ZBag((None if p["v"] is None else read(p["v"]), p["n"]) for p in pairs)
    return None


def _record_reader(type_: Record) -> Callable[[Any], Any]:
    fields = [(f"f{i}", _reader(field)) for i, field in enumerate(type_.types)]

    def read(value: Any) -> Any:
        return tuple(
            value[name] if of is None or value[name] is None else of(value[name]) for name, of in fields
        )

    return read


def fits_decimal(value: Decimal) -> bool:
    """Whether a column holds all digits of ``value``."""
    places = WIDE.normalize(value).as_tuple().exponent
    return isinstance(places, int) and places >= -PLACES and value.copy_abs() < 10**19


def placed_decimal(places: int, value: Decimal) -> Decimal:
    """``value`` with all places of its column, as tables in this process have it: a text of it shows them.

    >>> placed_decimal(2, Decimal("5.0000")), placed_decimal(0, Decimal("100"))
    (Decimal('5.00'), Decimal('100'))
    """
    short = plain_decimal(value)
    exponent = short.as_tuple().exponent
    # A size that was not followed to here is no reason to lose digits.
    return WIDE.quantize(short, Decimal(1).scaleb(-places)) if -int(exponent) <= places else short


def plain_decimal(value: Decimal) -> Decimal:
    """``value`` without the zeros that a fixed scale adds.

    >>> plain_decimal(Decimal("1234567890123.123456789012345670")), plain_decimal(Decimal("100.00"))
    (Decimal('1234567890123.12345678901234567'), Decimal('100'))
    """
    short = WIDE.normalize(value)
    exponent = short.as_tuple().exponent
    return WIDE.quantize(short, Decimal(1)) if isinstance(exponent, int) and exponent > 0 else short
