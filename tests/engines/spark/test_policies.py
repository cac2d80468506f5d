"""When views are refreshed on Spark: they answer and tell the same; what differs is what waits, and it is stored."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import nestling as nl
from nestling.database.database import Database
from nestling.engine.spark import limits, stage
from nestling.engine.spark.columns import deferred_name
from nestling.engine.spark.engine import SparkEngine
from nestling.engine.spark.state import LakeState
from tests.engines.spark.test_cost import BY_REGION, Counters, applied, sold
from tests.engines.spark.test_kill import killed
from tests.engines.test_knobs import CONDITIONS
from tests.storage import lakes

pytestmark = pytest.mark.xdist_group("spark")

#: A join, nested bags, an aggregate in a condition, and sums that depend on another.
VIEWS: dict[str, Callable[..., Any]] = {
    "sums": lambda D, E: [(d.a, sum(i for e in E if e.a == d.a for i in e.items)) for d in D],
    "nested": lambda D, E: [(d.a, [(r, [e.items for e in E if e.a == r]) for r in d.rows]) for d in D],
    "above": lambda D, E: [sum(d.b for d in D if 2 * d.b < sum(f.b for f in D if f.c == d.c))],
    "shared": lambda D, E: [
        (c, sum(d.b for d in D if d.c == c and len([1 for e in E if e.a == d.a]) > 0))
        for c in {d.c for d in D}
    ],
}


FEW = [("lazy", "sums"), ("hybrid", "shared")]
ALL = [*((refresh, name) for refresh in ("lazy", "hybrid") for name in VIEWS), ("eager", "sums")]


def declare(db: Database, views: list[tuple[str, str]]) -> Database:
    db.table("D", {"a": int, "b": int, "c": int, "rows": list[int]}, key="a")
    db.table("E", {"a": int, "items": list[int]})
    for refresh, name in views:
        db.view(f"{refresh}_{name}", VIEWS[name], refresh=refresh)
    return db


class Walk:
    """The same changes of a database on Spark and of one in memory; readings, listeners and reopenings between."""

    def __init__(self, spark: Any, path: Path, random: Random, views: list[tuple[str, str]]) -> None:
        self.spark, self.path, self.random = spark, path, random
        self.db, self.other = declare(nl.Database(spark=spark, path=path), views), declare(Database(), views)
        self.heard: dict[str, list[Any]] = {}
        self.waited: set[str] = set()

    def change(self) -> None:
        before = {name: self.other._read(name) for name in self.heard}
        change = self.random.choice([self.insert, self.insert, self.replace, self.inside])()
        for each in (self.db, self.other):
            with each.transaction() as transaction:
                change(transaction)
        for name, changes in self.heard.items():
            now = self.other._read(name)
            assert (changes.pop().before(now) if changes else now) == before[name]
            assert not changes
        self.waited |= {name for name, rows in waits(self.db).items() if rows}

    def insert(self) -> Callable[[Any], None]:
        few, keys = self.random.randrange, self.keys()
        new = [a for a in (few(9), few(9)) if a not in keys]
        rows = {a: (a, few(5), few(3), [few(9) for _ in range(few(3))]) for a in new}
        others = [(few(9), [few(4) for _ in range(few(3))]) for _ in range(2)]

        def change(transaction: Any) -> None:
            transaction.insert("D", list(rows.values()))
            transaction.insert("E", others)

        return change

    def replace(self) -> Callable[[Any], None]:
        """A row goes, and perhaps comes again otherwise."""
        there = sorted(self.other.table("E").rows())
        gone = [self.random.choice(there)] if there else []
        some = self.random.choice(self.keys() or [None])
        values = {"b": self.random.randrange(5), "rows": [self.random.randrange(9)]}

        def change(transaction: Any) -> None:
            transaction.delete("E", gone)
            if some is not None and values["b"]:
                transaction.update("D", key=some, set=values)
            elif some is not None:
                transaction.delete("D", key=some)

        return change

    def inside(self) -> Callable[[Any], None]:
        some, element = self.random.choice(self.keys() or [None]), self.random.randrange(9)

        def change(transaction: Any) -> None:
            if some is not None:
                transaction.insert_into("D", some, ("rows",), [element, element])

        return change

    def keys(self) -> list[int]:
        return sorted(row.a for row in self.other.table("D"))

    def read(self) -> None:
        name = self.random.choice(sorted(self.db.views))
        assert self.db._read(name) == self.other._read(name)

    def listen(self) -> None:
        name = self.random.choice(sorted(self.db.views))
        if name not in self.heard:
            self.heard[name] = []
            self.db.views[name].subscribe(self.heard[name].append)

    def reopen(self) -> None:
        waiting = waits(self.db)
        self.db.close()
        self.db, self.heard = nl.Database(spark=self.spark, path=self.path), {}
        assert waiting.items() <= waits(self.db).items() or self.db._state.running.built  # type: ignore[attr-defined]

    def end(self) -> None:
        for name in self.db.views:
            assert self.db._read(name) == self.other._read(name)
        assert not any(waits(self.db).values())
        self.db.close()


def waits(db: Any) -> dict[str, int]:
    """What waits: for lazy views, and to be passed on."""
    now, running = db._state.running.now, db._state.running
    found = {name: later.waiting for name, later in db._state.lazy_programs.items()}
    return found | {
        deferred_name(name): now.stored[deferred_name(name)].rows for name in running.program.deferred
    }


def walked(spark: Any, path: Path, seed: int, steps: int, views: list[tuple[str, str]]) -> None:
    walk = Walk(spark, path, Random(seed), views)
    for _ in range(steps):
        chances = [walk.change] * 6 + [walk.read] * 3 + [walk.reopen, walk.listen]
        walk.random.choice(chances)()
    walk.end()
    assert walk.waited


def test_policies_agree(spark, tmp_path, monkeypatch):
    """as embedded; every few epochs all that waits moves to files, and is summed there"""
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 4)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    walked(spark, tmp_path / "lake", 1, 7, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12))
def test_policies_agree_for_long(spark, tmp_path, monkeypatch, seed):
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 1 + seed % 5)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    if seed % 3 == 2:
        monkeypatch.setattr(limits, "MAX_COLLECTED_ROWS", 2)
    walked(spark, tmp_path / "lake", seed, 25, ALL)


@pytest.mark.soak
@pytest.mark.parametrize("refresh", ["lazy", "hybrid"])
def test_conditions_wait(spark, tmp_path, refresh):
    """aggregates of every kind in conditions, one inside another; read at random, and opened again"""
    random, other, seen = Random(refresh), Database(), set[str]()

    def opened() -> Any:
        return nl.Database(spark=spark, path=tmp_path / "lake")

    db = opened()
    for each in (db, other):
        for table in ("T", "U"):
            each.table(table, {"k": int, "x": int})
        for name, condition in CONDITIONS.items():
            each.view(f"v_{name}", condition, refresh=refresh)
    for _ in range(20):
        table = random.choice("TU")
        there = sorted(other.table(table).rows())
        rows = [(random.randrange(1, 3), random.randrange(-1, 5)) for _ in range(2)]
        change = dict.fromkeys(rows, 1) | {row: -1 for row in there[:1] if random.random() < 0.5}
        for each in (db, other):
            each.apply({table: change})
        seen |= {name for name, rows in waits(db).items() if rows}
        if random.random() < 0.4:
            name = random.choice(sorted(db.views))
            assert db._read(name) == other._read(name)
        if random.random() < 0.1:
            db.close()
            db = opened()
    for name in db.views:
        assert db._read(name) == other._read(name)
    assert len(seen) > 3
    db.verify(maps=True)
    db.close()


@pytest.fixture
def shop(opened: Any) -> Any:
    """A lazy view that was read once, and rows."""
    db = opened()
    db.table("customers", {"cid": int, "region": str}, key="cid")
    db.table("sales", {"id": int, "cust": int, "qty": int}, key="id")
    db.view("by_region", BY_REGION, language="python", refresh="lazy")
    rows = [(i, i % 20, i % 7) for i in range(200)]
    db.apply({"customers": {(i, f"r{i % 3}"): 1 for i in range(20)}, "sales": dict.fromkeys(rows, 1)})
    assert "computed when it is first read" in db.views["by_region"].explain()
    db.views["by_region"].rows()
    return db


@pytest.mark.usefixtures("by_queries")
def test_what_waits_costs_no_job_and_is_run_as_one_batch(spark, shop, monkeypatch):
    """what came and went in between is not run at all"""
    counters, queries = Counters(spark), list[str]()
    for first in (1000, 1100, 1200):
        applied(shop, {"sales": sold(first, 50)})
    assert counters.since() == (0, 0)
    assert waits(shop) == {"by_region": 153}
    assert "lazy: 153 rows wait" in shop.views["by_region"].explain()

    arrow = stage.arrow

    def counted(moment: LakeState, text: str) -> Any:
        queries.append(text)
        return arrow(moment, text)

    monkeypatch.setattr(stage, "arrow", counted)
    shop.views["by_region"].verify(maps=False)
    assert len(queries) == 1
    assert waits(shop) == {"by_region": 0}

    applied(shop, {"sales": {(7000, 1, 5): 1}})
    applied(shop, {"sales": {(7000, 1, 5): -1}})
    assert shop.stats()["by_region"]["waiting"] == 2
    assert len(queries) == 1
    assert shop.stats()["by_region"]["waiting"] == 0


def test_much_that_waits_goes_to_files(spark, shop, opened, monkeypatch):
    """before it is read, since it is much; and when it is run, nothing of it comes here

    A change that was in files has these in common with what waits; the table may be stored otherwise since then.
    """
    monkeypatch.setattr(limits, "MAX_RECENT_ROWS", 20)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_COLLECTED_ROWS", 100)
    rows = [(i, i % 20, 5) for i in range(1000, 1100)]
    with monkeypatch.context() as patched:
        patched.setattr(limits, "MAX_TRANSACTION_ROWS", 60)
        patched.setattr(limits, "MAX_FETCHED_ROWS", 60)
        shop.insert("sales", spark.createDataFrame(rows, "id BIGINT, cust BIGINT, qty BIGINT"))
    waiting = shop._state.running.now.stored["·sales waiting for by_region"]
    folder = shop._state.lake.folder("table sales")
    assert waiting.rows == 100
    assert all(path.startswith(folder) for path in waiting.files[0].paths)
    shop.delete("sales", rows[:30])
    assert shop._state.running.now.stored["·sales waiting for by_region"].recent_rows == 0
    shop = opened()
    assert waits(shop) == {"by_region": 70}  # the files were merged: what came and went is in none
    shop.insert("sales", [(i, i % 20, 5) for i in range(1100, 1150)])
    shop.views["by_region"].rows()

    assert shop._state.lake.logged == 0
    assert not any(stored.recent_rows for stored in shop._state.running.now.stored.values())
    shop.verify()


def test_reopening_computes_nothing(shop, opened, monkeypatch):
    """The maps of a view that waits come from the lake, and what it has not seen waits again."""
    shop.insert("sales", [(1000, 3, 5)])

    def computed(*_: Any) -> Any:
        raise AssertionError("maps are computed anew")

    monkeypatch.setattr(SparkEngine, "computed", computed)
    shop = opened()
    assert waits(shop) == {"by_region": 1}
    shop.view("regions", "[c.region for c in customers]", language="python", refresh="lazy")
    assert waits(shop) == {"by_region": 1, "regions": 0}
    shop.drop("regions")
    shop.verify()
    shop = opened()
    assert waits(shop) == {"by_region": 0}
    shop.verify()


@pytest.mark.parametrize("refresh", ["lazy", "in doubt", "hybrid"])
def test_what_has_no_value(opened, refresh):
    """a lazy view refuses nothing, and answers when it has a value again; a hybrid one refuses as an eager one does

    Those who are told of it are so when its folder was read anew in between.
    """
    db = opened()
    db.table("N", {"a": int, "b": int})
    view = db.view(
        "v", lambda N: [sum(n.a // n.b for n in N)], refresh="hybrid" if refresh == "hybrid" else "lazy"
    )
    db.insert("N", [(6, 3)])
    assert view.rows() == [2]
    if refresh == "hybrid":
        with pytest.raises(nl.ChangeError, match="cannot be computed"):
            db.insert("N", [(1, 0)])
        return
    heard: list[Any] = []
    view.subscribe(heard.append)
    db.insert("N", [(1, 0)])
    for read in (view.rows, view.verify, lambda: db.view_df("v")):
        with pytest.raises(nl.NestlingError, match="v cannot be computed"):
            read()
    assert not heard
    assert db.stats()["v"]["rows"] is None
    if refresh == "in doubt":
        db._state.lake.is_ahead = True
        assert len(db.table("N")) == 2
    db.apply({"N": {(1, 0): -1, (8, 2): 1}})
    assert view.rows() == [6]
    assert [(change.version, change.deleted, change.inserted) for change in heard] == [(3, [2], [6])]


def test_the_changes_of_a_lazy_view_are_kept(opened, spark, monkeypatch):
    """with the version they came with, also where the process ended before they were run; and published"""
    db = opened()
    db.table("N", {"a": int, "b": int})
    db.view("v", "SELECT a, SUM(b) AS b FROM N GROUP BY a", refresh="lazy")
    db.keep_changes("v")
    db.publish("v")
    db.insert("N", [(1, 5)])
    with monkeypatch.context() as patched:
        patched.setattr(type(db._state), "follow", lambda state: None)
        db.insert("N", [(1, 2)])
    db = opened()
    db.insert("N", [(2, 3)])

    found = db.view_df("v", changes_since=0).toArrow().to_pylist()
    assert sorted((row["_commit_version"], row["_change_type"], row["a"], row["b"]) for row in found) == [
        (1, "insert", 1, 5), (2, "delete", 1, 5), (2, "insert", 1, 7), (3, "insert", 2, 3),
    ]  # fmt: skip
    db.publish("v")
    db.insert("N", [(2, 4)])
    assert sorted(map(tuple, spark.table("v").collect())) == [(1, 7), (2, 7)]
    assert sorted(map(tuple, db.view_df("v").collect())) == [(1, 7), (2, 7)]
    assert db.view_df("v", shredded=True).count() == 2
    assert db.views["v"][2].b == 7


ABOVE = "[sum(t.x for t in T if 2 * t.x < sum(u.x for u in T if u.k == t.k))]"


@pytest.mark.soak
def test_maps_that_are_not_there_are_computed(opened, tmp_path):
    """as after another version: what waited for those that were there is not run, and what was computed stays"""
    db = opened()
    db.table("T", {"k": int, "x": int})
    db.view("above", ABOVE, language="python", refresh="hybrid")
    db.insert("T", [(1, 2), (1, 3)])
    assert any(waits(db).values())
    db.close()
    last = lakes.of_kind(tmp_path / "lake", "manifest")[-1]
    manifest, _ = lakes.read(last)
    gone = [key for key in manifest["relations"] if key.startswith("map ")][:1]
    del manifest["relations"][gone[0]]
    lakes.write(last, manifest)

    db = opened()
    assert not any(waits(db).values())
    db.verify(maps=True)
    db.insert("T", [(1, 9)])
    db.verify(maps=True)
    assert not opened()._state.running.built


WAITS = """
import sys
import nestling as nl
import nestling.engine.spark.limits as limits
from tests.engines.spark.session import session

