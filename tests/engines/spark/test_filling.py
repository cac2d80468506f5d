"""Views over rows that are there: their maps are filled by queries, and nested ones are read as DataFrames."""

from collections import Counter
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from nestling.calculus.terms import Var
from nestling.calculus.types import INT, LABEL, STR
from nestling.database.database import Database
from nestling.database.objects import declarations
from nestling.database.spark.defined import compiled
from nestling.database.spark.programs import filling
from nestling.database.state import guard_of
from nestling.database.xml.definition import XQueryDef, navigation_table
from nestling.engine.spark import limits
from nestling.engine.spark.chain import Chain, ChainWriter
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.filling import gathers
from nestling.engine.spark.frames import freed
from nestling.program.statements import Check, Find, Program, Statement, TableDecl
from nestling.program.steps import maps_of, reads, trigger_statements
from nestling.transform.viewlet import compile_batches
from tests.documents.xmark import QUERIES
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
    for is_changed in (False, True):
        if is_changed:
            shop.delete("orders", key=9)
            shop.update("orders", key=10, set={"cust": 3})
        for name in NESTED:
            assert rows(shop.view_df(name)) == Counter(plain(tuple(row)) for row in shop.views[name]), name
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


def test_an_outer_join_goes_through_its_rows_twice():
    """its sum and its count are of one body; and what is only filled is told from others by its body alone"""
    tables = Database()
    tables.table("people", PEOPLE, key="id")
    tables.table("orders", ORDERS, key="id")
    tables.view("spent", FLAT["spent"].replace("o.price * o.qty", "o.price"))
    declared = tables._state.declarations()
    view: Any = compiled(tables._state.definitions["spent"], declared, False)
    program = compile_batches(declared, {"spent": view.flat}, store={"spent": "counts"})
    found = filling(program, set(program.maps))
    assert found is not None
    every = [each for trigger in found.triggers.values() for each in trigger_statements(trigger)]

    assert len(program.maps) == 3
    assert sum("orders" in reads(each) for each in every) == 2


def test_what_is_there_until_maps_are_filled_has_names_of_its_own():
    """a map of another view may have the name that it would be given, and other columns"""
    tables: dict[str, Any] = {}
    views: dict[str, Any] = {}
    for name in ("Q3", "Q5", "Q11"):
        query = XQueryDef(name, QUERIES[name], ("d",), "d")
        tables |= {table.name: navigation_table(table) for table in query.translated.tables}
        views |= {view.name: compiled(view, declarations(tables), False) for view in query.views}
    flat = {name: view.flat for name, view in views.items()}
    guards = {guard_of(name): view.guard for name, view in views.items()}
    knobs: dict[str, Any] = dict.fromkeys(flat, "counts") | dict.fromkeys(guards, "full")
    program = compile_batches(declarations(tables), flat | guards, store=knobs)
    others = {map_ for view in (*flat, *guards) if "Q11" not in view for map_ in maps_of(program, view)}
    new = {map_ for view in (*flat, *guards) for map_ in maps_of(program, view)} - others
    found = filling(program, new)
    assert found is not None
    assert not (found.maps.keys() - new) & program.maps.keys()


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


def test_what_is_joined_is_summed_before_where_several_rows_have_one_key():
    """a row of a keyed table, and of a bag, is mostly there once; by another column rows come together"""
    row = tuple(Var(name, INT) for name in "abc")
    tables = {"keyed": TableDecl("keyed", row, (0,)), "keyed.bag": TableDecl("keyed.bag", row)}
    program = Program(tables, {}, {}, {})

    def by(source: str, *keys: Var) -> Statement:
        return Statement("sum", keys, (row[2],), (Find(source, row, (), ()), Check(row[2])))

    assert gathers(program, [by("keyed", row[1])])
    assert gathers(program, [by("keyed", row[1]), by("keyed", row[2])])
    assert not gathers(program, [by("keyed", row[0], row[1])])
    assert not gathers(program, [by("keyed", row[1]), by("keyed", row[0])])
    assert not gathers(program, [by("keyed.bag", row[1])])
    assert not gathers(program, [])
