"""Whatever is raised, wherever in our code: a change is there or it is not, here and after reopening; views agree."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.storage.lake.local import LocalStore

pytestmark = pytest.mark.xdist_group("spark")

OURS = str(Path(nl.__file__).parent)
#: Where state is kept and stored.
PLACES = (
    "storage/lake",
    "engine/spark",
    "database/spark",
    "database/access",
    "database/transaction",
    "database/database",
)
RAISED = (KeyboardInterrupt, MemoryError, RecursionError, OSError, RuntimeError)


class Fault:
    """Raises something at a certain line event of our code."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at, self.error, self.seen = at, error, 0

    def __enter__(self) -> "Fault":
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_code.co_filename
        return self.line if name.startswith(OURS) and any(place in name for place in PLACES) else None

    def line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.seen += 1
            if self.seen == self.at:
                raise self.error
        return self.line


def made(spark: Any, path: Path) -> Any:
    db = nl.Database(spark=spark, path=path)
    db.table("M", {"name": str, "gen": str, "tags": [str]}, key="name")
    db.view("often", "SELECT gen, count(*) AS n FROM M GROUP BY gen")
    db.view("late", "SELECT name FROM M WHERE gen = 'g0'", refresh="lazy")
    db.view("tagged", "[(m.name, [t for t in m.tags]) for m in M]", language="python")
    return db


def rows_of(db: Any) -> list[Any]:
    return sorted((row.name, row.gen, sorted(row.tags)) for row in db.table("M"))


def changes(db: Any, spark: Any, number: int) -> Iterator[tuple[Callable[[], Any], list[Any]]]:
    """A change of each kind, and what it leads to."""
    before = rows_of(db)
    row = (f"a{number}", f"g{number % 3}", ["x", "x", f"t{number}"])
    yield lambda: db.insert("M", [row]), sorted([*before, (*row[:2], sorted(row[2]))])
    before = rows_of(db)
    gone = before[0]
    yield lambda: db.delete("M", key=gone[0]), before[1:]
    before = rows_of(db)
    frame = spark.createDataFrame(
        [(f"b{number}", "g0", ["y"])], "name STRING, gen STRING, tags ARRAY<STRING>"
    )
    yield lambda: db.insert("M", frame), sorted([*before, (f"b{number}", "g0", ["y"])])


def cut_off(db: Any, act: Callable[[], Any], after: list[Any], random: Random, most: int) -> int:
    """Run a change that is cut off somewhere; how many lines of ours it ran."""
    before, version = rows_of(db), db.version
    with Fault(random.randrange(1, most), random.choice(RAISED)) as fault:
        try:
            act()
            raised = False
        except BaseException as error:  # noqa: BLE001 - what was raised comes out, or something that tells of it
            raised = True
            assert not isinstance(error, AssertionError), error
    found = rows_of(db)
    assert found == after if not raised else found in (before, after)
    assert db.version == version + (found == after)
    assert sorted(row.name for row in db.views["late"]) == [name for name, gen, _ in found if gen == "g0"]
    return fault.seen


def many_cuts(spark: Any, path: Path, random: Random, rounds: int) -> None:
    db = made(spark, path)
    db.insert("M", [("z", "g0", []), ("y", "g1", ["x"])])
    most = [3_000, 3_000, 6_000]
    for number in range(rounds):
        for kind, (act, after) in enumerate(changes(db, spark, number)):
            seen = cut_off(db, act, after, random, most[kind])
            most[kind] = max(2, (most[kind] + 2 * seen) // 2) if seen < most[kind] else most[kind]
        db.verify()
        there, version = rows_of(db), db.version
        if number % 3 == 2:
            db.close()
            db = nl.Database(spark=spark, path=path)
            assert (rows_of(db), db.version) == (there, version)
    db.close()


def test_changes_that_are_cut_off_are_old_or_new(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 2)
    many_cuts(spark, tmp_path / "lake", Random(1), 3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_many_changes_that_are_cut_off_are_old_or_new(spark, tmp_path, monkeypatch, seed):
    monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 2)
    many_cuts(spark, tmp_path / "lake", Random(seed), 25)


class Cut(BaseException):
    """Nothing catches it."""


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("what", ["epoch", "manifest"])
def test_the_record_is_what_commits(spark, tmp_path, monkeypatch, what, done):
    """raised just before it is put: old; just after it: new; and no file that is used is removed"""
    db = made(spark, tmp_path / "lake")
    db.insert("M", [("z", "g0", [])])
    real = LocalStore.put_new

    def cut(store: LocalStore, name: str, data: bytes) -> None:
        if not name.startswith("log/"):
            return real(store, name, data)
        if done:
            real(store, name, data)
        raise Cut

    monkeypatch.setattr(LocalStore, "put_new", cut)
    if what == "manifest":  # of what is in files
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
        monkeypatch.setattr(limits, "MAX_FETCHED_ROWS", 0)
    frame = spark.createDataFrame([("b", "g1", ["y"])], "name STRING, gen STRING, tags ARRAY<STRING>")
    with pytest.raises(Cut):
        db.insert("M", frame)
    monkeypatch.undo()
    wanted = [("b", "g1", ["y"])] * done + [("z", "g0", [])]
    for _ in range(2):
        assert (rows_of(db), db.version) == (wanted, 1 + done)
        db.verify()
        db.insert("M", [("c", "g1", [])])
        db.delete("M", key="c")
        db.close()
        db = nl.Database(spark=spark, path=tmp_path / "lake")
        assert db.version == 3 + done
        wanted, done = rows_of(db), db.version - 1
    db.close()


def test_definitions_that_are_cut_off_are_old_or_new(spark, tmp_path):
    db = made(spark, tmp_path / "lake")
    db.insert("M", [("z", "g0", [])])
    random = Random(2)
    for number in range(3):
        with Fault(random.randrange(1, 4_000), KeyboardInterrupt), suppress(KeyboardInterrupt):
            db.view(f"v{number}", f"SELECT name, {number} AS n FROM M")
        for name, view in db.views.items():
            if name.startswith("v"):
                assert list(view) == [("z", int(name[1:]))]
    there = set(db.views)
    db.insert("M", [("y", "g0", [])])
    db.verify()
    db.close()
    again = nl.Database(spark=spark, path=tmp_path / "lake")
    assert set(again.views) == there
    again.verify()
    again.close()
