"""Views of which nothing is stored: read by a program over their tables, as the reference would have it."""

import pytest

import nestling as nl
from nestling.database import state

VIEWS = {
    "join": "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id",
    "outer": "SELECT c.id, o.id AS o FROM customers c LEFT JOIN orders o ON o.customer = c.id",
    "groups": "SELECT customer, count(*) AS n, max(id) AS m FROM orders GROUP BY customer",
    "absent": "SELECT id FROM customers WHERE id NOT IN (SELECT customer FROM orders)",
    "ratio": "SELECT c.id, 10 / (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS r FROM customers c",
    "nested": "[(c.name, [(o.id, o.tags) for o in orders if o.customer == c.id]) for c in customers]",
}


def database(customers=4):
    db = nl.Database()
    db.table("customers", {"id": int, "name": str}, key="id")
    db.table("orders", {"id": int, "customer": int, "tags": list[str]}, key="id")
    db.insert("customers", [(i, f"c{i}") for i in range(customers)])
    db.insert("orders", [(i, i % customers, ["t"] * (i % 3)) for i in range(3 * customers)])
    for name, text in VIEWS.items():
        db.view(name, text, language="python" if text[0] == "[" else "sql", store="none")
    return db


def test_a_reading_does_not_go_through_the_reference(monkeypatch):
    db = database()
    wanted = {name: db._state.evaluate(name) for name in VIEWS}

    def fail(*_):
        raise AssertionError("the reference was asked")

    monkeypatch.setattr(state, "answer", fail)
    for name in VIEWS:
        assert db._state.read(name) == wanted[name], name
        assert not db.stats()[name]["maps"]
        assert "it costs what it reads" in " ".join(db.views[name].explain().split())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "SELECT x, count(*) AS n FROM (SELECT 0 AS x UNION ALL SELECT id AS x FROM customers) AS u GROUP BY x",
            [(0, 2), (1, 1)],
        ),
        (
            "SELECT c.id, (SELECT sum(v.x) FROM (VALUES (1), (2)) AS v(x)) AS s FROM customers c",
            [(0, 3), (1, 3)],
        ),
    ],
    ids=["groups", "sum"],
)
def test_what_depends_on_no_row_is_counted_once(text, rows):
    db = database(customers=2)
    view = db.view("v", text, language="sql", store="none")
    for _ in range(2):
        assert sorted(view.rows()) == rows
    db.verify()


def test_it_follows_changes_transactions_and_tables_that_change():
    db = database()
    join, groups = db.views["join"], db.views["groups"]
    with db.transaction() as change:
        change.insert("orders", [(99, 1, [])])
        assert (99, "c1") in join.rows()
    assert (99, "c1") in join.rows()
    with pytest.raises(RuntimeError), db.transaction() as change:
        change.delete("orders", key=99)
        assert (99, "c1") not in join.rows()
        raise RuntimeError
    assert (99, "c1") in join.rows()
    db.drop("groups")
    db.view("groups", "SELECT customer, count(*) AS n FROM orders GROUP BY customer", store="none")
    assert sorted(db.views["groups"]) == [(0, 3), (1, 4), (2, 3), (3, 3)]
    assert groups[1] == (1, 4)  # the handle is that of the name
    db.verify()


def test_a_view_without_a_value_says_so():
    db = database()
    with pytest.raises(nl.ChangeError, match="ratio"):
        db.insert("customers", [(9, "new")])  # none of its orders: a division by zero
    assert len(db.views["ratio"]) == 4


def test_telling_changes_of_it():
    db = database()
    told = []
    db.views["groups"].subscribe(lambda change: told.append((change.inserted, change.deleted)))
    db.insert("orders", [(99, 1, [])])
    assert told == [([(1, 4, 99)], [(1, 3, 9)])]
