"""Views over rows that are there: their maps are filled by queries, and nested ones are read as DataFrames."""

from collections import Counter
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from nestling.calculus.terms import Var
from nestling.calculus.types import INT, LABEL, STR
from nestling.database.spark.programs import filling
from nestling.engine.spark import limits
from nestling.engine.spark.chain import Chain, ChainWriter
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.frames import freed
from tests.frontends.sql.worlds import plain

pytestmark = pytest.mark.xdist_group("spark")

PEOPLE = "id BIGINT, name STRING"
ORDERS = (
    "id BIGINT, cust BIGINT, qty BIGINT, price DECIMAL(10,2), note STRING,"
    " items ARRAY<STRUCT<part: BIGINT, qty: BIGINT>>"
)
NESTED = {
    "levels": (
        "[(p.id, [(o.id, [(i.part, i.qty) for i in o.items]) for o in orders if o.cust == p.id])"
        " for p in people]"
    ),
    "notes": "[(p.id, [o.note for o in orders if o.cust == p.id]) for p in people]",
    "parts": "[(p.id, [i.part for o in orders if o.cust == p.id for i in o.items]) for p in people]",
    "beyond": "[(p.id, [o.id for o in orders if o.cust > p.id]) for p in people]",
    "shares": "[(p.id, [100 // o.qty for o in orders if o.cust == p.id]) for p in people]",
    "either": (
        "[(p.id, [o.id for o in orders if o.cust == p.id]) for p in people]"
        " + [(p.id, [o.qty for o in orders if o.cust == p.id]) for p in people]"
    ),
    "whole": "[(o.id, o.items) for o in orders]",
    "every": "[(p.id, [o.id for o in orders]) for p in people]",
}
FLAT = {
    "spent": (
        "SELECT p.id, p.name, count(o.id) AS orders, sum(o.price * o.qty) AS total"
        " FROM people p LEFT JOIN orders o ON o.cust = p.id GROUP BY p.id, p.name"
    ),
    "sold": (
        "SELECT i.part, sum(i.qty) AS qty, max(o.price) AS most FROM orders o JOIN people p ON p.id = o.cust"
        " LATERAL VIEW explode(o.items) t AS i GROUP BY i.part"
    ),
}


def order(i: int) -> tuple[Any, ...]:
    """One in eight is of nobody, and has no share."""
    items = [(i % 3, 1), (i % 3, 1), (i % 5, i)][: i % 4]
    price = None if i % 6 == 0 else Decimal(i * 7 % 100)
    return (i, i % 8, i % 8 and i % 4 + 1, price, [None, "a", "b"][i % 3], items)


@pytest.fixture
def shop(opened: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """People and their orders, loaded from DataFrames; no table is little."""
    monkeypatch.setattr(limits, "MAX_DRIVER_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    db = opened()
    db.table("people", PEOPLE, key="id")
    db.table(
        "orders",
        ORDERS.replace("DECIMAL(10,2)", "DECIMAL NULL").replace("note STRING", "note STRING NULL"),
        key="id",
    )
    db.insert("people", spark.createDataFrame([(i, f"p{i}") for i in range(1, 10)], PEOPLE))
    db.insert("orders", spark.createDataFrame([order(i) for i in range(48)], ORDERS))
    return db


def rows(frame: Any) -> Counter[Any]:
    return Counter(plain(tuple(row)) for row in frame.collect())


def test_a_nested_frame_has_what_a_reading_has(shop):
    """loaded at once, and with changes beside the files; also where nobody asks for what has no value"""
    for name, text in NESTED.items():
        shop.view(name, text, language="python")
    for _ in range(2):
        for name in NESTED:
            assert rows(shop.view_df(name)) == Counter(plain(tuple(row)) for row in shop.views[name]), name
        shop.delete("orders", key=9)
        shop.update("people", {"name": "other"}, key=3)
    shop.verify()


def test_which_bags_are_computed_without_being_asked_for(shop):
    """those that begin with entries that have the parameters, if all of their terms have values"""
    for name, text in NESTED.items():
        shop.view(name, text, language="python")
    views = shop._state.running.program.views
    found = {name: [freed(plan) is not None for plan in views[name].definitions.values()] for name in NESTED}

    assert found["levels"] == [True, True]
    assert found["notes"] == found["parts"] == [True]
    assert found["beyond"] == found["shares"] == found["every"] == [False]


def test_filled_maps_are_those_of_triggers(shop):
    """each by one query; verify compares them with the reference"""
    for name, text in FLAT.items():
        shop.view(name, text)
    running = shop._state.running
    maps = {name for name, decl in running.program.maps.items() if decl.role != "watch"}
    assert filling(running.program, maps) is not None
    by_triggers = running._triggered(running.now, maps, None)

    for name in maps:
        found = {row[: len(running.layouts[name].keys)]: row for row in running._entries(name)}
        meant = running.beside(running.program, by_triggers)
        assert found == {row[: len(running.layouts[name].keys)]: row for row in meant._entries(name)}
    shop.verify()


FEED = f"{ORDERS}, _change_type STRING"


@pytest.mark.parametrize(
    ("change", "gone", "came"),
    [
        ([(order(900), "insert"), (order(900), "delete")], 0, 0),
        ([(order(9), "delete"), (order(9), "insert")], 0, 0),
        ([(order(9), "delete"), (order(9), "delete"), (order(9), "insert")], 1, 0),
        ([(order(9), "delete"), ((9, *order(10)[1:]), "insert")], 1, 1),
    ],
    ids=["new", "stored", "twice", "update"],
)
def test_what_comes_and_goes_in_one_large_change_cancels(shop, spark, change, gone, came):
    """it is not consolidated unless something differs, and then it is"""
    shop.view("sold", FLAT["sold"])
    before = Counter(plain(row) for row in shop._state.rows("orders"))
    shop.apply({"orders": spark.createDataFrame([(*row, kind) for row, kind in change], FEED)})
    after = Counter(plain(row) for row in shop._state.rows("orders"))

    assert sum((before - after).values()) == gone
    assert sum((after - before).values()) == came
    shop.verify()


def test_statements_prune_by_the_order_of_files():
    """by the key that comes first in it among those that a small change gives"""
    asked: list[tuple[str, int]] = []

    def near(source: str, column: int) -> str | None:
        asked.append((source, column))
        return "IN (1)" if column else None

    layout = Layout((INT, STR, LABEL), order=(2, 1, 0))
    sources: Any = SimpleNamespace(layout=lambda name: layout, raw=lambda name: "rows", near=near)
    chain = Chain(ChainWriter(sources))
    x, y, z = (Var(name, INT) for name in "xyz")
    chain.origins = {"x": ("ΔR", 0), "y": ("ΔR", 1)}

    assert chain.pruned("M", {0: x, 1: y, 2: z}) == "SELECT * FROM (rows) WHERE k1 IN (1)"
    assert chain.pruned("M", {0: y}) == "SELECT * FROM (rows) WHERE k0 IN (1)"
    assert chain.pruned("M", {2: x, 1: y}) == "SELECT * FROM (rows) WHERE k1 IN (1)"
    assert chain.pruned("M", {2: z}) == "rows"
    assert asked == [("ΔR", 1), ("ΔR", 1), ("ΔR", 0), ("ΔR", 1)]
