"""What users of a library of this kind expect of tables: each a case that runs on every engine."""

from collections.abc import Callable
from typing import Any

import pytest

import nestling as nl

DDL = "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>"
ROWS = [(1, "ann", [(1, 2)]), (2, "bob", [(1, 1), (2, 5)])]


def shop(db: nl.Database) -> nl.Table:
    orders = db.table("orders", DDL, key="id")
    db.view("spend", "[(o.customer, sum(i.qty for i in o.items)) for o in orders]", language="python")
    orders.insert(ROWS)
    return orders


def by_key(orders: nl.Table) -> None:
    row = orders[2]
    assert row == (2, "bob", [(1, 1), (2, 5)])
    assert (row.customer, row["customer"], row["items"][0]["qty"]) == ("bob", "bob", 1)
    for absent in (3, "x", (1, 2), None, 1.5):
        assert absent not in orders
        with pytest.raises(KeyError):
            orders[absent]
    assert 1 in orders
    assert ROWS[0] in orders
    assert {"id": 1, "customer": "ann", "items": []} not in orders


def changes(orders: nl.Table) -> None:
    orders.update(where=lambda o: o.id > 1, set={"customer": lambda o: o.customer.upper()})
    orders.update(key=1, set={"customer": "cy", "items": lambda o: [(9, len(o["items"]))]})
    assert sorted(orders) == [(1, "cy", [(9, 1)]), (2, "BOB", [(1, 1), (2, 5)])]
    orders.apply({(3, "dan", ()): 1})
    orders.delete(key=2)
    orders.delete(where=lambda o: o.customer == "dan")
    orders.at(1).items.insert([(7, 7)])
    assert orders.rows() == [(1, "cy", [(7, 7), (9, 1)])]


def upserts(orders: nl.Table) -> None:
    done = orders.upsert([(2, "bob", [(1, 1), (2, 6)]), {"id": 3, "customer": "cy", "items": []}])
    assert sorted(orders) == [ROWS[0], (2, "bob", [(1, 1), (2, 6)]), (3, "cy", [])]
    assert done.tables == {"orders.items": 2, "orders": 1}, "one element of a row that stays, and a row"
    assert orders.upsert(ROWS[:1]).events == 0
    with pytest.raises(nl.ChangeError, match="two of the rows have key 4 of orders"):
        orders.upsert([(4, "x", []), (4, "y", [])])
    assert 4 not in orders


def syncs(orders: nl.Table) -> None:
    orders.sync([(2, "bob", [(1, 1)]), (3, "cy", [])])
    assert sorted(orders) == [(2, "bob", [(1, 1)]), (3, "cy", [])]


def in_a_transaction(orders: nl.Table) -> None:
    db = orders._database
    with db.transaction() as t:
        inside = t.table("orders")
        inside.at(1).items.insert([(5, 5)])
        inside.at(1).items.at({"pid": 1}).update({"qty": 3})
        inside.upsert([(1, "eve", [(5, 5), (1, 3)]), (4, "dan", [])])
        inside.update(key=2, set={"customer": "bo"})
        inside.delete(key=4)
        inside.insert([(5, "flo", [])])
        inside.apply({(5, "flo", ()): -1})
        assert sorted(inside.rows()) == [(1, "eve", [(1, 3), (5, 5)]), (2, "bo", [(1, 1), (2, 5)])]
        t.upsert("orders", [(1, "ann", [(1, 3)])])
    assert t.refresh.version == db.version
    assert sorted(orders) == [(1, "ann", [(1, 3)]), (2, "bo", [(1, 1), (2, 5)])]
    with pytest.raises(nl.ChangeError, match="two of the rows"), db.transaction() as t:
        t.table("orders").sync([])
        t.table("orders").upsert([ROWS[0], ROWS[0]])
    assert len(orders) == 2
    with db.transaction() as t:
        t.sync("orders", [(7, "gus", [(1, 1)])])
        t.table("orders").sync([(8, "hal", [(1, 1)])])
    assert orders.rows() == [(8, "hal", [(1, 1)])]


def frames(orders: nl.Table) -> None:
    assert orders.to_arrow().to_pylist()[0] == {"id": 1, "customer": "ann", "items": [{"pid": 1, "qty": 2}]}
    assert orders.to_pandas()["customer"].tolist() == ["ann", "bob"]
    orders.sync(orders.to_arrow())
    orders.upsert(orders.to_pandas())
    assert sorted(orders) == ROWS


def described(orders: nl.Table) -> None:
    assert orders.columns == ["id", "customer", "items"]
    db: Any = orders._database
    copy = db.table("copy", orders.schema, key="id")
    assert copy.record == orders.record


def of_a_view(orders: nl.Table) -> None:
    db: Any = orders._database
    spend = db.views["spend"]
    assert "ann" in spend
    assert ("bob", 6) in spend
    assert "eve" not in spend
    assert 5 not in spend
    assert spend.columns == ["customer", "_1"]
    assert spend["ann"]["_1"] == 2


CASES: dict[str, Callable[[nl.Table], Any]] = {
    case.__name__: case
    for case in (by_key, changes, upserts, syncs, in_a_transaction, frames, described, of_a_view)
}
