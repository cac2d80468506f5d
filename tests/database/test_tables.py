"""Tables: how they are declared, what may stand in them, and how their rows read."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import nestling as nl


@dataclass
class Item:
    pid: int
    qty: int


@dataclass
class Order:
    id: int
    customer: str
    items: list[Item]


class Movie(NamedTuple):
    name: str
    gen: str


DDL = "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>"
NESTED = {"id": int, "customer": str, "items": list[Item]}


@pytest.mark.parametrize("schema", [DDL, NESTED, Order], ids=["DDL", "dict", "dataclass"])
def test_every_schema_declares_the_same_table(schema):
    db = nl.Database()
    orders = db.table("orders", schema, key="id")

    db.insert("orders", [(7, "ann", [(1, 2), (1, 2), (0, 3)])])

    (row,) = orders
    assert row == (7, "ann", [(0, 3), (1, 2), (1, 2)])
    assert (row.id, row[1], row.items[0].qty) == (7, "ann", 3)
    assert orders.key == ("id",)


def test_a_spark_schema_is_known_by_its_class():
    """Spark is not imported; its schema says what it is."""

    def foreign(class_, **fields):
        return type(class_, (SimpleNamespace,), {"__module__": "pyspark.sql.types"})(**fields)

    field = foreign("StructField", name="name", dataType=foreign("StringType"), nullable=True)
    struct = foreign("StructType", fields=[field])
    db = nl.Database()
    db.table("M", struct)

    db.insert("M", [("Drive",), (None,)])

    assert sorted(db.table("M"), key=str) == [("Drive",), (None,)]


def test_a_record_inside_a_row_reads_likewise():
    db = nl.Database()
    M = db.table("M", {"name": str, "made": {"by": str, "when": {"year": int}}})
    db.insert("M", [{"name": "Drive", "made": {"by": "Refn", "when": {"year": 2011}}}])

    (row,) = M
    name, made = row
    assert (name, made.by, made.when.year, made[1]) == ("Drive", "Refn", 2011, (2011,))
    assert row == ("Drive", ("Refn", (2011,)))


def test_every_scalar_comes_back_as_it_went():
    db = nl.Database()
    values = (
        True, 2**70, 0.5, Decimal("1.10"), "it's", b"\x00", date(2020, 2, 29), datetime(2020, 1, 1, 12), timedelta(1),
    )  # fmt: skip
    names = "abcdefghi"
    table = db.table("t", {name: type(value) for name, value in zip(names, values, strict=True)}, key="b")
    view = db.view("v", lambda t: [x for x in t])  # noqa: C416 - a view is a comprehension
    db.insert("t", [values])

    assert table.rows() == view.rows() == [values]
    assert [type(value) for value in view.rows()[0]] == [type(value) for value in values]


def test_what_is_nullable_says_so():
    db = nl.Database()
    db.table("t", {"a": int, "b": int | None})
    db.insert("t", [{"a": 1}, {"a": 1, "b": None}, (1, 2)])

    assert sorted(db.table("t"), key=str) == [(1, 2), (1, None), (1, None)]
    with pytest.raises(nl.ChangeError, match="'a' is never None"):
        db.insert("t", [(None, 1)])


def test_without_a_key_duplicates_count():
    db = nl.Database()
    S = db.table("S", {"a": int})
    view = db.view("v", lambda S: [s.a for s in S])
    db.insert("S", [(1,), (1,), (2,)])

    assert len(S) == len(view) == 3
    assert dict(view.bag().items()) == {1: 2, 2: 1}
    db.delete("S", [(1,)])
    assert sorted(view) == [1, 2]


def test_equal_rows_have_inner_bags_of_their_own():
    """Without a key a row is told from its equal by nothing, and one can go without the other."""
    db = nl.Database()
    R = db.table("R", {"a": int, "items": list[int]})
    view = db.view("v", lambda R: [(r.a, [i for i in r.items if i > 0]) for r in R])
    db.insert("R", [(1, [5]), (1, [5]), (1, [])])

    db.delete("R", [(1, [5])])

    assert sorted(R) == sorted(view) == [(1, []), (1, [5])]
    view.verify()


def test_a_key_of_several_columns():
    db = nl.Database()
    T = db.table("T", {"a": int, "b": str, "c": list[int]}, key=["a", "b"])
    db.insert("T", [(1, "x", [1]), (1, "y", [2])])

    db.update("T", key=(1, "y"), set={"c": [7]})
    T.at(1, "x").c.insert([3])
    db.delete("T", key=(1, "y"))

    assert T.key == ("a", "b")
    assert T.rows() == [(1, "x", [1, 3])]
    with pytest.raises(nl.ChangeError, match=r"T already has a row with key \(1, 'x'\)"):
        db.insert("T", [(1, "x", [])])


def test_a_table_is_found_by_its_name():
    db = nl.Database()
    M = db.table("M", {"name": str}, key="name")
    db.insert("M", [("Drive",)])

    assert list(db.tables) == ["M"]
    assert db.table("M").rows() == db.tables["M"].rows() == M.rows() == [("Drive",)]
    assert repr(M) == "Table(M: ⟨name: str⟩, key=name)"
    assert repr(db) == "Database(M: ⟨name: str⟩)"


def test_a_table_that_is_not_there():
    db = nl.Database()
    db.table("M", {"name": str})

    with pytest.raises(nl.QueryError, match=r"there is no table 'N'\nhint: there are M"):
        db.table("N")


@pytest.mark.parametrize(
    ("key", "message"),
    [("nam", "M has no column 'nam' to be its key"), ("tags", "tags is a bag and cannot be a key")],
)
def test_a_key_is_scalar_columns(key, message):
    with pytest.raises(nl.QueryError, match=message):
        nl.Database().table("M", {"name": str, "tags": list[str]}, key=key)


def test_a_name_is_given_once():
    db = nl.Database()
    db.table("M", {"name": str})

    with pytest.raises(nl.QueryError, match="'M' is already defined"):
        db.table("M", {"name": int})


def test_rows_may_be_dicts_tuples_dataclasses_and_named_tuples():
    db = nl.Database()
    orders = db.table("orders", Order, key="id")
    M = db.table("M", Movie)

    db.insert(
        "orders",
        [
            {"items": [], "id": 1, "customer": "a"},
            (2, "b", [{"qty": 1, "pid": 2}]),
            Order(3, "c", [Item(4, 5)]),
        ],
    )
    db.insert("M", [Movie("Drive", "Drama"), ["Rush", "Action"]])

    assert sorted(orders) == [(1, "a", []), (2, "b", [(2, 1)]), (3, "c", [(4, 5)])]
    assert sorted(M) == [("Drive", "Drama"), ("Rush", "Action")]


def test_a_row_read_from_a_table_can_be_given_back():
    db = nl.Database()
    orders = db.table("orders", DDL, key="id")
    db.insert("orders", [(1, "a", [(1, 2)])])

    (row,) = orders
    db.delete("orders", [row])
    db.insert("orders", [row._replace(customer="b")])

    assert orders.rows() == [(1, "b", [(1, 2)])]


def test_references_and_append_only_tables_are_checked():
    db = nl.Database()
    db.table("M", {"name": str, "gen": str}, key="name", append_only=True)
    db.table("seen", {"who": str, "name": str}, references={"name": "M"})
    view = db.view("v", lambda M, seen: [(s.who, m.gen) for s in seen for m in M if m.name == s.name])
    db.insert("M", [("Drive", "Drama")])
    db.insert("seen", [("ann", "Drive")])

    with pytest.raises(nl.ChangeError, match="name of seen is 'Rush', but M has no such row"):
        db.insert("seen", [("ann", "Rush")])
    with pytest.raises(nl.ChangeError, match="M is append-only"):
        db.delete("M", key="Drive")
    with pytest.raises(nl.ChangeError, match="M is append-only"):
        db.update("M", key="Drive", set={"gen": "Action"})
    with pytest.raises(nl.QueryError, match="M is read by v, seen"):
        db.drop("M")
    assert view.rows() == [("ann", "Drama")]
    view.verify()


def test_a_table_is_dropped_with_its_rows():
    db = nl.Database()
    db.table("M", {"name": str})
    db.insert("M", [("Drive",)])
    db.drop("M")
    M = db.table("M", {"name": str, "gen": str})

    assert M.rows() == []
    with pytest.raises(nl.QueryError, match="there is no 'N'"):
        db.drop("N")
