"""Whenever a view is refreshed, it answers, refuses and tells the same; what differs is what waits."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nestling as nl
from nestling.database import lazy
from nestling.database.durable import DatabaseFile
from tests.database.moves import move
from tests.engines.worlds import contents

POLICIES = ("eager", "lazy", "hybrid")


def declare(db: nl.Database) -> nl.Database:
    """One view of every kind under every policy."""
    db.table("D", "a INT, rows ARRAY<STRUCT<a: INT, items: ARRAY<INT>>>", key="a")
    db.table("E", {"a": int, "items": list[int]})
    for refresh in POLICIES:
        db.view(
            f"{refresh} sums",
            lambda D, E: [(d.a, sum(i for e in E if e.a == d.a for i in e.items)) for d in D],
            refresh=refresh,
        )
        db.view(
            f"{refresh} nested",
            lambda D, E: [(d.a, [(r.a, [e.items for e in E if e.a == r.a]) for r in d.rows]) for d in D],
            refresh=refresh,
        )
        db.view(f"{refresh} count", lambda E: [len([1 for e in E])], refresh=refresh)
        db.view(f"{refresh} pairs", lambda D, E: [(d.a, e.a) for d in D for e in E], refresh=refresh)
    return db


@pytest.fixture(scope="module")
def defined(tmp_path_factory):
    path = tmp_path_factory.mktemp("refresh") / "defined.nest"
    declare(nl.Database(path)).close()
    return path


class Use:
    """A database in a file that is changed, read, listened to and opened again."""

    def __init__(self, path: Path, draw: Any) -> None:
        self.path, self.draw = path, draw
        self.db = nl.Database(path)
        self.heard: dict[str, list[Any]] = {}

    def change(self) -> None:
        before = {name: self.db._read(name) for name in self.heard}
        with self.db.transaction() as change:
            for _ in range(self.draw(st.integers(1, 2))):
                move(self.draw, self.db, change)
        for name, changes in self.heard.items():
            now = self.db._read(name)
            assert (changes.pop().before(now) if changes else now) == before[name]
            assert not changes

    def some_view(self) -> Any:
        return self.db.views[self.draw(st.sampled_from(sorted(self.db.views)))]

    def read(self) -> None:
        name = self.some_view().name
        assert self.db._read(name) == self.db._state.evaluate(name)

    def listen(self) -> None:
        view = self.some_view()
        if view.name not in self.heard:
            self.heard[view.name] = []
            view.subscribe(self.heard[view.name].append)

    def reopen(self) -> None:
        if self.draw(st.booleans()):
            snapshot(self.db)
        # Logs for those who listen are not kept.
        lazy = self.db._state.views.lazy.items()
        quiet = [name for name, policy in lazy if policy.engine is not None and name not in self.heard]
        held = {name: state_of(self.db, name) for name in quiet}
        assert isinstance(self.db._file, DatabaseFile)
        seen = self.db._file.store.stats().log_entries == 0
        self.db.close()
        self.db, self.heard = nl.Database(self.path), {}
        if seen:
            assert {name: state_of(self.db, name) for name in quiet} == held


@settings(max_examples=40)
@given(data=st.data())
def test_policies_agree(defined, data):
    """Reads, subscriptions and reopenings in any order; a snapshot is taken at any moment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.nest"
        shutil.copy(defined, path)
        use = Use(path, data.draw)
        for _ in range(data.draw(st.integers(2, 6))):
            data.draw(
                st.sampled_from([use.change, use.change, use.change, use.read, use.listen, use.reopen])
            )()
        use.db.verify()
        use.db.close()


def state_of(db: nl.Database, name: str) -> Any:
    """What a view that is refreshed later keeps."""
    return contents(db._state.later(name).engine), db._state.later(name).pending


def snapshot(db: nl.Database) -> None:
    assert isinstance(db._file, DatabaseFile)
    db._file._snapshot(db._state)


