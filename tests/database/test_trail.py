"""What is held of changes: as much as somebody needs, and no more."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest

import nestling as nl
from nestling.database import trail
from nestling.database.step import Step


def made() -> tuple[nl.Database, Any]:
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    view = db.view("v", lambda orders: [(o.id, [i * 2 for i in o.items]) for o in orders])
    db.insert("orders", [(7, range(10)), (8, ())])
    return db, view


def turn(db: nl.Database, n: int) -> None:
    """An element comes and goes, so that the database holds what it held."""
    items = db.table("orders").at(7).items
    (items.delete if n % 2 else items.insert)([1000 + n // 2])


def steps() -> int:
    gc.collect()
    return sum(isinstance(each, Step) for each in gc.get_objects())


@pytest.mark.parametrize("patches", [False, True])
def test_changes_that_are_told_leave_nothing_behind(patches):
    """What 20,000 changes leave is what the first few left."""
    db, view = made()
    told = 0

    def tell(change: Any) -> None:
        nonlocal told
        told += bool(change.inner[0].inserted or change.inner[0].deleted)
        if patches:
            assert len(change.to_json_patch()) == 1

    view.subscribe(tell, history=10)
    for n in range(4_000):
        turn(db, n)
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(4_000, 20_000):
        turn(db, n)
    gc.collect()
    assert told == 20_000
    assert sys.getallocatedblocks() - before < 8_000  # not one block for every second change


@pytest.mark.soak
def test_a_million_changes_with_a_subscriber():
    """resident memory grows by less than 10 MB"""
    db, view = made()
    heard = [0]

    def tell(change: Any) -> None:
        heard[0] += len(change.inner)

    view.subscribe(tell)
    for n in range(20_000):
        turn(db, n)
    gc.collect()
    before = resident()
    for n in range(20_000, 1_020_000):
        turn(db, n)
    gc.collect()
    assert heard == [1_020_000]
    assert resident() - before < 10_000_000


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[1]) * 4096


def test_steps_go_with_the_changes_that_need_them():
    db, view = made()
    held: list[Any] = []
    before = steps()
    view.subscribe(held.append)
    for n in range(50):
        turn(db, n)
    assert steps() - before >= 50
    held.clear()
    db.insert("orders", [(9, [])])  # what the last refresh holds is another change now
    held.clear()
    assert steps() - before <= 4


def test_a_change_that_is_held_does_not_hold_all_that_follow(monkeypatch):
    monkeypatch.setattr(trail, "STEPS", 20)
    db, view = made()
    held: list[Any] = []
    before = steps()
    view.subscribe(lambda change: held.append(change) if not held else None)
    for n in range(200):
        turn(db, n)
    assert steps() - before < 60
    (change,) = held
    assert (change.version, change.inner[0].inserted) == (2, [2000])
    with pytest.raises(nl.NestlingError, match="has changed too often since version 2"):
        change.to_json_patch()
    with pytest.raises(nl.NestlingError, match="has changed too often since version 2"):
        assert change.replaced


def test_large_changes_that_are_held_do_not_hold_others(monkeypatch):
    monkeypatch.setattr(trail, "LOGGED", 100)
    db, view = made()
    held: list[Any] = []
    before = steps()
    view.subscribe(lambda change: held.append(change) if not held else None)
    for n in range(10):
        db.insert("orders", [(100 + 50 * n + i, [i]) for i in range(50)])
    assert steps() - before < 6
    assert len(held[0].inserted) == 50


def test_what_a_history_keeps_can_be_patched(monkeypatch):
    """However many steps that are, and however late."""
    monkeypatch.setattr(trail, "STEPS", 5)
    db, view = made()
    view.changes(history=60)
    for n in range(200):
        turn(db, n)
    assert [change.to_json_patch()[0]["op"] for change in view.changes()] == ["add", "remove"] * 30


def test_changes_say_the_same_after_the_last_reader_has_left():
    db, view = made()
    held: list[Any] = []
    subscription = view.subscribe(held.append)
    turn(db, 0)
    db.insert("orders", [(9, [1, 2])])
    patch = held[1].to_json_patch()
    db.delete("orders", key=9)
    subscription.cancel()
    db.delete("orders", key=7)
    assert held[0].inner[0].inserted == [2000]
    assert held[1].inserted == [(9, [2, 4])]
    assert held[2].deleted == [(9, [2, 4])]
    assert held[1].to_json_patch() == patch
    db.drop("v")
    assert held[1].inserted == [(9, [2, 4])]


def test_a_view_that_is_dropped_leaves_its_changes_readable():
    db, view = made()
    held: list[Any] = []
    view.subscribe(held.append)
    db.insert("orders", [(9, [1, 2])])
    db.drop("v")
    db.delete("orders", key=9)
    assert held[0].inserted == [(9, [2, 4])]


def test_a_change_is_read_in_a_transaction_as_it_was():
    """What is not committed yet is no part of it."""
    db, view = made()
    held: list[Any] = []
    view.subscribe(held.append)
    db.insert("orders", [(9, [1])])
    with db.transaction() as t:
        t.insert("orders", [(10, [5])])
        t.delete("orders", key=9)
        assert view.bag()  # from here on the engine has what is not committed
        assert held[0].inserted == [(9, [2])]
        assert held[0].to_json_patch() == [{"op": "add", "path": "/2", "value": {"id": 9, "_1": [2]}}]
    assert held[1].deleted == [(9, [2])]
    assert [operation["op"] for operation in held[1].to_json_patch()] == ["remove", "add"]


def test_a_view_that_comes_to_store_nothing_is_told_on():
    """It is compared from then on, and the next patch brings the whole document, whose order may be another."""
    db, view = made()
    held: list[Any] = []
    view.subscribe(held.append)
    document = view.document()
    turn(db, 0)
    first = held[0].to_json_patch()
    decision = db._state.views.decisions["v"]
    with db._reading():
        db._logging.store_otherwise("v", replace(decision, storing=None, why="no memory", code="memory"))
    db.insert("orders", [(1, [3])])
    assert held[0].to_json_patch() == first
    assert held[1].inserted == [(1, [6])]
    assert held[1].to_json_patch() == [{"op": "replace", "path": "", "value": list(view.document())}]
    turn(db, 1)
    assert len(held[2].to_json_patch()) == 2
    assert document.version == 1


def test_threads_write_and_read_what_they_are_told():
    """Two write, four read late what they were told; every change is right, and versions are in order."""
    db, view = made()
    before = view.bag()
    held: list[Any] = []
    view.subscribe(held.append)

    def write(start: int) -> None:
        for n in range(start, start + 150):
            db.insert("orders", [(n, [n, n + 1])])
            db.table("orders").at(n).items.insert([5])

    def read() -> None:
        for _ in range(300):
            for change in held[-3:]:
                assert change.inserted or change.inner[0].inserted == [10]
                assert change.to_json_patch()

    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(write, start) for start in (1000, 2000)]
        running += [threads.submit(read) for _ in range(4)]
        for thread in running:
            thread.result(120)
    db.insert("orders", [(1, [])])  # what another thread was still telling is told by now
    assert [change.version for change in held] == list(range(2, 603))
    answer = before
    for change in held:
        answer += change.whole()
    assert answer == view.bag()


@pytest.mark.parametrize("store", ["auto", "none"])
@pytest.mark.parametrize("refresh", ["eager", "lazy"])
def test_a_commit_that_is_cut_off_after_it_was_noted_is_not_told(refresh, store, monkeypatch):
    """What follows leads on from the answer that was there before."""
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    view = db.view(
        "v", lambda orders: [(o.id, [i + 1 for i in o.items]) for o in orders], refresh=refresh, store=store
    )
    held: list[Any] = []
    view.subscribe(held.append, history=5)
    document, answer = view.document(), view.bag()
    db.insert("orders", [(1, [1])])
    held[0].to_json_patch()
    note = db._subscribers.note

    def cut(version: int) -> Any:
        note(version)
        raise KeyboardInterrupt

    monkeypatch.setattr(db._subscribers, "note", cut)
    with pytest.raises(KeyboardInterrupt):
        db.insert("orders", [(9, [9])])
    monkeypatch.undo()
    db.insert("orders", [(2, [2])])
    db.table("orders").at(2).items.insert([7])
    for change in held:
        document, answer = jsonpatch.apply_patch(document, change.to_json_patch()), answer + change.whole()
    assert [change.version for change in held] == [1, 2, 3]
    assert [change.version for change in view.changes()] == [1, 2, 3]
    assert (document, answer) == (view.document(), view.bag())


@pytest.mark.parametrize("storing", ["none", "otherwise"])
def test_a_change_that_is_held_keeps_all_it_says_when_the_view_gets_a_new_plan(storing):
    """Whole rows, patches and the rows around inner changes: read then, or never asked for before."""
    db, view = made()
    held: list[Any] = []
    view.subscribe(held.append)
    document, answer = view.document(), view.bag()
    turn(db, 0)
    db.insert("orders", [(9, [1, 2])])
    db.table("orders").at(9).items.insert([3])
    decision = db._state.views.decisions["v"]
    if storing == "none":
        decision = replace(decision, storing=None, why="no memory", code="memory")
    with db._reading():
        db._logging.store_otherwise("v", decision)
    db.delete("orders", key=7)
    for change in held:
        document = jsonpatch.apply_patch(document, change.to_json_patch())
        answer = answer + change.whole()
    assert (document, answer) == (list(view.document()), view.bag())
    [inner] = held[2].inner
    assert (inner.was, inner.row) == ((9, [2, 4]), (9, [2, 4, 6]))
    assert held[2].replaced == [(inner.was, inner.row)]
