"""A view that ends in ``order by`` is read in that order, and is a bag like any other."""

import json
import sqlite3

import pytest

import nestling as nl
from nestling.errors import NestlingError, QueryError
from tests.objects import shop

PEOPLE = [("Ada", 3, None), ("Ben", 1, 2.5), ("Cleo", 3, 1.0), ("Dan", 2, None), ("Eve", 1, 7.0)]


def people(path=None):
    db = nl.Database(path) if path else nl.Database()
    db.table("people", {"name": str, "age": int, "score": float | None}, key="name")
    return db


def names(view):
    return [row.name for row in view]


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ("p.name", ["Ada", "Ben", "Cleo", "Dan", "Eve"]),
        ("p.age desc, p.name", ["Ada", "Cleo", "Dan", "Ben", "Eve"]),
        ("p.age, p.name desc", ["Eve", "Ben", "Dan", "Cleo", "Ada"]),
        ("p.age", ["Ben", "Eve", "Dan", "Ada", "Cleo"]),
        ("p.age desc", ["Cleo", "Ada", "Dan", "Eve", "Ben"]),
        ("p.score, p.name", ["Ada", "Dan", "Cleo", "Ben", "Eve"]),
        ("p.score desc, p.name", ["Eve", "Ben", "Cleo", "Ada", "Dan"]),
    ],
)
def test_rows_come_in_order(order, wanted):
    db = people()
    view = db.view("v", f"select p from p in people order by {order}", language="oql")
    db.insert("people", PEOPLE)
    assert names(view) == wanted
    assert [row.name for row in view.rows()] == wanted
    db.delete("people", key="Dan")
    assert names(view) == [name for name in wanted if name != "Dan"]
    assert len(view) == 4 and view.bag()


def test_by_a_label_and_by_an_aggregate():
    db = people()
    text = "select age: a, n: count(partition) from p in people group by a: p.age order by n desc, age"
    view = db.view("v", text, language="oql")
    db.insert("people", PEOPLE)
    assert [tuple(row) for row in view] == [(1, 2), (3, 2), (2, 1)]


def test_scalars_and_views_over_it():
    db = people()
    db.insert("people", PEOPLE)
    view = db.view("v", "select p.name from p in people order by p.name desc", language="oql")
    assert view.rows() == ["Eve", "Dan", "Cleo", "Ben", "Ada"]
    over = db.view("w", "count(v)", language="oql")
    assert over.rows() == [5]


def test_it_is_kept_in_a_file(tmp_path):
    text = "select p from p in people order by p.age desc, p.name"
    with people(tmp_path / "db") as db:
        db.insert("people", PEOPLE)
        db.view("v", text, language="oql")
        before = db.views["v"].rows()
    with people(tmp_path / "db") as db:
        assert db.views["v"].rows() == before
        db.view("v", text, language="oql")  # the same again
        with pytest.raises(QueryError, match="read in order by age descending, name"):
            db.view("v", "select p from p in people order by p.age", language="oql")


@pytest.mark.parametrize(
    "order",
    [
        [[[], [[["age"], 1, True]]]],
        [[[], [[["nothing"], True, True]]]],
        [[[], [[["age"]]]]],
        [[[], []]],
        [[["age"], [[[], True, True]]]],
        [[[], [[["age"], True, True]]], [[], [[["name"], True, True]]]],
        {"age": True},
        [["age", True]],
        [[[], [[[7], True, True]]]],
    ],
)
def test_a_file_with_another_order_is_refused(tmp_path, order):
    with people(tmp_path / "db") as db:
        db.view("v", "select p from p in people order by p.age", language="oql")
    from nestling.database.texts import read_view

    with people(tmp_path / "db") as db, sqlite3.connect(tmp_path / "db") as file:
        (body,) = file.execute("SELECT body FROM definition WHERE name = 'v'").fetchone()
        stored = json.loads(body)
        assert stored["orders"] == [[[], [[["age"], False, True]]]]
        with pytest.raises(NestlingError):
            read_view("w", json.dumps({**stored, "orders": order}), db._state)
        del stored["orders"]  # one from before views had an order
        assert read_view("w", json.dumps(stored), db._state)[0].orders == ()


def test_views_over_views_go_on_along_references(tmp_path):
    with nl.Database(tmp_path / "db") as db:
        shop(db)
        db.view("late", "select o from o in orders where o.date.month > 1", language="oql")
        db.view("buyers", "select buyer: o.customer from o in orders", language="oql")
        names = db.view("names", "select o.customer.name from o in late", language="oql").rows()
    with nl.Database(tmp_path / "db") as db:
        again = db.view("again", "select o.customer.name from o in late", language="oql")
        assert sorted(again.rows()) == sorted(names) == ["Ada", "Ben", "Cleo"]
        cities = db.view("cities", "[b.buyer.address.city for b in buyers]", language="python")
        assert sorted(cities.rows()) == ["Oslo", "Rome", "Rome", "Rome"]


def test_what_is_not_selected_orders_nothing():
    db = people()
    with pytest.raises(QueryError, match="in the order of what it selects"):
        db.view("v", "select p.name from p in people order by p.age", language="oql")
    db.view("v", "(select p.name from p in people order by p.age)[0:1]", language="oql", strict=False)
    db.insert("people", PEOPLE)
    assert sorted(db.views["v"].rows()) == ["Ben", "Eve"]


def test_constraints_are_written_in_it():
    db = people()
    db.constraint("adults", "select p from p in people where p.age < 1", language="oql")
    with pytest.raises(nl.ConstraintError):
        db.insert("people", [("Kid", 0, None)])
    assert not list(db.tables["people"])


def test_another_language_is_refused():
    with pytest.raises(QueryError) as error:
        people().view("v", "select 1", language="owl")
    assert "language='oql'" in str(error.value)
