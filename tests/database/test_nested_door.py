"""Nested rows that come and go through the door of their table have the outcome of the long way."""

from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nestling import Database
from nestling.database.door import _door
from nestling.errors import NestlingError
from tests.storage.interrupts import everywhere

SCHEMA = """id INT NOT NULL, place STRUCT<town: STRING NOT NULL, zip: INT NULL> NOT NULL,
    tags ARRAY<STRING NOT NULL> NOT NULL, items ARRAY<STRUCT<
        product: INT NULL, parts: ARRAY<STRUCT<n: SMALLINT NOT NULL> NOT NULL> NOT NULL
    > NOT NULL> NOT NULL"""
VIEWS = {
    "whole": """[{"id": o.id, "items": [{"product": i.product, "parts": [p.n for p in i.parts]} for i in o.items]}
                 for o in orders if o.place.town != "x"]""",
    "sums": "[(t, sum(p.n for o in orders for i in o.items for p in i.parts if t in o.tags)) for t in ['a', 'b']]",
    "towns": "[(o.place.town, t) for o in orders for t in o.tags]",
}


def a_shop(watched: bool, refers: bool) -> tuple[Database, list[Any]]:
    db, told = Database(), list[Any]()
    db.table("products", {"id": int}, key="id").insert([(n,) for n in range(3)])
    references: Any = {"items.product": "products"} if refers else None
    db.table("orders", SCHEMA, key="id", references=references)
    for name in ("whole", "towns"):
        db.view(name, VIEWS[name], language="python")
    if watched:
        db.views["whole"].subscribe(
            lambda change: told.append(
                (change.version, change.inserted, change.deleted, [(i.key, i.inserted) for i in change.inner])
            )
        )
    return db, told


@cache
def shops(watched: bool, refers: bool) -> list[tuple[Database, list[Any]]]:
    return [a_shop(watched, refers) for _ in range(2)]


numbers: st.SearchStrategy[Any] = st.sampled_from([0, 1, 2, 9, 40_000, None, True, "x", 1.0])
few: st.SearchStrategy[Any] = st.integers(0, 2)
texts: st.SearchStrategy[Any] = st.sampled_from(["a", "b", "x"])
parts: st.SearchStrategy[Any] = st.lists(st.builds(dict, n=few) | st.tuples(few | numbers), max_size=2)
items: st.SearchStrategy[Any] = st.lists(
    st.tuples(few | numbers, parts) | st.builds(dict, product=few, parts=parts), max_size=3
)
places: st.SearchStrategy[Any] = (
    st.tuples(texts, st.none() | few) | st.builds(dict, town=texts, zip=few) | st.builds(dict, town=texts)
)
tags: st.SearchStrategy[Any] = (
    st.lists(texts, max_size=3) | st.lists(texts, max_size=3).map(tuple) | st.sets(texts, max_size=2)
)
tuples: st.SearchStrategy[Any] = st.tuples(st.integers(0, 4) | numbers, places, tags, items)
dicts: st.SearchStrategy[Any] = st.builds(dict, id=st.integers(0, 4), place=places, tags=tags, items=items)
calls: st.SearchStrategy[Any] = st.lists(
    st.tuples(st.just("insert"), st.lists(tuples, max_size=3) | st.lists(dicts, max_size=3))
    | st.tuples(st.just("key"), st.integers(0, 4) | numbers)
    | st.tuples(st.just("delete"), st.lists(tuples | dicts | numbers, max_size=2)),
    max_size=8,
)


def act(to: Any, what: str, given_: Any) -> Any:
    if what == "insert":
        return to.insert("orders", given_)
    return to.delete("orders", key=given_) if what == "key" else to.delete("orders", given_)


def outcome(db: Database, what: str, given_: Any, is_long: bool) -> Any:
    try:
        if not is_long:
            return act(db, what, given_)._replace(seconds=0.0, changes={})
        with db.transaction() as t:
            act(t, what, given_)
        return t.refresh._replace(seconds=0.0, changes={})
    except NestlingError as error:
        return type(error), str(error)


ROW = (1, ("a", None), ["a", "b"], [(1, [(1,), (2,)]), (2, [])])


@given(st.booleans(), st.booleans(), calls)
@example(False, True, [("insert", [ROW]), ("insert", [(2, *ROW[1:3], [(9, [])])]), ("key", 1)])
@example(True, False, [("insert", [(1, ("a", 1), ["a", "a"], [(1, []), (1, [])])]), ("key", 1), ("key", 1)])
@example(True, False, [("insert", [(n, ("b", n), [], [(n, [(1,), (1,)])]) for n in range(3)])])
def test_what_comes_and_goes_has_one_outcome(watched, refers, made):
    (short, told), (long, told_too) = shops(watched, refers)
    for db in (short, long):
        db.sync("orders", [])
    for what, given_ in made:
        assert outcome(short, what, given_, False) == outcome(long, what, given_, True)
        assert short._state.rows("orders") == long._state.rows("orders")
        for name in ("whole", "towns"):
            assert short._read(name) == long._read(name)
    assert told == told_too
    short.verify(maps=True)


def test_ordinary_rows_go_through_the_door(monkeypatch):
    """Otherwise it would be of no use."""
    db, told = a_shop(True, True)
    monkeypatch.setattr(Database, "_changed", None)
    db.insert("orders", [ROW])
    db.insert(
        "orders", [{"id": n, "place": {"town": "a", "zip": 1}, "tags": ("a",), "items": []} for n in (2, 3)]
    )
    db.delete("orders", key=2)
    assert [row.id for row in db.tables["orders"].rows()] == [1, 3]
    assert len(told) == 3


@pytest.mark.parametrize(("what", "given_"), [("insert", [(2, *ROW[1:])]), ("key", 1)])
def test_an_interrupt_leaves_the_state_before_or_after(what, given_):
    """At every place of what takes nested rows apart; those of flat rows are tried at every place of the way."""
    db, _ = a_shop(True, True)

    def prepare() -> int:
        db.sync("orders", [ROW, (9, *ROW[1:])])
        assert _door(db, db._state, "orders", db._doors) is not None
        return db.version

    def everything() -> Any:
        return db._state.rows("orders"), db._read("whole"), db._read("towns")

    prepare()
    before = everything()
    act(db, what, given_)
    after, seen = everything(), set()
    for version, place in everywhere(prepare, lambda _: act(db, what, given_), "database/accepting"):
        is_done = db.version > version
        assert everything() == (after if is_done else before), place
        seen.add(is_done)
        db.insert("orders", [(8, *ROW[1:])])
        assert db.version == version + is_done + 1, place
    assert seen == {True, False}
    db.verify(maps=True)


def test_a_first_load_is_known_when_it_comes_again(monkeypatch):
    """A snapshot that is loaded through the door, and then synced, is compared by digests."""
    db, _ = a_shop(False, False)
    rows = [(n, *ROW[1:]) for n in range(200)]
    db.insert("orders", rows)
    known = db._seen.of(db._state.tables["orders"])
    assert known is not None
    assert len(known.by_digest) == 200
    assert db.sync("orders", [*rows[1:], (300, *ROW[1:])]).tables["orders"] == 2
    db.insert("orders", [(n + 1_000, *ROW[1:]) for n in range(200)])
    assert db._seen.of(db._state.tables["orders"]) is None
    assert len(db._state.rows("orders")) == 400
