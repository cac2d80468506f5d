"""The collector is changed where the user says so, and is as it was afterwards."""

import gc

import pytest

import nestling as nl


@pytest.fixture(autouse=True)
def collector():
    was, frozen = gc.isenabled(), gc.get_freeze_count()
    yield
    gc.unfreeze()
    if frozen:
        gc.freeze()
    (gc.enable if was else gc.disable)()


def loaded() -> nl.Database:
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    db.view("v", lambda orders: [(o.id, [i + 1 for i in o.items]) for o in orders])
    db.insert("orders", [(n, [n, n]) for n in range(50)])
    return db


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_off_inside_and_as_it_was_afterwards(enabled):
    (gc.enable if enabled else gc.disable)()
    frozen = gc.get_freeze_count()
    with nl.bulk():
        assert not gc.isenabled()
        db = loaded()
    assert gc.isenabled() == enabled
    assert gc.get_freeze_count() > frozen
    db.verify()


def test_also_after_an_error():
    gc.enable()
    with pytest.raises(nl.ChangeError), nl.bulk():
        loaded().insert("orders", [(7, [])])
    assert gc.isenabled()


def test_nothing_else_changes_its_settings():
    gc.enable()
    gc.unfreeze()  # what somebody froze before may go meanwhile, and count no more
    before = gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()
    db = loaded()
    db.views["v"].subscribe(lambda change: None)
    db.table("orders").at(7).items.insert([1])
    db.verify()
    assert (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()) == before


def test_a_map_that_only_triggers_can_follow_is_filled_by_its_meaning():
    """Where a view is defined over rows that are there, and where an engine is made anew after an interrupt."""
    db = nl.Database()
    db.table("t", "k STRING, a DOUBLE, b BIGINT NULL, c BIGINT", key="k")
    db.insert("t", [("x", 0.5, 0, -1), ("y", 1.0, None, 2)])
    view = db.view(
        "v",
        "SELECT p.a, avg(p.c) FILTER (WHERE q.a = p.a) AS m FROM t p RIGHT JOIN t q ON p.b = q.b GROUP BY p.a",
        store="counts",
    )
    assert sorted(view, key=repr) == [(0.5, -1.0), (None, None)]
    db.insert("t", [("z", 0.5, 0, 3)])
    db._state.rebuild()
    db.verify(maps=True)
