"""What a subscriber hears of changes deep inside, and what finding it out does not look at."""

from math import isnan, nan
from typing import Any

import pytest

import nestling as nl
from nestling.engine.local.engine import LocalEngine


def history(customers, orders):
    return [
        (c.name, [(o.id, [i + 1 for i in o.items]) for o in orders if o.customer == c.id]) for c in customers
    ]


@pytest.fixture
def db():
    db = nl.Database()
    db.table("customers", {"id": int, "name": str}, key="id")
    db.table("orders", {"id": int, "customer": int, "items": list[int]}, key="id")
    db.view("history", history)
    db.insert("customers", [(1, "Ada"), (2, "Ben")])
    db.insert("orders", [(n, 1, [n]) for n in range(20)])
    return db


def test_a_change_two_levels_down_reads_no_bag_around_it(db, monkeypatch):
    heard: list[Any] = []
    db.views["history"].subscribe(heard.append)
    monkeypatch.setattr(LocalEngine, "rows_under", None)
    db.table("orders").at(7).items.insert([99])
    (change,) = heard
    (inner,) = change.inner
    assert (inner.key, inner.within, inner.inserted, inner.deleted) == (("Ada",), (7,), [100], [])


def test_an_order_that_leaves_is_told_whole(db):
    heard: list[Any] = []
    db.views["history"].subscribe(heard.append)
    db.delete("orders", key=7)
    (inner,) = heard[0].inner
    assert (inner.path, inner.deleted) == (("_1",), [(7, [8])])


def test_equal_rows_share_their_change():
    """A bag that stands in several equal rows changes once in each, and is told once."""
    db = nl.Database()
    db.table("shops", {"city": str})
    db.table("goods", {"city": str, "name": str})
    view = db.view(
        "stock", lambda shops, goods: [(s.city, [g.name for g in goods if g.city == s.city]) for s in shops]
    )
    db.insert("shops", [("Rome",), ("Rome",), ("Rome",)])
    heard: list[Any] = []
    view.subscribe(heard.append)
    db.insert("goods", [("Rome", "tea"), ("Rome", "tea")])
    (inner,) = heard[0].inner
    assert (inner.key, inner.inserted) == (("Rome",), ["tea", "tea"])


def test_a_row_is_found_by_a_number_that_is_none():
    db = nl.Database()
    db.table("T", {"x": float, "k": int}, key="k")
    db.table("U", {"k": int, "y": int})
    view = db.view("v", lambda T, U: [(t.x, [u.y for u in U if u.k == t.k]) for t in T])
    db.insert("T", [(nan, 1)])
    heard: list[Any] = []
    view.subscribe(heard.append)
    db.insert("U", [(1, 5)])
    (inner,) = heard[0].inner
    assert isnan(inner.key[0])
    assert inner.inserted == [5]
    view.verify()
