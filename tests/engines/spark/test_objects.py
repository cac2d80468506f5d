"""Objects on Spark: the same declarations, the same answers and refusals, few rows and many."""

import random
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from tests.database import graphs
from tests.database.test_references import REFUSED, check_refused, rows
from tests.objects import declare_people, declare_shop, people, shop

pytestmark = pytest.mark.xdist_group("spark")

WORDS = {"customer": "cascade", "lines.product": "cascade", "gift": "nil", "watchers": "nil"}
#: Those that differ from each other on Spark, where each takes seconds.
FEW = ("a row", "of a bag", "deletion", "the key", "a set", "an inverse of others")


@pytest.fixture(scope="module")
def db(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    db = nl.Database(spark=spark, path=tmp_path_factory.mktemp("objects") / "lake")
    yield people(shop(db, WORDS))
    db.close()


def test_what_would_lead_nowhere_is_refused(db):
    for name in FEW:
        act, message = REFUSED[name]
        check_refused(db, act, message)


def test_many_rows_are_kept_good(db, spark, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    before = {name: sorted(map(repr, table)) for name, table in db.tables.items()}
    orders = (
        "no LONG, customer LONG, date DATE, lines ARRAY<STRUCT<product: LONG, quantity: LONG, price: LONG>>,"
    )
    orders += " gift LONG, watchers ARRAY<LONG>"

    def refuse(table: str, given: list[Any], schema: str, message: str, act: str = "insert") -> None:
        with pytest.raises(nl.ChangeError, match=message):
            getattr(db, act)(table, spark.createDataFrame(given, schema))

    day = next(iter(db.table("orders"))).date
    refuse(
        "orders",
        [(20, 9, day, [], None, [])],
        orders,
        "customer of orders is 9, but customers has no such row",
    )
    refuse("orders", [(20, 1, day, [(9, 1, 1)], None, [])], orders, "lines.product of orders is 9")
    refuse("orders", [(20, 1, day, [], None, [1, 9])], orders, "watchers of orders is 9")
    refuse("regions", [(1, "north")], "id LONG, name STRING", "regions is referred to by customers", "delete")
    person = "id LONG, name STRING, age LONG, dept LONG, children ARRAY<LONG>"
    refuse("persons", [(4, "x", 1, None, [])], person, "students already has a row with key 4")
    assert {name: sorted(map(repr, table)) for name, table in db.tables.items()} == before

    db.insert("orders", spark.createDataFrame([(20, 4, day, [(3, 1, 1), (1, 1, 1)], 3, [4])], orders))
    db.delete("products", spark.createDataFrame([(3, "tray", 12)], "id LONG, name STRING, cost LONG"))
    found = rows(db, "orders")
    assert (found[10].gift, found[20].gift, found[20].lines) == (None, None, [(1, 1, 1)])
    feed = person + ", _change_type STRING"
    student = (
        "id LONG, name STRING, age LONG, dept LONG, children ARRAY<LONG>, grade LONG, _change_type STRING"
    )
    db.apply(
        {
            "students": spark.createDataFrame([(3, "Sue", 20, 2, [], 1, "delete")], student),
            "persons": spark.createDataFrame([(3, "Sue", 21, 2, [], "insert")], feed),
        }
    )
    assert rows(db, "persons")[3].age == 21
    assert sorted(rows(db, "managers")[2].staff) == [1, 3]


def test_what_follows_is_told_and_stored(db, spark):
    db.update("customers", key=4, set={"referrer": None})
    db.table("customers").at(4).orders.insert([12])
    db.table("orders").at(12).customer.update({"name": "Don"})
    assert rows(db, "customers")[4].name == "Don"
    refresh = db.delete("customers", key=4)
    assert refresh.tables["orders"] >= 1
    assert refresh.tables["customers"] == 1
    assert 12 not in rows(db, "orders")
    assert rows(db, "orders")[13].watchers == []
    before = dict(db._state.tables)
    path = db.folder
    db.close()
    with nl.Database(spark=spark, path=path) as again:
        assert again._state.tables == before
        declare_shop(again, WORDS)
        declare_people(again)
        assert 12 not in rows(again, "orders")


@pytest.mark.parametrize("most", [limits.MAX_TRANSACTION_ROWS, 0])
@pytest.mark.soak
def test_references_stay_good(spark, tmp_path, monkeypatch, most):
    rng = random.Random(most)
    said = graphs.words(rng)
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        graphs.declare(db, said)
        found = graphs.start(db, rng)
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", most)
        for _ in range(12):
            statement = graphs.Statement(rng, found)
            while statement.kind in ("where", "move"):
                statement = graphs.Statement(rng, found)
            found = graphs.step(db, found, said, [statement])
