"""What the embedded engine stores: nothing of what adds nothing, nothing twice, and NaN in no order."""

import math

import nestling as nl
from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.storage import statements, stores
from nestling.program.statements import Find


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
