"""DataFrames whose rows come here as they are: shredded by Arrow as by everybody else, or left to queries."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from nestling import Database
from nestling.database.spark import rows_here
from nestling.database.spark.rows_here import shredded
from nestling.engine.spark import limits
from nestling.engine.spark.columns import layouts
from nestling.engine.spark.types import values

ITEMS = pa.list_(pa.struct([("price", pa.decimal128(9, 2)), ("part", pa.int32())]))
PLACE = pa.struct([("y", pa.int16()), ("x", pa.int8())])
SCHEMA = pa.schema(
    [
        ("name", pa.string()), ("id", pa.int64()), ("day", pa.date32()), ("at", pa.timestamp("us")),
        ("total", pa.decimal128(15, 2)), ("ok", pa.bool_()), ("place", PLACE), ("items", ITEMS),
        ("tags", pa.list_(pa.string())),
    ]
)  # fmt: skip


def database(key: Any) -> Database:
    db = Database()
    record = {
        "id": int, "name": str, "day": date | None, "at": datetime, "total": Decimal, "ok": bool,
        "place": {"x": int, "y": int}, "tags": [str], "items": [{"part": int, "price": Decimal}],
    }  # fmt: skip
    db.table("R", record, key=key)
    return db


def rows(random: Random, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": i - 3, "name": random.choice(["ä", "", "x(i7;)"]) + str(i), "ok": random.random() < 0.5,
            "day": random.choice([None, date(2, 1, 3)]), "at": datetime(2020, 1, 1, 2, 3, 4, 5),
            "total": Decimal(random.randrange(-900, 900)) / 100, "place": {"x": 1, "y": -i},
            "tags": random.choices("ab", k=random.randrange(3)),
            "items": [{"part": random.randrange(3), "price": Decimal(5) / 4} for _ in range(random.randrange(4))],
        }
        for i in range(number)
    ]  # fmt: skip


def found(db: Database, table: pa.Table, sign: int = 1) -> dict[str, Counter[Any]] | None:
    """The flat rows of an Arrow table, summed."""
    here = shredded(db._state.tables["R"], table, sign)
    if here is None:
        return None
    of = layouts(db._state.engine.program)
    sums = {}
    for name, part in here.items():
        sums[name] = Counter[Any]()
        for *row, times in values([type_ for _, type_ in of[name].columns], part):
            sums[name][tuple(row)] += times
    return sums


def shop(rows: list[dict[str, Any]], key: Any = "id") -> tuple[Database, dict[str, Counter[Any]]]:
    """An embedded database, and the flat tables that it has after it was given ``rows``."""
    db = database(key)
    db.view("v", "[r.id for r in R]", language="python")
    db.insert("R", rows)
    engine = db._state.engine
    return db, {name: Counter(engine.table(name)) for name in ("R", "R.tags", "R.items")}


@pytest.mark.parametrize("key", ["id", "name", ["name", "id"]], ids=str)
@pytest.mark.parametrize("number", [0, 1, 30])
def test_arrow_shreds_as_the_shredder_does(key, number):
    """labels of ints and texts among the rest, columns in another order than they were declared in"""
    some = rows(Random(number), number)
    db, wanted = shop(some, key)
    table = pa.Table.from_pylist(some, schema=SCHEMA)
    parts = pa.concat_tables([table.slice(0, 3), table.slice(3)])  # in several chunks

    assert found(db, parts) == wanted
    assert found(db, parts, -1) == {
        name: Counter({r: -n for r, n in c.items()}) for name, c in wanted.items()
    }


def test_a_feed_says_what_happened():
    some = rows(Random(1), 4)
    db, _ = shop([])
    kinds = pa.array(["insert", "delete", "update_preimage", "update_postimage"])
    table = pa.Table.from_pylist(some, schema=SCHEMA).append_column("_change_type", kinds)
    counted = found(db, table)

    assert counted is not None
    assert [counted["R"][row] for row in sorted(counted["R"])] == [1, -1, -1, 1]
    assert (
        found(db, table.set_column(9, "_change_type", pa.array(["insert", None, "insert", "insert"]))) is None
    )
    assert found(db, table.set_column(9, "_change_type", pa.array(["upsert"] * 4))) is None


def without(name: str, type_: pa.DataType, *given: Any) -> pa.Table:
    """Rows of which one column is another."""
    table = pa.Table.from_pylist(rows(Random(2), len(given)), schema=SCHEMA)
    return table.set_column(SCHEMA.get_field_index(name), pa.field(name, type_), pa.array(given, type_))


@pytest.mark.parametrize(
    "table",
    [
        without("id", pa.int64(), None, 1),
        without("id", pa.uint64(), 1, 2),
        without("name", pa.int64(), 1, 2),
        without("total", pa.decimal128(38, 20), Decimal("0.12345678901234567890"), Decimal(1)),
        without("total", pa.decimal128(38, 0), Decimal(10) ** 30),
        without("total", pa.int64(), 1),
        without("at", pa.timestamp("us", tz="UTC"), datetime(2020, 1, 1)),
        without("items", ITEMS, None),
        without("items", ITEMS, [None]),
        without("items", ITEMS, [{"part": None, "price": Decimal(1)}]),
        without("tags", pa.list_(pa.string()), ["a", None]),
        without("tags", pa.string(), "a"),
        without("place", PLACE, None),
        without("place", pa.struct([("x", pa.int64())]), {"x": 1}),
        without("id", pa.int64(), 1, 2).drop_columns(["ok"]),
        without("id", pa.int64(), 1, 2).append_column("more", pa.array([1, 2])),
        without("id", pa.int64(), 1, 2).append_column("ok", pa.array([True, True])),
    ],
    ids=[
        "null", "unsigned", "ints for texts", "digits", "much", "ints for decimals", "a zone", "no bag", "no element",
        "null inside", "no text", "a text for a bag", "no record", "a field less", "a column less", "a column more",
        "a column twice",
    ],
)  # fmt: skip
def test_what_may_be_refused_is_left_to_queries(table):
    """which know what is wrong with it, if anything is"""
    assert found(database("id"), table) is None


def test_so_are_tables_whose_labels_are_not_made_from_plain_keys():
    some = pa.Table.from_pylist(rows(Random(3), 3), schema=SCHEMA)
    assert found(database("day"), some) is None
    assert found(database(None), some) is None


def test_so_is_a_number_beyond_what_was_declared(monkeypatch):
    db = Database()
    db.table("R", "id INT, total DECIMAL(4,2)", key="id")
    table = pa.table({"id": pa.array([1], pa.int64()), "total": pa.array([Decimal("12.50")])})
    assert found(db, table) == {"R": Counter({(1, Decimal("12.50")): 1})}
    assert found(db, table.set_column(0, "id", pa.array([2**31]))) is None
    assert found(db, table.set_column(1, "total", pa.array([Decimal("100.00")]))) is None
    assert found(db, table.set_column(1, "total", pa.array([Decimal("1.001")]))) is None
    monkeypatch.setattr(limits, "MAX_COLLECTED_ROWS", 0)
    assert found(db, table) is None


@pytest.mark.xdist_group("spark")
def test_so_are_rows_that_are_too_many_or_too_wide(spark, monkeypatch):
    frame = spark.range(10)
    assert rows_here.rows_here(frame, 8.0).num_rows == 10
    assert rows_here.rows_here(frame, None) is None  # nobody knows how wide they are
    monkeypatch.setattr(limits, "MAX_FETCHED_BYTES", 79)
    assert rows_here.rows_here(frame, 8.0) is None
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    assert rows_here.rows_here(frame, 0.0) is None