def shop(refresh: str, path: Any = None) -> nl.Database:
    db = nl.Database(path)
    db.table("orders", {"id": int, "who": str, "pid": int}, key="id")
    db.table("parts", {"pid": int, "price": int}, key="pid")
    db.view(
        "cost",
        lambda orders, parts: [(o.id, o.who, p.price) for o in orders for p in parts if p.pid == o.pid],
        refresh=refresh,
        store="full",
    )
    return db


def test_what_waits_is_told():
    """Of a lazy view changes, of a hybrid one maps."""
    db = shop("lazy")
    db.views["cost"].rows()
    db.insert("parts", [(1, 10)])
    db.insert("orders", [(7, "ann", 1)])
    assert db.stats()["cost"]["waiting"] == 2
    assert db.stats()["cost"]["waiting"] == 0
    db.update("parts", key=1, set={"price": 12})
    db.update("parts", key=1, set={"price": 10})
    assert db.stats()["cost"]["waiting"] == 0, "what came and went is not run"

    dear = db.view(
        "dear",
        lambda orders: [len([1 for o in orders if len([1 for p in orders if p.who == o.who]) > 1])],
        refresh="hybrid",
    )
    assert db.stats()["dear"]["postponed"] == sorted(db._state.engine.program.deferred) != []
    db.insert("orders", [(8, "ann", 1), (9, "bob", 1)])
    assert dear.rows() == [2]
    with db.transaction() as change:
        change.insert("orders", [(10, "bob", 1)])
        assert dear.rows() == [4]


@pytest.mark.parametrize("refresh", POLICIES)
def test_a_hybrid_view_refuses_as_an_eager_one(refresh):
    db = nl.Database()
    db.table("t", {"a": int})
    view = db.view("v", lambda t: [(x.a, y.a // x.a) for x in t for y in t], refresh=refresh)
    db.insert("t", [(1,), (2,)])
    if refresh == "lazy":
        db.insert("t", [(0,)])
        db.delete("t", [(0,)])
    else:
        with pytest.raises(nl.ChangeError, match="v could not be computed"):
            db.insert("t", [(0,)])
    assert len(view) == 4


def test_reopening_computes_nothing(tmp_path, monkeypatch):
    """The maps of a view that waits come from the file, and what it has not seen waits again."""
    path = tmp_path / "x.nest"
    with shop("lazy", path) as db:
        db.insert("orders", [(i, "ann", i % 3) for i in range(9)])
        db.insert("parts", [(0, 5), (1, 6)])
        assert len(db.views["cost"]) == 6
        db.insert("parts", [(2, 7)])
        db.view("other", lambda parts: [p.pid for p in parts])  # with it, a snapshot
        db.insert("parts", [(3, 8)])
        held, waiting = contents(db._state.later("cost").engine), db._state.later("cost").pending
    assert len(waiting) == 2

    def computed(*_: Any) -> Any:
        raise AssertionError("maps are filled")

    monkeypatch.setattr(lazy.LazyView, "load", computed)
    with nl.Database(path) as again:
        assert again._state.later("cost").pending == waiting
        assert contents(again._state.later("cost").engine) == held
        assert len(again.views["cost"]) == 9
        again.verify()


@pytest.mark.parametrize("refresh", POLICIES)
def test_a_file_without_what_waits_still_opens(tmp_path, refresh):
    """As it was written before views that are refreshed later were kept."""
    path = tmp_path / "x.nest"
    with shop(refresh, path) as db:
        db.insert("parts", [(1, 5)])
        db.insert("orders", [(1, "ann", 1)])
        db.views["cost"].rows()
        for name in db._state.views.lazy:
            db._state.views = db._state.views.running(name, None)
        snapshot(db)
    with nl.Database(path) as again:
        assert again.views["cost"].rows() == [(1, "ann", 5)]
        again.update("parts", key=1, set={"price": 6})
        assert again.views["cost"].rows() == [(1, "ann", 6)]
        again.verify()
