"""Tables as objects, rows by name, and parameters."""

import pickle
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.frontend.schema import python_schema, record_type
from tests import strategies
from tests.database.habits import CASES, DDL, ROWS, shop


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "in a file"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_habit(case, durable, tmp_path):
    path = tmp_path / "shop.nest"
    with nl.Database(path if durable else None) as db:
        orders = shop(db)
        case(orders)
        db.verify(maps=True)
        kept = sorted(orders)
    if durable:
        with nl.Database(path) as db:
            assert sorted(db.table("orders")) == kept


def test_a_table_without_a_key_has_rows_and_no_key():
    db = nl.Database()
    bag = db.table("bag", {"a": int, "xs": list[int]})
    bag.insert([(1, [2]), (1, [2])])

    assert (1, [2]) in bag
    assert (1, []) not in bag
    assert 1 not in bag
    with pytest.raises(nl.QueryError, match="bag has no key"):
        bag[1]
    with pytest.raises(nl.ChangeError, match="bag has no key"):
        bag.upsert([(1, [2])])


def test_a_key_of_several_columns_is_a_tuple():
    db = nl.Database()
    table = db.table("t", {"a": int, "b": {"c": str}, "n": int}, key=["a", "b"])
    table.insert([(1, ("x",), 5)])
    assert table[1, ("x",)].n == 5
    assert (1, ("y",)) not in table
    assert 1 not in table


def test_an_upsert_names_each_key_once():
    db = nl.Database()
    table = db.table("t", {"a": int, "b": int}, key="a")
    table.insert([(1, 1)])
    with pytest.raises(nl.ChangeError, match="two of the rows have key 1 of t"):
        table.upsert([(1, 2), (1, 3)])
    assert table.rows() == [(1, 1)]


def test_an_upsert_into_a_table_that_only_grows_adds_rows():
    db = nl.Database()
    table = db.table("t", {"a": int, "b": int}, key="a", append_only=True)
    table.upsert([(1, 1)])
    table.upsert([(1, 1), (2, 2)])
    with pytest.raises(nl.ChangeError, match="append-only"):
        table.upsert([(1, 2)])
    assert sorted(table) == [(1, 1), (2, 2)]


def declarable(type_: Type) -> bool:
    """Whether a schema can say it: a record has columns, and nothing is opaque."""
    match type_:
        case Record(fields):
            return bool(fields) and all(declarable(field) for _, field in fields)
        case Bag(element, opaque):
            return not opaque and declarable(element)
    return True


@given(strategies.types().filter(declarable), st.booleans())
def test_a_schema_declares_what_it_was_read_from(type_, null):
    record = Record((("a", Scalar("int", null)), ("b", type_), ("c", Scalar("decimal", null, (10, 2)))))
    assert record_type(python_schema(record)) == record


def test_polars_is_made_from_arrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: table.to_pydict()))
    db = nl.Database()
    orders = shop(db)
    assert orders.to_polars()["customer"] == ["ann", "bob"]
    assert db.views["spend"].to_polars() == {"customer": ["ann", "bob"], "_1": [2, 6]}


def test_a_handle_in_a_transaction_ends_with_it():
    db = nl.Database()
    shop(db)
    with db.transaction() as t:
        inside = t.table("orders")
    with pytest.raises(nl.ChangeError, match="the transaction is over"):
        inside.at(1).items.insert([(5, 5)])
    with pytest.raises(nl.ChangeError, match="there is no table 'x'"), db.transaction() as t:
        t.table("x")


# rows by name


def test_columns_that_python_cannot_name_are_read_by_name():
    db = nl.Database()
    table = db.table("t", {"class": str, "from": int, "__class__": int, "_x": int, "unit price": float})
    table.insert([("a", 1, 2, 3, 0.5)])
    (row,) = table
    assert row == ("a", 1, 2, 3, 0.5)
    assert (row["class"], row["from"], row["__class__"], row["_x"]) == ("a", 1, 2, 3)
    assert (getattr(row, "class"), getattr(row, "unit price")) == ("a", 0.5)
    assert row._asdict() == {"class": "a", "from": 1, "__class__": 2, "_x": 3, "unit price": 0.5}
    assert pickle.loads(pickle.dumps(row))["from"] == 1
    assert (row[0], row[-1], row[:2]) == ("a", 0.5, ("a", 1))
    with pytest.raises(KeyError):
        row["no"]
    view = db.view("v", "[(t['from'], t['class']) for t in t]", language="python")
    assert view.columns == ["from", "class"]
    assert view[1]["class"] == "a"


# a typed view


