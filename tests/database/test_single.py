"""Rows that come or go, one by one and many: what the door of a table takes has the outcome of the long way."""

from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nestling import Database
from nestling.errors import NestlingError
from tests.storage.interrupts import everywhere

ROWS: list[Any] = [
    (1, 10, "x"), (1, 11, "y"), (2, 10, "x"), (3, None, "x"), (3, 99, "x"), (True, 10, "x"), (4, 10, None),
    (-0.0, 10, "x"), [5, 10, "x"], {"id": 6, "of": 10, "word": "x"}, (7, 10), "x", None, (2**70, 10, "z"),
]  # fmt: skip
KEYS: list[Any] = [1, 2, 3, True, 1.0, "1", None, (1,), 2**70]
CHANGES = st.one_of(
    st.tuples(st.just("insert"), st.sampled_from(ROWS)),
    st.tuples(st.just("delete"), st.sampled_from(ROWS)),
    st.tuples(st.just("key"), st.sampled_from(KEYS)),
    st.tuples(st.sampled_from(["apply", "take"]), st.sampled_from([r for r in ROWS if isinstance(r, tuple)])),
    st.tuples(st.sampled_from(["insert many", "delete many"]), st.lists(st.sampled_from(ROWS), max_size=4)),
    st.tuples(
        st.sampled_from(["insert many", "delete many"]),
        st.lists(
            st.builds(dict, id=st.integers(0, 9), of=st.sampled_from([None, 10, 99]), word=st.just("w"))
        ),
    ),
    st.tuples(
        st.sampled_from(["insert many", "delete many"]),
        st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, 10, 12]), st.just("w")), unique=True),
    ),
    st.tuples(st.just("owner"), st.sampled_from([10, 11])),
    st.tuples(st.just("no owner"), st.sampled_from([10, 11])),
)


@cache
def shops(is_keyed: bool, refers: bool, refresh: str) -> list[tuple[Database, list[Any]]]:
    """Two that are alike, each with what was told of its view."""
    made: list[tuple[Database, list[Any]]] = []
    for _ in range(2):
        told: list[Any] = []
        db = a_shop(is_keyed, refers, refresh)
        db.views["v"].subscribe(
            lambda change, to=told: to.append((change.version, change.inserted, change.deleted))
        )
        made.append((db, told))
    return made


def a_shop(is_keyed: bool, refers: bool, refresh: str) -> Database:
    db = Database()
    db.table("owner", {"id": int}, key="id")
    references: Any = {"of": "owner"} if refers else None
    columns = {"id": int, "of": int | None, "word": str}
    db.table("it", columns, key="id" if is_keyed else None, references=references)
    db.view("v", "SELECT word, COUNT(*) AS n, SUM(id) AS total FROM it GROUP BY word", refresh=refresh)
    db.insert("owner", [(10,), (12,)])
    return db


def change(to: Any, kind: str, given: Any) -> Any:
    match kind:
        case "insert":
            return to.insert("it", [given])
        case "delete":
            return to.delete("it", [given])
        case "insert many":
            return to.insert("it", given)
        case "delete many":
            return to.delete("it", given)
        case "key":
            return to.delete("it", key=given)
        case "owner":
            return to.insert("owner", [(given,)])
        case "no owner":
            return to.delete("owner", [(given,)])
    return to.apply({"it": {given: 1 if kind == "apply" else -1}})


def outcome(act: Any) -> Any:
    """What came of a change, but for the time that it took."""
    try:
        return act()._replace(seconds=0.0, changes={})
    except NestlingError as error:
        return type(error), str(error)


def the_long_way(db: Database, kind: str, given: Any) -> Any:
    with db.transaction() as whole:
        change(whole, kind, given)
    return whole.refresh


def everything(db: Database) -> Any:
    return sorted(db.views["v"]), sorted(map(repr, db.tables["it"])), sorted(db.tables["owner"]), db.version


