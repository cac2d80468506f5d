"""Record types from pyspark and pyarrow schemas, known by the names of their classes and never imported."""

from __future__ import annotations

import re
from typing import Any

from nestling.calculus.maps import map_type
from nestling.calculus.sizes import MOST
from nestling.calculus.types import Bag, Record, Scalar, Type, nullable
from nestling.errors import QueryError

_SPARK = {
    "bool": "BooleanType",
    "int": "ByteType ShortType IntegerType LongType",
    "float": "FloatType DoubleType",
    "decimal": "DecimalType",
    "str": "StringType VarcharType CharType",
    "bytes": "BinaryType",
    "date": "DateType",
    "datetime": "TimestampType TimestampNTZType",
    "time": "TimeType",
    "timedelta": "DayTimeIntervalType",
}
_BITS = {"ByteType": 8, "ShortType": 16, "IntegerType": 32, "LongType": 64}
_SPARK_SCALARS = {
    word: Scalar(name, size=(_BITS[word],) if word in _BITS else ())
    for name, words in _SPARK.items()
    for word in words.split()
}

#: The beginning of what pyarrow prints for a type, by the type here.
_ARROW = (
    (r"bool", "bool"),
    (r"u?int\d+", "int"),
    (r"halffloat|float|double", "float"),
    (r"decimal\d*\(", "decimal"),
    (r"(large_)?string(_view)?|(large_)?utf8", "str"),
    (r"(large_|fixed_size_)?binary", "bytes"),
    (r"date(32|64)\[", "date"),
    (r"timestamp\[", "datetime"),
    (r"time(32|64)\[", "time"),
    (r"duration\[", "timedelta"),
)


def is_spark_struct(schema: object) -> bool:
    """Whether ``schema`` is a pyspark ``StructType``."""
    return _is(schema, "pyspark", "StructType")


def is_arrow_schema(schema: object) -> bool:
    """Whether ``schema`` is a pyarrow ``Schema``."""
    return _is(schema, "pyarrow", "Schema")


def _is(value: object, package: str, name: str) -> bool:
    class_ = type(value)
    return class_.__name__ == name and class_.__module__.partition(".")[0] == package


def spark_record(struct: Any) -> Record:
    """The record type of a pyspark ``StructType``; scalars are nullable where their field is."""
    return Record(
        tuple(
            (field.name, _spark_type(field.dataType, field.nullable, field.name)) for field in struct.fields
        )
    )


def _spark_type(type_: Any, null: bool, where: str) -> Type:
    name = type(type_).__name__
    if name == "StructType":
        return spark_record(type_)
    if name == "ArrayType":
        return Bag(_spark_type(type_.elementType, type_.containsNull, where))
    if name == "MapType" and type(type_.keyType).__name__ in _SPARK_SCALARS:
        key = _spark_type(type_.keyType, False, where)
        return map_type(key, _spark_type(type_.valueType, type_.valueContainsNull, where))
    if name in _SPARK_SCALARS:
        scalar = _SPARK_SCALARS[name]
        if name == "DecimalType":
            scalar = Scalar("decimal", size=(type_.precision, type_.scale))
        return nullable(scalar) if null else scalar
    raise _foreign(where, name)


def arrow_record(schema: Any) -> Record:
    """The record type of a pyarrow ``Schema``; scalars are nullable where their field is."""
    return Record(
        tuple((field.name, _arrow_type(field.type, field.nullable, field.name)) for field in schema)
    )


def _arrow_type(type_: Any, null: bool, where: str) -> Type:
    name = type(type_).__name__
    if name == "StructType":
        return arrow_record([type_.field(i) for i in range(type_.num_fields)])
    if name in ("ListType", "LargeListType", "FixedSizeListType", "ListViewType", "LargeListViewType"):
        return Bag(_arrow_type(type_.value_field.type, type_.value_field.nullable, where))
    if name == "DictionaryType":
        return _arrow_type(type_.value_type, null, where)
    if name == "MapType":
        key = _arrow_type(type_.key_type, False, where)
        if isinstance(key, Scalar):
            return map_type(key, _arrow_type(type_.item_type, type_.item_field.nullable, where))
    for pattern, scalar in _ARROW:
        if name != "MapType" and re.match(pattern, str(type_)):
            return Scalar(scalar, bool(null), _arrow_size(scalar, str(type_)))
    raise _foreign(where, str(type_))


def _arrow_size(name: str, text: str) -> tuple[int, ...]:
    """The bits of ``int32``, the digits and places of ``decimal128(10, 2)``; what Spark does not have has no size."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if name == "int" and not text.startswith("u"):
        return (numbers[0],)
    size = tuple(numbers[1:])
    return size if name == "decimal" and 0 <= size[1] <= size[0] <= MOST else ()


def _foreign(where: str, shown: str) -> QueryError:
    hint = "cast it to a number, a string, a date or a timestamp first; the keys of a map are scalars"
    return QueryError(f"column {where!r} cannot have the type {shown}", hint=hint)