def test_views_have_types():
    db = nl.Database()
    shop(db)

    @db.view
    def first(orders: Any) -> Any:
        return [o.id for o in orders]

    @db.view(refresh="lazy")
    def second(orders: Any) -> Any:
        return [o.id for o in orders]

    third = db.view("third", "SELECT id FROM orders")
    views: list[nl.View] = [first, second, third]  # which the type checker reads
    assert [len(view) for view in views] == [2, 2, 2]


# parameters


VALUES = [
    7, -7, 1 << 70, True, 0.1, -0.5, "it's", "\\'; --", Decimal("-1.50"), date(2024, 2, 29), timedelta(1, 2, 3),
    datetime(2024, 2, 29, 1, 2, 3, 4), b"\x00'",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_parameter_is_its_value(value):
    db = nl.Database()
    db.sql("CREATE TABLE one (a INT)")
    db.sql("INSERT INTO one VALUES (?)", [1])
    (row,) = db.sql("SELECT ? AS x, ? = ? AS same FROM one", [value, value, value])
    assert row == (value, True)
    assert db.sql("SELECT :v AS x FROM one WHERE :v IS NOT NULL", {"v": value}) == [(value,)]
    assert db.sql("SELECT a FROM one WHERE ? IS NULL", [None]) == [(1,)]


@given(st.text(), st.text())
def test_no_text_becomes_part_of_a_statement(first, second):
    db = nl.Database()
    db.table("t", {"a": str, "b": str})
    db.sql("INSERT INTO t VALUES (?, ?)", (first, second))
    assert db.sql("SELECT b, a FROM t WHERE a = :x AND b = :y", {"y": second, "x": first}) == [
        (second, first)
    ]
    db.sql(
        "UPDATE t SET a = ? WHERE b = ?; DELETE FROM t WHERE a = ? AND b = ?",
        [second, second, second, second],
    )
    assert db.table("t").rows() == []


def test_marks_are_counted_in_the_order_of_the_text():
    db = nl.Database()
    db.table("t", "a INT, b INT").insert([(1, 1), (2, 1), (3, 1), (4, 2)])
    text = "SELECT a, ? AS x FROM (SELECT a, b FROM t WHERE a <> ?) AS s WHERE b = ? ORDER BY a DESC LIMIT ?"
    assert db.sql(text, ["x", 2, 1, 1]) == [(3, "x")]
    db.sql("CREATE VIEW v AS SELECT a FROM t WHERE b = ?", [2])
    assert db.views["v"].rows() == [(4,)]


REFUSED: dict[str, tuple[str, Any, str]] = {
    "too few": ("SELECT a FROM t WHERE a = ?", [], "no value is given"),
    "too many": ("SELECT a FROM t WHERE a = ?", [1, 2], "2 values are given for 1 parameters"),
    "another name": ("SELECT a FROM t WHERE a = :x", {"y": 1}, "no value is given"),
    "one name more": ("SELECT a FROM t WHERE a = :x", {"x": 1, "y": 1}, "'y' stands nowhere"),
    "a list for names": ("SELECT a FROM t WHERE a = :x", [1], "no value is given"),
    "names for marks": ("SELECT a FROM t WHERE a = ?", {"x": 1}, "no value is given"),
    "a list": ("SELECT a FROM t WHERE a IN (?)", [[1, 2]], "parameter 1 is a scalar"),
    "a place": ("SELECT a FROM t ORDER BY ?", [1], "stands for a value"),
    "a group": ("SELECT count(*) AS n FROM t GROUP BY ?", [1], "stands for a value"),
    "a table": ("SELECT a FROM ?", ["t"], "stands for a value"),
    "a part": ("SELECT parse_json('{}'):x::INT AS a FROM t", {"x": 1}, "'x' stands nowhere"),
    "a moment": (
        "SELECT a FROM t WHERE a = ?",
        [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))],
        "parameter 1 cannot be",
    ),
    "a text": ("SELECT a FROM t WHERE a = ?", "x", "parameters are a list or a dict"),
}


@pytest.mark.parametrize("text, params, message", REFUSED.values(), ids=REFUSED)
def test_parameters_that_do_not_fit_are_refused(text, params, message):
    db = nl.Database()
    db.table("t", "a INT, b INT")
    with pytest.raises(nl.QueryError, match=message) as error:
        db.sql(text, params)
    assert "\nhint: " in str(error.value)


def test_the_rows_of_the_cases_are_those_of_the_shop():
    db = nl.Database()
    assert sorted(shop(db)) == ROWS
    assert list(record_type(DDL).names) == db.table("orders").columns
