"""What the embedded engine stores: nothing of what adds nothing, nothing twice, and NaN in no order."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nestling as nl
from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.storage import statements, stores
from nestling.program.statements import Find
from tests.engines.worlds import agrees_with_its_indexes

#: What it is about is in its title.
pytestmark = pytest.mark.in_python


def engine_of(db: nl.Database) -> LocalEngine:
    engine = db._state.engine
    assert isinstance(engine, LocalEngine)
    return engine


def test_what_adds_nothing_has_no_entry() -> None:
    """neither of the two sums of S is how often a row comes"""
    db = nl.Database()
    db.table("R", {"k": int})
    db.table("S", {"k": int, "c": int, "d": int})
    sums = "sum(s.c for s in S if s.k == r.k), sum(s.d for s in S if s.k == r.k)"
    view = db.view("v", f"[(r.k, {sums}) for r in R]", language="python")
    engine = engine_of(db)
    (cells,) = [name for name, decl in engine.program.maps.items() if decl.width == 2]

    db.insert("S", [(1, 0, 0)])
    db.insert("S", [(2, 0, 5)])

    assert engine.cells(cells) == {(2,): (0, 5)}
    db.delete("S", [(1, 0, 0)])
    db.insert("R", [(1,), (2,)])
    view.verify(maps=True)
    assert list(view.rows()) == [(1, 0, 0), (2, 0, 5)]


def test_nan_has_no_place_in_an_order() -> None:
    """R's rows of one k are kept in order of x, since only those between two sums of S change sides"""
    db = nl.Database()
    db.table("R", {"id": int, "k": int, "x": float, "v": int})
    db.table("S", {"k": int, "y": float})
    below = "sum(r.v for r in R if r.x < sum(s.y for s in S if s.k == r.k))"
    view = db.view("v", f"[({below},)]", language="python")
    assert "insort(" in engine_of(db).source
    rows = [(n, 1, x, 10**n) for n, x in enumerate((3.0, math.nan, 1.0, 2.0, 5.0, math.nan, 0.5))]

    db.insert("R", rows)
    for y in (1.0, 1.0, 2.0, -3.0, 7.0):
        db.insert("S", [(1, y)])
        view.verify(maps=True)
    db.delete("R", rows[:3])
    for y in (1.0, -3.0):
        db.delete("S", [(1, y)])
        view.verify(maps=True)
    assert list(view.rows()) == [(1_011_000,)]


def test_rows_found_by_their_key_need_no_index() -> None:
    db = nl.Database()
    db.table("R", {"id": int, "s": int, "a": int}, key="id")
    db.table("S", {"id": int, "a": int, "b": str}, key="id")
    db.view("v", "[(r.id, s.b) for r in R for s in S if s.id == r.s and s.a == r.a]", language="python")
    program = engine_of(db).program

    assert any(set(step.known) == {0, 1} for step in finds(program, "S"))
    assert not stores(program)["S"].patterns


def finds(program, table):
    return [
        step
        for s in statements(program)
        for step in s.steps
        if isinstance(step, Find) and step.source == table
    ]


NAMES = "select struct(name: o.customer.name, no: o.no) from o in orders"


def shop() -> nl.Database:
    db = nl.Database()
    db.table("customers", {"id": int, "name": str | None, "note": str}, key="id")
    db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
    db.table("tags", {"name": str, "weight": int})
    db.insert("customers", [(1, "Ada", ""), (2, None, ""), (3, "Ada", "")])
    db.insert("orders", [(10, 1), (11, 1), (12, 2), (13, 3)])
    db.view("names", NAMES, language="oql")
    db.view("weights", "select t.weight, t.name from tags t")
    return db


def test_an_index_for_look_ups_is_made_when_somebody_looks_up() -> None:
    db = shop()
    engine = engine_of(db)
    asked = {"T_customers_by_1", "T_orders_by_1", "T_tags_by_1"}
    assert {name for name in asked if engine.names[name] is None} == asked
    bytes_before = db.stats()["names"]["bytes"]

    assert found(db, "names", "Ada") == [("Ada", 10), ("Ada", 11), ("Ada", 13)]

    assert {name for name in asked if engine.names[name] is None} == {"T_tags_by_1"}
    assert db.stats()["names"]["bytes"] > bytes_before
    agrees_with_its_indexes(engine)


@given(
    st.lists(
        st.tuples(st.sampled_from(["ask", "come", "go", "rename", "move", "note", "plan"]), st.integers(0, 5))
    )
)
@example([("ask", 0), ("rename", 1), ("rename", 2), ("move", 3), ("go", 4), ("plan", 0), ("rename", 1)])
@example([("rename", 0), ("plan", 0), ("ask", 0), ("note", 0), ("come", 2), ("come", 2), ("go", 1)])
def test_look_ups_find_what_reading_finds(script: list[tuple[str, int]]) -> None:
    """whenever the indexes are made, and whatever changes after that; also by an engine that takes another's place"""
    db = shop()
    for number, (step, at) in enumerate(script):
        customer, orders = 1 + at % 3, sorted(row.no for row in db.tables["orders"].rows())
        match step:
            case "ask":
                _look_ups_agree(db)
            case "come":
                db.insert("orders", [(100 + number, customer)])
                db.insert("tags", [("t", at % 2)])
            case "go" if orders:
                db.delete("orders", key=orders[at % len(orders)])
                db.delete("tags", where=lambda row, at=at: row.weight == at % 2)
            case "rename":
                db.update("customers", key=customer, set={"name": (None, "Ada", "Bo")[number % 3]})
            case "move" if orders:
                db.update("orders", key=orders[at % len(orders)], set={"customer": customer})
            case "note":
                db.update("customers", key=customer, set={"note": str(number)})
            case "plan":
                db.view(f"v{number}", "select count(*) from orders")
        agrees_with_its_indexes(engine_of(db))
    _look_ups_agree(db)


def found(db: nl.Database, view: str, first: Any) -> list[Any]:
    rows = db._find(view, first).items()
    return sorted((row for row, times in rows for _ in range(times)), key=repr)


def _look_ups_agree(db: nl.Database) -> None:
    for name in ("names", "weights"):
        rows = sorted(db.views[name].rows(), key=repr)
        for first in {row[0] for row in rows} | {"Ada", 1}:
            assert found(db, name, first) == [row for row in rows if row[0] == first]
