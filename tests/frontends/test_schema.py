"""Every form of a schema is one record type."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Optional

import pytest

from nestling.calculus.types import show_type
from nestling.errors import QueryError
from nestling.frontend.schema import record_type


@dataclass
class Item:
    pid: int
    qty: int | None


@dataclass
class Order:
    id: int
    customer: str
    items: list[Item]


class Place(NamedTuple):
    city: str
    zip: Optional[str]  # noqa: UP045 - the older way to write it


PYTHON: list[tuple[Any, str]] = [
    ({"name": str, "gen": str}, "⟨name: str, gen: str⟩"),
    (
        {"a": bool, "b": int, "c": float, "d": Decimal, "e": str, "f": bytes, "g": date, "h": datetime},
        "⟨a: bool, b: int, c: float, d: decimal, e: str, f: bytes, g: date, h: datetime⟩",
    ),
    ({"t": timedelta | None}, "⟨t: timedelta?⟩"),
    ({"t": Optional[int]}, "⟨t: int?⟩"),  # noqa: UP045
    ({"tags": list[str], "rows": list[list[int | None]]}, "⟨tags: Bag(str), rows: Bag(Bag(int?))⟩"),
    ({"items": [{"pid": int}]}, "⟨items: Bag(⟨pid: int⟩)⟩"),
    ({"ship": {"city": str, "at": {"x": int}}}, "⟨ship: ⟨city: str, at: ⟨x: int⟩⟩⟩"),
    (Order, "⟨id: int, customer: str, items: Bag(⟨pid: int, qty: int?⟩)⟩"),
    (
        {"orders": list[Order], "home": Place},
        "⟨orders: Bag(⟨id: int, customer: str, items: "
        "Bag(⟨pid: int, qty: int?⟩)⟩), home: ⟨city: str, zip: str?⟩⟩",
    ),
    (Place, "⟨city: str, zip: str?⟩"),
    (
        {"a": list[int] | None, "m": dict[str, int | None]},
        "⟨a: ⟨·there: bool, ·items: Bag(int)⟩, m: Bag(⟨·key: str, ·value: int?⟩)⟩",
    ),
    ({"at": Place | None}, "⟨at: ⟨·there: bool, city: str?, zip: str?⟩⟩"),
    (record_type({"a": int}), "⟨a: int⟩"),
]

DDL = {
    "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>": (
        "⟨id: int, customer: str, items: Bag(⟨pid: int, qty: int⟩)⟩"
    ),
    "a TINYINT, b smallint, c BIGINT, d LONG, e Integer": "⟨a: int, b: int, c: int, d: int, e: int⟩",
    "a DOUBLE, b DOUBLE NULL": "⟨a: float, b: float?⟩",
    "a DECIMAL(10,2), b DECIMAL, c DEC(3, 1)": "⟨a: decimal, b: decimal, c: decimal⟩",
    "a STRING, b VARCHAR(20), c CHAR(3), d BINARY, e BOOLEAN": "⟨a: str, b: str, c: str, d: bytes, e: bool⟩",
    "a DATE, b TIMESTAMP, c TIMESTAMP_NTZ": "⟨a: date, b: datetime, c: datetime⟩",
    "a INTERVAL DAY TO SECOND, b INTERVAL HOUR": "⟨a: timedelta, b: timedelta⟩",
    "a INT NOT NULL, b INT NULL, c INT": "⟨a: int, b: int?, c: int⟩",
    "a INT COMMENT 'the key', b STRUCT<x: INT NULL COMMENT 'y', z STRING>": "⟨a: int, b: ⟨x: int?, z: str⟩⟩",
    "a: INT, `unit price`: DOUBLE": "⟨a: int, unit price: float⟩",
    "a ARRAY<INT> NULL, b STRUCT<x: INT> NULL": (
        "⟨a: ⟨·there: bool, ·items: Bag(int)⟩, b: ⟨·there: bool, x: int?⟩⟩"
    ),
    "m MAP<STRING, INT NULL>": "⟨m: Bag(⟨·key: str, ·value: int?⟩)⟩",
    "a ARRAY<ARRAY<INT NULL>>": "⟨a: Bag(Bag(int?))⟩",
    "a\n  INT,\n  b STRING\n": "⟨a: int, b: str⟩",
    "date DATE, timestamp TIMESTAMP, array ARRAY<INT>": "⟨date: date, timestamp: datetime, array: Bag(int)⟩",
}


@pytest.mark.parametrize(("schema", "shown"), PYTHON, ids=range(len(PYTHON)))
def test_python_types(schema, shown):
    assert show_type(record_type(schema)) == shown


@pytest.mark.parametrize("text", DDL)
def test_ddl(text):
    assert show_type(record_type(text)) == DDL[text]


def foreign(module: str, name: str, /, **fields: Any) -> Any:
    """An object of a library that is not here, as its class and attributes show it."""
    text = fields.pop("text", name)
    class_ = type(name, (), {"__module__": module, "__str__": lambda self: text, **fields})
    return class_()


def spark(name: str, /, **fields: Any) -> Any:
    return foreign("pyspark.sql.types", name, **fields)


def spark_struct(*columns: tuple[str, Any, bool]) -> Any:
    return spark(
        "StructType",
        fields=[
            spark("StructField", name=name, dataType=type_, nullable=null) for name, type_, null in columns
        ],
    )


def test_spark_struct():
    item = spark_struct(("pid", spark("IntegerType"), False), ("qty", spark("LongType"), True))
    schema = spark_struct(
        ("id", spark("LongType"), False),
        ("price", spark("DecimalType", precision=10, scale=2), True),
        ("at", spark("TimestampType"), True),
        ("items", spark("ArrayType", elementType=item, containsNull=True), True),
        ("tags", spark("ArrayType", elementType=spark("StringType"), containsNull=False), False),
        ("ship", spark_struct(("city", spark("StringType"), False)), True),
    )

    assert show_type(record_type(schema)) == (
        "⟨id: int, price: decimal?, at: datetime?, items: Bag(⟨pid: int, qty: int?⟩), "
        "tags: Bag(str), ship: ⟨city: str⟩⟩"
    )


def arrow_field(name: str, type_: Any, nullable: bool = True) -> Any:
    return foreign("pyarrow.lib", "Field", name=name, type=type_, nullable=nullable)


def arrow(text: str, name: str = "DataType", /, **fields: Any) -> Any:
    return foreign("pyarrow.lib", name, text=text, **fields)


def arrow_schema(*columns: Any) -> Any:
    return foreign("pyarrow.lib", "Schema", __iter__=lambda self: iter(columns))


def test_arrow_schema():
    parts = [arrow_field("pid", arrow("int32"), False), arrow_field("qty", arrow("uint8"))]
    item = arrow("struct<…>", "StructType", num_fields=2, field=lambda self, i: parts[i])
    schema = arrow_schema(
        arrow_field("id", arrow("int64"), False),
        arrow_field("name", arrow("large_string")),
        arrow_field("price", arrow("decimal128(10, 2)"), False),
        arrow_field("day", arrow("date32[day]"), False),
        arrow_field("at", arrow("timestamp[us, tz=UTC]"), False),
        arrow_field("took", arrow("duration[ms]"), False),
        arrow_field("raw", arrow("binary"), False),
        arrow_field("ok", arrow("bool"), False),
        arrow_field("rate", arrow("double"), False),
        arrow_field("items", arrow("list<…>", "ListType", value_field=arrow_field("item", item))),
        arrow_field("kind", arrow("dictionary<…>", "DictionaryType", value_type=arrow("string"))),
    )

    assert show_type(record_type(schema)) == (
        "⟨id: int, name: str?, price: decimal, day: date, at: datetime, took: timedelta, raw: bytes, "
        "ok: bool, rate: float, items: Bag(⟨pid: int, qty: int?⟩), kind: str?⟩"
    )


@dataclass
class Late:
    other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


REFUSED: list[tuple[Any, str, str]] = [
    (
        3,
        "a schema is not 3",
        "pass a dict of types, a class with annotated fields, DDL text, a StructType or a pyarrow Schema",
    ),
    ({}, "the schema has no columns", "name at least one column"),
    ({"a": {"b": {}}}, "a.b has no columns", "name at least one column"),
    ({1: int}, "a column name is a string, not 1", 'write {"name": type}'),
    (
        {"a": {"b": object}},
        "column 'a.b' cannot have the type object",
        "a type is bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta, "
        "list[T], set[T], dict[K, V], a dict or a dataclass",
    ),
    ({"a": dict[Place, int]}, "the keys of 'a' are scalars", "write dict[str, V]"),
    ({"a": int | str}, "column 'a' has one type, not int | str", "write T or T | None"),
    ({"a": set[int] | None}, "column 'a' holds sets or references, and is never None", ""),
    (Late, "the types of Late cannot be read: name 'Nowhere' is not defined", ""),
    (
        spark_struct(("m", spark("MapType", keyType=spark("ArrayType")), True)),
        "column 'm' cannot have the type MapType",
        "",
    ),
    (spark_struct(("m", spark("NullType"), True)), "column 'm' cannot have the type NullType", ""),
    (
        arrow_schema(arrow_field("t", arrow("month_day_nano_interval"))),
        "column 't' cannot have the type month_day_nano_interval",
        "",
    ),
    (
        arrow_schema(
            arrow_field(
                "m",
                arrow(
                    "map<month_day_nano_interval, int8>", "MapType", key_type=arrow("month_day_nano_interval")
                ),
            )
        ),
        "column 'm' cannot have the type month_day_nano_interval",
        "cast it to a number, a string, a date or a timestamp first; the keys of a map are scalars",
    ),
]


@pytest.mark.parametrize(("schema", "what", "hint"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_schema_says_so(schema, what, hint):
    with pytest.raises(QueryError) as caught:
        record_type(schema)

    assert caught.value.what == what
    assert caught.value.hint == hint or not hint


REFUSED_DDL = {
    "id INTT": ("there is no type INTT", "INTT", "did you mean INT?"),
    "id INT, name": ("a type is expected here", "", ""),
    "id INT name STRING": ("a comma or the end is expected here", "name", ""),
    "id INT, id STRING": ("column 'id' stands twice", "id", "rename one of them"),
    "m MAP<STRUCT<a: INT>, INT>": ("the keys of a MAP are scalars", "MAP", "write MAP<STRING, …>"),
    "m MAP<STRING>": (", is expected here", ">", ""),
    "a ARRAY<INT": ("> is expected here", "", ""),
    "a ARRAY INT": ("ARRAY<…>: < is expected here", "INT", ""),
    "a DECIMAL(10": (") is expected here", "", ""),
    "a INT NOT": ("NOT is followed by NULL", "", ""),
    "": ("the name of a column is expected here", "", ""),
    "3 INT": ("the name of a column is expected here", "3", ""),
    "a INT, b geography": ("there is no type geography", "geography", None),
    "a INT COMMENT 3": ("a comment stands between quotes", "", ""),
}


@pytest.mark.parametrize("text", REFUSED_DDL)
def test_bad_ddl_shows_the_place(text):
    with pytest.raises(QueryError) as caught:
        record_type(text)

    what, under, hint = REFUSED_DDL[text]
    place = caught.value.at
    assert place is not None
    assert (caught.value.what, place.text[place.column : place.column + place.length]) == (what, under)
    assert hint is None or caught.value.hint == hint


def test_a_place_in_a_long_ddl_is_its_line():
    with pytest.raises(QueryError) as caught:
        record_type("id INT,\n  name STRNG,\n  x INT")

    assert (
        str(caught.value)
        == "there is no type STRNG\n  line 2\n      name STRNG,\n           ^^^^^\nhint: did you mean STRING?"
    )
