"""Rows of pandas, NumPy and Arrow: each is the row that it says, or refused by name; and back again."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import nestling as nl
from nestling.calculus.types import Scalar
from nestling.frontend.schema import element_value

#: What is given for a scalar type, and the plain value that it is.
TAKEN: list[tuple[str, Any, Any]] = [
    ("int", np.int64(5), 5),
    ("int", np.uint8(5), 5),
    ("int", np.uint64(2**64 - 1), 2**64 - 1),
    ("float", np.float64(0.5), 0.5),
    ("float", np.float32(0.5), 0.5),
    ("float", np.float16(0.5), 0.5),
    ("float", np.longdouble(0.5), 0.5),
    ("float", np.int32(3), 3.0),
    ("bool", np.bool_(True), True),
    ("str", np.str_("x"), "x"),
    ("bytes", np.bytes_(b"x"), b"x"),
    ("date", np.datetime64("2024-05-01"), date(2024, 5, 1)),
    ("datetime", np.datetime64("2024-05-01T10:00", "ns"), datetime(2024, 5, 1, 10)),
    ("datetime", np.datetime64("2024-05-01T10:00", "s"), datetime(2024, 5, 1, 10)),
    ("timedelta", np.timedelta64(3_000, "ns"), timedelta(microseconds=3)),
    ("timedelta", np.timedelta64(2, "D"), timedelta(2)),
    ("datetime", pd.Timestamp("2024-05-01 10:00:00.000001"), datetime(2024, 5, 1, 10, 0, 0, 1)),
    ("timedelta", pd.Timedelta(5, "us"), timedelta(microseconds=5)),
]


@pytest.mark.parametrize(("name", "given", "plain"), TAKEN, ids=repr)
def test_scalars_of_other_libraries_are_the_values_that_they_equal(name, given, plain):
    value = element_value(Scalar(name), given)

    assert value == plain
    assert type(value) is type(plain)


MISSING = [pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64("NaT")]
NAMES = ["bool", "int", "float", "decimal", "str", "bytes", "date", "datetime", "timedelta"]


def test_spark_that_is_not_installed_is_asked_for(monkeypatch):
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name="pyspark")

    monkeypatch.setattr("nestling.database.engines.import_module", absent)
    with pytest.raises(nl.QueryError, match="needs the library pyspark") as error:
        nl.Database(spark=object(), path="lake")
    assert "nestling[spark]" in str(error.value)


@pytest.mark.parametrize("missing", MISSING, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_is_none_where_that_may_be(name, missing):
    assert element_value(Scalar(name, nullable=True), missing) is None
    with pytest.raises(nl.ChangeError, match="is never"):
        element_value(Scalar(name), missing)


@pytest.mark.parametrize("name", NAMES)
def test_a_nan_is_none_where_it_is_no_value(name):
    nan = float("nan")
    if name == "float":
        assert element_value(Scalar(name, nullable=True), nan) is not None
    elif name == "decimal":
        with pytest.raises(nl.ChangeError, match="not nan"):
            element_value(Scalar(name, nullable=True), nan)
    else:
        assert element_value(Scalar(name, nullable=True), nan) is None
        with pytest.raises(nl.ChangeError, match="not nan"):
            element_value(Scalar(name), nan)


REFUSED: list[tuple[str, Any, str]] = [
    ("int", np.float64(1.0), "pass an int"),
    ("int", np.bool_(True), "a bool is no int"),
    ("int", np.datetime64("2024-05-01T10:00", "ns"), "pass a value of type int"),
    ("int", np.timedelta64(5, "ns"), "pass a value of type int"),
    ("int", np.array([5]), "pass a value of type int"),
    ("int", np.array(5), "pass a value of type int"),
    ("float", np.array([1.0, 2.0]), "pass a value of type float"),
    ("float", np.complex128(1), "pass a value of type float"),
    ("float", 10**400, "no float is as large"),
    ("datetime", pd.Timestamp("2024-05-01 10:00:00.000000001"), "finer than a microsecond"),
    ("datetime", np.datetime64("2024-05-01T10:00:00.000000001", "ns"), "finer than a microsecond"),
    ("timedelta", pd.Timedelta(1, "ns"), "finer than a microsecond"),
    ("timedelta", np.timedelta64(1, "ns"), "finer than a microsecond"),
    ("datetime", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "also in UTC"),
    (
        "datetime",
        pd.Timestamp("2024-05-01 10:00:00.000000001", tz="Europe/Rome"),
        "finer than a microsecond",
    ),
    ("date", pd.Timestamp("2024-05-01"), r"pass value.date\(\)"),
    ("datetime", np.datetime64("2024-05-01"), "pass a datetime"),
    ("timedelta", np.timedelta64(1, "M"), ""),
    ("str", np.bytes_(b"x"), "pass a value of type str"),
]


@pytest.mark.parametrize(("name", "given", "hint"), REFUSED, ids=repr)
def test_what_equals_no_value_is_refused(name, given, hint):
    with pytest.raises(nl.ChangeError, match=f"takes {name}, not .*\nhint: .*{hint}"):
        element_value(Scalar(name), given)


SCHEMA: dict[str, Any] = {
    "k": int, "i": int | None, "f": float | None, "b": bool | None, "s": str | None, "d": datetime | None,
    "t": timedelta | None, "da": date | None, "de": Decimal | None, "x": bytes | None, "l": list[int],
}  # fmt: skip
ROWS = [
    (1, None, None, None, None, None, None, None, None, None, []),
    (
        2,
        2**60 + 1,
        0.5,
        True,
        "x",
        datetime(1, 1, 1),
        timedelta(5),
        date(1, 1, 1),
        Decimal("1.5"),
        b"x",
        [1, 2, 2],
    ),
    (3, 0, -0.0, False, "", datetime(9999, 12, 31), timedelta(0), date(9999, 12, 31), Decimal(0), b"", [0]),
]


@pytest.fixture
def db():
    db = nl.Database()
    db.table("T", SCHEMA, key="k")
    db.view("v", lambda T: [t for t in T])  # noqa: C416 (a view is a comprehension)
    return db


@pytest.mark.parametrize("form", ["to_pandas", "to_arrow"])
def test_a_view_that_goes_out_and_comes_in_again_is_the_same(db, form):
    assert len(getattr(db.views["v"], form)()) == 0
    db.insert("T", [*ROWS, (4, 1, float("nan"), None, None, None, None, None, None, None, [])])
    there = db.views["v"].bag()
    table = getattr(db.views["v"], form)()

    assert db.sync("T", table).events == 0
    db.delete("T", table)
    assert len(db.views["v"]) == 0
    db.insert("T", table)
    assert db.views["v"].bag() == there
    db.verify()


def test_columns_of_a_dataframe_hold_their_values(db):
    db.insert("T", ROWS)
    frame = db.views["v"].to_pandas()

    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "k": "int64", "i": "Int64", "f": "Float64", "b": "boolean", "s": "object", "d": "datetime64[us]",
        "t": "timedelta64[us]", "da": "object", "de": "object", "x": "object", "l": "object",
    }  # fmt: skip
    assert frame["i"].tolist() == [pd.NA, 2**60 + 1, 0]
    assert frame["s"].tolist() == [None, "x", ""]


def test_ints_that_no_library_holds(db):
    db.insert("T", [(1, 10**30, None, None, None, None, timedelta.max, None, None, None, [])])
    view = db.views["v"]

    assert db.sync("T", view.to_pandas()).events == 0
    with pytest.raises(nl.NestlingError, match="Arrow cannot hold a value"):
        view.to_arrow()


def ints(*columns: Any, schema: Any = None) -> nl.Database:
    db = nl.Database()
    db.table("T", schema or {"k": int, "i": int | None})
    return db


def test_floats_of_pandas_that_stand_for_ints():
    db = ints()
    db.insert("T", pd.DataFrame({"k": [1, 2], "i": [5, None]}))

    assert sorted(db.table("T")) == [(1, 5), (2, None)]
    assert type(db.table("T").rows()[0][1]) is int
    for wrong in (1.5, 2.0**60, float("inf")):
        with pytest.raises(nl.ChangeError, match="'i' takes int"):
            db.insert("T", pd.DataFrame({"k": [1, 2], "i": [wrong, None]}))
    with pytest.raises(nl.ChangeError, match=r"'k' takes int, not 1\.0"):
        db.insert("T", pd.DataFrame({"k": [1.0], "i": [1]}))


def test_nullable_types_of_pandas():
    db = ints(
        schema={"i": int | None, "s": str | None, "d": datetime | None, "f": float | None, "b": bool | None}
    )
    frame = pd.DataFrame(
        {
            "i": pd.array([2**60 + 1, None], dtype="Int64"),
            "s": ["x", np.nan],
            "d": pd.to_datetime(["2024-05-01", None]),
            "f": [0.5, np.nan],
            "b": pd.array([True, None], dtype="boolean"),
        }
    )
    db.insert("T", frame)

    assert sorted(db.table("T"), key=str) == [
        (2**60 + 1, "x", datetime(2024, 5, 1), 0.5, True),
        (None, None, None, None, None),
    ]


def test_missing_values_of_pandas_where_nothing_may_be_missing():
    db = ints(schema={"d": datetime})
    with pytest.raises(nl.ChangeError, match="'d' is never NaT"):
        db.insert("T", pd.DataFrame({"d": pd.to_datetime(["2024-05-01", None])}))
    db = ints(schema={"f": float})
    db.insert("T", pd.DataFrame({"f": [np.nan]}))
    assert str(db.table("T").rows()) == "[Row(f=nan)]"


def test_a_column_that_stands_twice_is_refused():
    db = ints()
    frame = pd.DataFrame([[1, 2, 3]], columns=["k", "i", "i"])
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["k", "i", "i"])
    for each in (frame, table):
        with pytest.raises(nl.ChangeError, match="column 'i' stands twice"):
            db.insert("T", each)
        assert db.table("T").rows() == []


def test_changes_of_a_table_and_of_an_inner_bag_as_dataframes():
    db = nl.Database()
    db.table("orders", {"id": int, "items": [{"pid": int, "qty": int | None}]}, key="id")
    db.apply({"orders": pd.DataFrame({"id": [1], "items": [[]], "_change_type": ["insert"]})})
    items = pd.DataFrame({"id": [1, 1], "pid": [7, 8], "qty": [2, None], "_change_type": ["insert"] * 2})
    db.apply({"orders.items": items})
    db.table("orders").at(1).items.insert(pd.DataFrame({"pid": [9], "qty": [3]}))

    assert db.table("orders").rows() == [(1, [(7, 2), (8, None), (9, 3)])]


NESTED = pa.table(
    {
        "k": pa.array([1, 2], pa.uint8()),
        "i": pa.array([None, None]),
        "f": pa.array([1, None], pa.float32()),
        "b": pa.array([True, None]),
        "s": pa.array(["x", None], pa.large_string()).dictionary_encode(),
        "d": pa.array([datetime(2024, 5, 1), None], pa.timestamp("ns")),
        "t": pa.array([timedelta(1), None], pa.duration("ms")),
        "da": pa.array([date(2024, 5, 1), None], pa.date64()),
        "de": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "x": pa.array([b"x", None], pa.large_binary()),
        "l": pa.array([[1, 1], []], pa.large_list(pa.int8())),
    }
)
READ = [
    (1, None, 1.0, True, "x", datetime(2024, 5, 1), timedelta(1), date(2024, 5, 1), Decimal("1.50"), b"x", [1, 1]),
    (2, None, None, None, None, None, None, None, None, None, []),
]  # fmt: skip


@pytest.mark.parametrize(
    "form", [lambda t: t, lambda t: t.to_batches()[0], lambda t: t.to_reader()], ids=range(3)
)
def test_arrow_in_all_its_types(db, form):
    db.insert("T", form(NESTED))
    assert sorted(db.table("T")) == READ
    db.sync("T", form(NESTED))
    db.apply({"T": NESTED.append_column("_change_type", pa.array(["delete"] * 2))})
    assert db.table("T").rows() == []


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1], pa.timestamp("ns")), "'d' takes datetime"),
        (pa.array([10**15], pa.timestamp("s")), "the Arrow table holds what Python cannot"),
        (pa.array([1], pa.time64("us")), "'d' takes datetime"),
        (pa.array([{"a": 1}]), "'d' takes datetime"),
    ],
    ids=["nanosecond", "year 31 million", "time", "struct"],
)  # fmt: skip
def test_arrow_that_no_column_holds(column, message):
    db = ints(schema={"d": datetime | None})
    with pytest.raises(nl.ChangeError, match=message):
        db.insert("T", pa.table({"d": column}))
    assert db.table("T").rows() == []


@pytest.mark.parametrize("zone", ["UTC", "+02:00"])
def test_moments_of_arrow_with_a_zone_are_those_of_utc(zone):
    db = ints(schema={"d": datetime | None})
    moment = datetime(2024, 5, 1, 8, tzinfo=UTC)
    db.insert("T", pa.table({"d": pa.array([moment, None], pa.timestamp("us", zone))}))
    assert sorted(row.d for row in db.table("T") if row.d) == [datetime(2024, 5, 1, 8)]


def test_arrays_are_bags():
    db = ints(schema={"l": list[int]})
    db.insert(
        "T", [(np.array([1, 2]),), (pa.array([1, 2]),), (pd.Series([1, 2]),), (range(1, 3),), ({1, 2},)]
    )
    assert db.table("T").rows() == [([1, 2],)] * 5
    with pytest.raises(nl.ChangeError, match="takes int, not "):
        db.insert("T", [(np.array(["2024-05-01"], "datetime64[ns]"),)])