limits.MAX_LOG_EPOCHS, limits.TIER_RUNS, limits.MIN_COMPACTED_ROWS, limits.MAX_MERGED_ROWS = int(sys.argv[2]), 2, 20, 50
db = nl.Database(spark=session(), path=sys.argv[1])
db.table("T", {"k": int, "x": int})
db.view("later", "[(k, sum(t.x for t in T if t.k == k)) for k in {t.k for t in T}]", language="python", refresh="lazy")
db.view("above", "[sum(t.x for t in T if 2 * t.x < sum(u.x for u in T if u.k == t.k))]", language="python",
        refresh="hybrid")
print("ready", flush=True)
while True:
    n = db.version
    db.apply({"T": {(n % 3, n): 1, (n % 2, n - 1): 1, (5, 7): -1 if n % 2 else 1}})
    if n % 3 == 2:
        db._read("later")
    if n % 4 == 3:
        db._read("above")
    print(db.version, flush=True)
"""


@pytest.mark.soak
def test_a_killed_driver_loses_nothing_that_waits(spark, tmp_path):
    """between batches, readings that run what waits, and compaction; nothing is run twice"""
    random = Random(0)
    for number in range(8):
        acknowledged = killed(random.random() * 3, WAITS, str(tmp_path / "lake"), str(1 + number % 3))
        db = nl.Database(spark=spark, path=tmp_path / "lake")
        assert acknowledged <= db.version <= acknowledged + 1
        assert len(db.table("T")) == 2 * db.version + db.version % 2
        db.verify(maps=True)
        db.close()
