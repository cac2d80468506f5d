"""Readers on Spark wait for nobody: they read the state that was stored when they began, whoever writes meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

from nestling.database.spark.state import SparkState
from nestling.engine.spark import limits
from nestling.engine.spark.durable import EngineLake
from nestling.engine.spark.engine import SparkEngine
from tests.engines.spark.session import tables_of

pytestmark = pytest.mark.xdist_group("spark")

#: Long enough for whoever is not held up.
PATIENCE = 120


class Held:
    """Holds whoever comes to a method, until it is let on."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: type, method: str) -> None:
        self.came, self.on = Event(), Event()
        real = getattr(owner, method)

        def held(*args: Any, **kwargs: Any) -> Any:
            self.came.set()
            assert self.on.wait(PATIENCE)
            return real(*args, **kwargs)

        patch.setattr(owner, method, held)


@contextmanager
def meanwhile(held: Held, act: Callable[[], Any]) -> Iterator[None]:
    """A block in which ``act`` is under way, in another thread, and stands where it is held."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        assert held.came.wait(PATIENCE)
        yield
    finally:
        held.on.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not failed


def in_time(read: Callable[[], Any]) -> Any:
    """What a reader gets who is not held up."""
    found: list[Any] = []
    thread = Thread(target=lambda: found.append(read()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "a reader waits"
    return found[0]


@pytest.fixture
def shop(opened: Any) -> Any:
    db = opened()
    db.table("orders", {"id": int, "items": [{"pid": int, "n": int}]}, key="id")
    db.view("amounts", "[(o.id, sum(i.n for i in o.items)) for o in orders]", language="python")
    db.view("late", "SELECT id FROM orders", refresh="lazy")
    db.view("anew", "SELECT count(*) AS n FROM orders", store="none")
    db.constraint("few", "SELECT id FROM orders WHERE id > 1000")
    db.insert("orders", [(1, [(7, 2), (8, 3)]), (2, [])])
    assert sorted(db.views["late"]) == [(1,), (2,)]
    return db


def readings(db: Any) -> list[Any]:
    """What readers of all kinds get."""
    return [
        sorted(db.views["amounts"]),
        db.views["amounts"][1],
        list(db.views["anew"]),
        sorted(db.views["late"]),
        sorted((row.id, len(row.items)) for row in db.table("orders")),
        sorted(map(tuple, db.view_df("amounts").collect())),
        db.sql("SELECT count(*) AS n FROM orders"),
    ]


BEFORE = [[(1, 5), (2, 0)], (1, 5), [(2,)], [(1,), (2,)], [(1, 2), (2, 0)], [(1, 5), (2, 0)], [(2,)]]
AFTER = [
    [(1, 5), (2, 0), (3, 4)], (1, 5), [(3,)], [(1,), (2,), (3,)], [(1, 2), (2, 0), (3, 1)],
    [(1, 5), (2, 0), (3, 4)], [(3,)],
]  # fmt: skip


@pytest.mark.parametrize("where", ["batch", "check", "store", "large"])
def test_a_reader_finishes_while_a_writer_is_held(shop, spark, monkeypatch, where):
    """in the middle of a batch, of the checks after it, and of storing it; it sees what was committed before"""
    place = {
        "batch": (SparkEngine, "after"),
        "check": (SparkState, "offending"),
        "store": (EngineLake, "append"),
        "large": (SparkEngine, "after"),
    }[where]
    change: Any = [(3, [(7, 4)])]
    if where == "large":
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
        change = spark.createDataFrame(change, "id BIGINT, items ARRAY<STRUCT<pid: BIGINT, n: BIGINT>>")
    with meanwhile(Held(monkeypatch, *place), lambda: shop.insert("orders", change)):
        assert in_time(lambda: readings(shop)) == BEFORE
    assert readings(shop) == AFTER
    shop.verify(maps=True)


def test_a_reader_finishes_while_a_view_is_filled(shop, monkeypatch):
    held = Held(monkeypatch, SparkEngine, "computed")
    with meanwhile(held, lambda: shop.view("all_of_them", "SELECT sum(id) AS ids FROM orders")):
        assert in_time(lambda: readings(shop)) == BEFORE
        assert "all_of_them" not in shop.views
    assert list(shop.views["all_of_them"]) == [(3,)]


def test_a_reader_keeps_its_state(shop, monkeypatch):
    """also where files are compacted under it; when it is through, they go"""
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 1)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    monkeypatch.setattr(limits, "TIER_RUNS", 2)
    monkeypatch.setattr(limits, "MAX_DRIVER_VALUES", -1)
    shop.insert("orders", [(9, [])])
    shop.delete("orders", key=9)
    engine = shop._state.running

    def files() -> int:
        return len(list(shop.folder.glob("data/**/*.parquet")))

    def changed() -> None:
        for number in (3, 4):
            shop.insert("orders", [(number, [(7, number)])])
            shop.views["late"].rows()
        for number in (3, 4):
            shop.delete("orders", key=number)
            shop.views["late"].rows()

    changed()
    there, names = files(), len(tables_of(engine.session))
    with shop._access.looking():
        assert sorted(shop._state.read("amounts")) == [(1, 5), (2, 0)]
        writer = Thread(target=changed)
        writer.start()
        writer.join(PATIENCE)
        assert not writer.is_alive()
        shop_now = in_time(lambda: sorted(shop.views["amounts"]))
        assert sorted(shop._state.read("amounts")) == [(1, 5), (2, 0)]
        assert len(shop._state.rows("orders")) == 2
    assert shop_now == [(1, 5), (2, 0)]
    changed()
    assert files() <= there
    assert len(tables_of(engine.session)) <= names


def test_what_is_refused_was_seen_by_nobody(shop, monkeypatch):
    seen: list[Any] = []
    real = SparkState.offending

    def looked(state: Any, constraint: str) -> Any:
        seen.append((state.running.cells("orders"), in_time(lambda: readings(shop))))
        return real(state, constraint)

    monkeypatch.setattr(SparkState, "offending", looked)
    with pytest.raises(Exception, match="constraint few would be broken"):
        shop.insert("orders", [(2000, [])])
    assert [(len(own), others) for own, others in seen] == [(3, BEFORE)]
    assert readings(shop) == BEFORE
