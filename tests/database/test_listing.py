"""Nested views are read straight from the flat rows of their engine: the same rows, the same lists."""

from dataclasses import dataclass
from operator import itemgetter

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.listing import listed, reader
from nestling.frontend.schema import copies, python_values
from tests.engines.test_program_laws import advance, running
from tests.engines.worlds import WORLDS

pytestmark = pytest.mark.xdist_group("views")  # they share what is compiled


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@given(data=st.data())
def test_a_reader_reads_what_the_bag_holds(world, data):
    """sorted(reader(view)) = sorted(python_values(bag(view))): rows that come often, nulls and bags of bags too"""
    _, engine, stored = running(data, world)
    element = engine.program.views["v"].element
    read = reader(element)
    if read is None:
        event("rows are what they are")
        return
    for _ in range(4):
        advance(data, engine, stored)
    found, bag = read(engine, "v"), engine.read("v")
    if found is None:
        event("the reader leaves it to others")
        return
    expected = python_values(element, copies(bag.items()))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    if found:
        event("it has rows")


SCHEMA = {
    "id": int,
    "tags": [str],
    "lines": [{"n": float, "note": str | None}],
    "deep": [{"k": int, "in": [int]}],
}


def test_rows_of_every_kind(monkeypatch):
    """no bag is made of a view that its engine has; one that reads tables is read as before"""
    db = nl.Database()
    db.table("t", SCHEMA, key="id")
    nan = float("nan")
    lines = [(2.0, None), (nan, "x"), (1.0, "b"), (1.0, None), (1.0, "b")]
    db.insert("t", [(2, [], [], []), (1, ["b", "a", "b"], lines, [(2, [3, 1]), (1, [])])])
    text = "[(t.id, [x for x in t.tags], [l for l in t.lines], [d for d in t.deep]) for t in t]"
    stored, other = db.view("v", text, language="python"), db.view("w", text, language="python", store="none")
    expected = other.rows()
    assert repr(stored.rows()) == repr(expected)
    assert [*stored] == stored.rows() or "nan" in repr(expected)
    assert stored.rows()[1][1:2] == (["a", "b", "b"],)
    assert listed(db._state, "w") is None
    monkeypatch.setattr(type(db._state), "read", None)
    assert len(stored.rows()) == 2


def test_twice_the_same_row_is_there_twice():
    db = nl.Database()
    db.table("t", {"id": int, "tags": [str]}, key="id")
    db.insert("t", [(1, ["a"]), (2, ["a"]), (3, [])])
    view = db.view("v", "[('row', [x for x in t.tags]) for t in t]", language="python")
    assert sorted(view.rows()) == [("row", []), ("row", ["a"]), ("row", ["a"])]
    db.delete("t", key=2)
    assert sorted(view.rows()) == [("row", []), ("row", ["a"])]


@dataclass
class Line:
    n: int
    note: str | None


@dataclass
class Part:
    k: int
    name: str


ORDERED = {
    "id": int,
    "tags": nl.List[str | None],
    "lines": nl.List[Line],
    "grid": nl.List[nl.List[int]],
    "some": [Part | None],
}
ROWS = [
    (1, ["b", None, "a", "b"], [(2, "x"), (1, None)], [[2, 1], []], [(1, "a"), None, None]),
    (2, [], [], [], []),
]


@pytest.mark.parametrize("store", ["full", "none"])
def test_arrays_in_order_and_elements_that_are_null_are_read_as_such(store):
    db = nl.Database()
    db.table("t", ORDERED, key="id")
    view = db.view("v", "SELECT *, reverse(tags) AS back FROM t", store=store)
    db.insert("t", ROWS)
    assert (listed(db._state, "v") is None) == (store == "none")  # else it would be read by way of its bag
    assert sorted(map(tuple, view.rows()), key=itemgetter(0)) == [
        (*ROWS[0][:4], [None, None, (1, "a")], ["b", "a", None, "b"]),
        (*ROWS[1], []),
    ]
    assert sorted(map(repr, view.rows())) == sorted(
        map(repr, python_values(view.element, copies(view.bag().items())))
    )
