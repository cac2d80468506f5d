"""A durable database that is opened again holds and answers what it did, and goes on from there."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.storage.file import FileStore
from tests.database.moves import move
from tests.engines.worlds import contents

DEEP = "a INT, rows ARRAY<STRUCT<a: INT, items: ARRAY<INT>>>"


@pytest.fixture(scope="module")
def defined(tmp_path_factory):
    """A file with tables and views, and nothing in them."""
    path = tmp_path_factory.mktemp("reopen") / "defined.nest"
    declare(nl.Database(path)).close()
    return path


def declare(db: nl.Database) -> nl.Database:
    db.table("D", DEEP, key="a")
    db.table("E", {"a": int, "items": list[int]})
    db.view("flat", lambda D, E: [(d.a, sum(i for e in E if e.a == d.a for i in e.items)) for d in D])
    db.view(
        "nested", lambda D, E: [(d.a, [(r.a, [e.items for e in E if e.a == r.a]) for r in d.rows]) for d in D]
    )
    db.view("whole", lambda E: [(e.a, e.items) for e in E], refresh="lazy")
    return db


@given(data=st.data())
def test_reopening_finds_everything(defined, data):
    """open(close(db)) = db, however it came to be; it goes on from there, and what is declared again is there"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.nest"
        shutil.copy(defined, path)
        with nl.Database(path) as db:
            some_changes(data, db)
            held, version, answers = contents(db._state.engine), db.version, answers_of(db)
        with nl.Database(path) as again:
            assert contents(again._state.engine) == held
            assert answers_of(again) == answers
            assert again.version == version
            some_changes(data, again)
            again.verify()
            held = contents(again._state.engine)
            assert contents(declare(again)._state.engine) == held


def some_changes(data: Any, db: nl.Database) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        with db.transaction() as change:
            for _ in range(data.draw(st.integers(1, 2))):
                move(data.draw, db, change)


def answers_of(db: nl.Database) -> dict[str, Any]:
    return {name: view.bag() for name, view in db.views.items()}


def test_a_bag_that_was_empty_when_it_was_closed(tmp_path):
    """Names of inner bags are not given twice, also those of bags that hold nothing."""
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("E", {"a": int, "items": list[int]})
        db.insert("E", [(1, [])])
    with nl.Database(path) as db:
        db.insert("E", [(2, [7])])
        assert sorted(db.table("E")) == [(1, []), (2, [7])]


def test_a_key_that_looks_like_a_number_of_a_bag(tmp_path):
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("K", {"name": str, "items": list[int]}, key="name")
        db.insert("K", [("#x", [1]), ("#7", [2])])
    with nl.Database(path) as db:
        assert sorted(db.table("K")) == [("#7", [2]), ("#x", [1])]


def test_a_refused_change_is_not_found_again(tmp_path):
    path = tmp_path / "x.nest"
    with nl.Database(path) as db:
        db.table("D", DEEP, key="a")
        db.constraint("few", lambda D: [d.a for d in D if d.a > 5])
        db.insert("D", [(1, [(1, [1])])])
        refused: list[list[tuple[int, list[Any]]]] = [[(2, []), (1, [])], [(3, []), (6, [])]]
        for rows in refused:
            try:
                db.insert("D", rows)
            except nl.ChangeError:
                continue
            raise AssertionError("it was accepted")
    with nl.Database(path) as db:
        assert db.table("D").rows() == [(1, [(1, [1])])]
        assert list(db._constraints) == ["few"]


class Full(Exception):
    """The disk is."""


@pytest.mark.parametrize("kind", ["table", "view", "constraint", "drop"])
def test_a_definition_that_cannot_be_written_is_not_there(tmp_path, monkeypatch, kind):
    """Neither in the file nor in memory; and all goes on."""
    path = tmp_path / "x.nest"
    with declare(nl.Database(path)) as db:
        db.insert("E", [(1, [2]), (3, [])])
        heard: list[Any] = []
        db.views["flat"].subscribe(heard.append)
        held, defined = contents(db._state.engine), (set(db.tables), set(db.views), set(db._constraints))
        define = {
            "table": lambda: db.table("new", {"a": int}),
            "view": lambda: db.view("new", lambda E: [sum(i for e in E for i in e.items)]),
            "constraint": lambda: db.constraint("new", lambda E: [e.a for e in E if e.a > 9]),
            "drop": lambda: db.drop("flat"),
        }[kind]

        def full(*_: Any) -> None:
            raise Full

        with monkeypatch.context() as patch:
            patch.setattr(FileStore, "write_snapshot", full)
            with pytest.raises(Full):
                define()
        assert (set(db.tables), set(db.views), set(db._constraints)) == defined
        assert contents(db._state.engine) == held
        db.insert("D", [(1, [])])
        assert len(heard) == 1
        db.verify(maps=True)
    with nl.Database(path) as again:
        assert (set(again.tables), set(again.views), set(again._constraints)) == defined
        again.verify(maps=True)
        again.drop("flat") if kind == "drop" else again.table("new", {"a": int})