@given(st.booleans(), st.booleans(), st.sampled_from(["eager", "lazy", "hybrid"]), st.lists(CHANGES))
@example(True, True, "eager", [("insert", (1, 10, "x")), ("insert", (1, 11, "y")), ("no owner", 10)])
@example(
    True,
    True,
    "eager",
    [("insert many", [(1, 10, "x"), (2, None, "x")]), ("delete many", [(2, None, "x"), (2, None, "x")])],
)
@example(False, False, "eager", [("insert many", [(1, 10, "x")] * 3), ("delete many", [(1, 10, "x")] * 2)])
@example(False, False, "lazy", [("insert", (1, 10, "x")), ("insert", (1, 10, "x")), ("take", (1, 10, "x"))])
@example(True, False, "hybrid", [("insert", (0, 10, "x")), ("delete", (-0.0, 10, "x")), ("key", True)])
def test_the_short_way_comes_to_what_the_long_one_does(is_keyed, refers, refresh, changes):
    (short, told), (long, told_too) = shops(is_keyed, refers, refresh)
    for db in (short, long):
        db.sync("it", [])
        db.sync("owner", [(10,), (12,)])
    for kind, given_ in changes:
        assert outcome(lambda k=kind, g=given_: change(short, k, g)) == outcome(
            lambda k=kind, g=given_: the_long_way(long, k, g)
        )
        assert everything(short) == everything(long)
    assert told == told_too


@pytest.mark.parametrize("is_keyed", [True, False])
@pytest.mark.parametrize(
    "act",
    [
        ("insert", (3, 10, "x")),
        ("delete", (2, 12, "y")),
        ("insert many", [(3, 10, "x"), (4, 12, "y")]),
        ("delete many", [(2, 12, "y"), (1, 10, "x")]),
        ("key", 1),
    ],
    ids=lambda act: act[0],
)
@pytest.mark.parametrize("way", [change, the_long_way], ids=["short", "long"])
def test_an_interrupt_leaves_the_state_before_or_after(act, way, is_keyed):
    """At every place of our own code, generated functions among them."""
    if act[0] == "key" and not is_keyed:
        return
    db = a_shop(is_keyed, False, "eager")

    def prepare() -> int:
        db.sync("it", [(1, 10, "x"), (2, 12, "y")])
        change(db, "insert", (9, 10, "y"))  # the short ways are written
        return db.version

    prepare()
    before = everything(db)[:2]
    way(db, *act)
    after, seen = everything(db)[:2], set()
    for version, place in everywhere(prepare, lambda _: way(db, *act), "nestling"):
        found, is_done = everything(db)[:2], db.version > version
        assert found == (after if is_done else before), place
        seen.add(is_done)
        db.verify()
        change(db, "insert", (8, 12, "z"))
        assert db.version == version + is_done + 1, place
    assert seen == {True, False}


def test_ordinary_rows_take_the_short_way(monkeypatch):
    """Otherwise it would be of no use."""
    db = a_shop(True, True, "eager")
    monkeypatch.setattr(Database, "_changed", None)
    changes: list[tuple[str, Any]] = [
        ("insert", (1, 10, "x")), ("insert", (2, None, "x")), ("insert", (3, 12, "x")),
        ("delete", (1, 10, "x")), ("key", 2), ("take", (3, 12, "x")), ("apply", (1, 12, "x")),
        ("insert many", [(4, 10, "x"), (5, None, "y")]), ("delete many", [(4, 10, "x"), (5, None, "y")]),
        ("insert many", [{"word": "x", "id": 6, "of": 10}, {"word": "x", "id": 7, "of": 10}]),
        ("delete many", [(6, 10, "x"), (7, 10, "x")]), ("insert", {"word": "x", "id": 8, "of": None}), ("key", 8),
    ]  # fmt: skip
    for kind, given_ in changes:
        change(db, kind, given_)
    assert list(db.tables["it"]) == [(1, 12, "x")]


def test_a_table_has_a_door_while_it_is_there_and_what_is_no_name_has_none():
    db = a_shop(True, False, "eager")
    assert db._doors.at("it") is not None
    assert db._doors.at("none") is None
    no_name: Any = ["it"]
    assert db._doors.at(no_name) is None
    db.constraint("few", "SELECT word FROM it GROUP BY word HAVING COUNT(*) > 1")
    db.insert("it", [(1, 10, "x")])
    with suppress(NestlingError):
        db.insert("it", [(2, 10, "x")])
    assert len(db.tables["it"]) == 1
