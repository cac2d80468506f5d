"""Definitions over rows that are there: maps are taken from one native engine to the next, or filled by byte code."""

from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling._native import Machine, Unfit
from nestling.engine.native.engine import NativeEngine
from tests.engines.native.test_core import table

VIEWS = {
    "sums": "SELECT kind, SUM(n) AS s, COUNT(*) AS c FROM t GROUP BY kind",
    "least": "SELECT kind, MIN(n) AS m FROM t WHERE n > 0 GROUP BY kind",
    "pairs": "SELECT x.id, y.id AS other FROM t x JOIN t y ON x.kind = y.kind AND x.id < y.id",
    "tags": "SELECT e.tag, COUNT(*) AS c FROM t JOIN LATERAL explode(t.tags) AS e(tag) GROUP BY e.tag",
    "more": "SELECT t.id, s.s FROM t JOIN sums s ON t.kind = s.kind",
    "nested": "SELECT kind, collect_list(id) AS ids FROM t GROUP BY kind",
}


def rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    draw = Random(seed)
    return [
        (
            key,
            draw.choice([None, "a", "b", "c"]),
            draw.randint(-2, 3),
            draw.choices("xyz", k=draw.randint(0, 2)),
        )
        for key in draw.sample(range(30), count)
    ]


def opened(engine: str) -> nl.Database:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NESTLING_NATIVE", engine)
        db = nl.Database()
    db.table("t", "id INT NOT NULL, kind STRING NULL, n INT NOT NULL, tags ARRAY<STRING NOT NULL>", key="id")
    return db


@pytest.mark.parametrize(("gone", "count"), [("least", 25), ("pairs", 1), ("tags", 0)])
def test_what_is_defined_later_has_what_it_would_have_had(gone: str, count: int) -> None:
    """Whichever engine runs: also when a view goes, a table comes, and rows come after that."""
    ours, theirs = opened("1"), opened("0")
    for db in (ours, theirs):
        db.insert("t", rows(1, count))
        for name, text in VIEWS.items():
            db.view(name, text)
        db.drop(gone)
        db.table("other", {"a": str})
        db.upsert("t", rows(2, 15))
    engine = ours._state.engine
    assert isinstance(engine, NativeEngine)
    assert engine.moved is None
    ours.verify(maps=True)
    assert ours.views.keys() == theirs.views.keys()
    for name in ours.views:
        assert ours._read(name) == theirs._read(name)


def test_a_view_without_a_value_for_rows_that_are_there_is_refused_as_in_python() -> None:
    told = []
    for db in (opened("1"), opened("0")):
        db.insert("t", [(1, "a", 0, [])])
        with pytest.raises(nl.NestlingError) as error:
            db.view("v", "[(x.id, 10 // x.n) for x in t]", language="python")
        told.append(str(error.value))
        db.insert("t", [(2, "b", 1, [])])
        db.view("sums", VIEWS["sums"])
        db.verify(maps=True)
    assert told[0] == told[1]


# the core


def test_entries_are_taken_with_other_numbers_for_their_texts() -> None:
    one, two = table("is"), table("is", None, (b"\1",))
    two.one(0, (9, "b"), 1)  # has the first number there
    rows: dict[Any, Any] = {(1, "a"): 1, (2, "b"): 1, (3, None): 1}
    one.load(0, rows)
    assert two.take(0, one, 0)
    assert two.entries(0, True) == rows == one.entries(0, True)
    assert two.slice(0, 0, ("b",)) == {(2, "b"): 1}


@pytest.mark.parametrize(("kinds", "keys"), [("ii", None), ("iss", None), ("is", 1)])
def test_maps_that_are_not_alike_are_left(kinds: str, keys: int | None) -> None:
    one, two = table("is"), table(kinds, keys)
    one.one(0, (1, "a"), 1)
    assert not two.take(0, one, 0)
    assert two.entries(0, True) == {}


def test_nothing_is_taken_from_itself_nor_from_what_was_left() -> None:
    one, two = table("i"), table("i")
    with pytest.raises(RuntimeError):
        one.take(0, one, 0)
    for at, other in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            one.take(at, two, other)
    two.close()
    with pytest.raises(Unfit):
        one.take(0, two, 0)
    not_a_machine: Any = 3
    with pytest.raises(TypeError):
        one.take(0, not_a_machine, 0)
    assert isinstance(one, Machine)
    assert one.entries(0, True) == {}
