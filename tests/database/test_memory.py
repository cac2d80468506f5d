"""A memory budget: views store less, or nothing, rather than more than there is; and say so."""

import json
from typing import Any

import pytest

import nestling as nl
from nestling.database.memory import bytes_of
from nestling.transform.viewlet.choose import MEMORY
from nestling.transform.viewlet.storing import Storing


def same(T):
    return [(t.id, [u.id for u in T if u.g == t.g and u.id != t.id]) for t in T]


def groups(path: Any = None, **options: Any) -> nl.Database:
    db = nl.Database(path, **options)
    db.table("T", {"id": int, "g": int}, key="id")
    return db


def grow(db: nl.Database, first: int, n: int) -> None:
    db.insert("T", [(i, i % 4) for i in range(first, first + n)])


@pytest.mark.parametrize("text", ["", "lots", "12 apples", "MB", "-1MB", True, -1, 1.5])
def test_what_is_not_a_size(text):
    with pytest.raises(nl.QueryError, match="is not a size"):
        nl.Database(memory=text)


def test_sizes_as_people_write_them():
    assert [bytes_of(text) for text in ("7", "1kB", "2 mb", "3GiB", "0.5 KiB")] == [
        7, 1000, 2_000_000, 3 * 2**30, 512,
    ]  # fmt: skip


def test_a_view_that_outgrows_its_budget_stores_less():
    db = groups(memory="400kB")
    view = db.view("v", same, store="full")
    grow(db, 0, 40)
    assert db._state.views.decisions["v"].storing == Storing(
        "every", True, frozenset(db._state.views.maintained["v"].definitions)
    )
    before = db._state.bytes_of("v")
    for first in range(40, 200, 40):
        grow(db, first, 40)
    decision = db._state.views.decisions["v"]
    assert decision.code == MEMORY
    assert decision.storing is not None
    assert not decision.storing.bags
    assert db._state.bytes_of("v") < before
    assert "400,000 bytes" in decision.why
    assert len(view[7][1]) == 49
    view.verify()
    db.delete("T", key=7)
    view.verify()


def test_where_nothing_fits_it_is_evaluated_and_says_so():
    db = groups(memory="1kB")
    view = db.view("v", same, store="full")
    with pytest.warns(
        nl.OverBudget, match="v is evaluated on every read from now on: the least that can be"
    ) as told:
        grow(db, 0, 120)
    assert "memory=1000 is too little" in str(told[0].message)
    assert not db._state.views.maintained
    assert len(view[7][1]) == 29
    report = json.loads(view.explain("json"))
    assert not report["maintained"]
    assert report["storage"]["code"] == MEMORY
    assert report["storage"]["memory"] == 1000
    least = min(way["bytes"] for way in report["storage"]["ways"] if not way["refused"])
    assert f"{least:,} bytes, and there are 1,000 bytes" in report["reason"]
    assert "computed from its tables on every read, because the least" in view.explain()
    assert db.stats()["v"]["evaluated_on_read"] == report["reason"]


def test_a_view_made_over_rows_fits_from_the_start():
    db = groups(memory="100kB")
    grow(db, 0, 200)
    view = db.view("v", same, store="full")
    assert db._state.views.decisions["v"].code == MEMORY
    assert db._state.bytes_of("v") <= 100_000
    assert len(view[7][1]) == 49


def test_views_share_a_budget():
    """The second takes what the first leaves."""
    db = groups(memory="2MB")
    grow(db, 0, 120)
    first = db.view("first", same, store="full")
    left = 2_000_000 - db._state.bytes_of("first")
    second = db.view("second", lambda T: [(t.g, [u.id for u in T if u.g == t.g]) for t in T], store="full")
    memory = db._state.views.decisions["second"].memory
    assert memory is not None
    assert memory.bytes == left
    assert sum(db._state.bytes_of(name) for name in ("first", "second")) <= 2_000_000
    first.verify()
    second.verify()


def test_a_watched_view_goes_on_telling():
    """Also when nothing is stored of it any more."""
    db = groups(memory="20kB")
    heard: list[Any] = []
    view = db.view("v", same, store="full")
    view.subscribe(heard.append)
    grow(db, 0, 120)
    assert not db._state.views.maintained or not db._state.views.decisions["v"].storing.bags  # type: ignore[union-attr]
    before = view.bag()
    db.insert("T", [(1000, 1)])
    assert heard[-1].before(view.bag()) == before


@pytest.mark.parametrize("refresh", ["eager", "lazy"])
def test_what_was_decided_survives_reopening(tmp_path, refresh):
    """The same maps, without counting anew: a reopened database is read from its snapshot."""
    path = tmp_path / "t.nest"
    with groups(path, memory="100kB") as db:
        grow(db, 0, 200)
        db.view("v", same, store="full", refresh=refresh)
        db.view("w", same)
        decisions = dict(db._state.views.decisions)
        assert decisions["v"].code == MEMORY
    with nl.Database(path) as db:
        for name, decision in decisions.items():
            kept = db._state.views.decisions[name]
            assert (kept.storing, kept.code, kept.why) == (decision.storing, decision.code, decision.why)
            assert kept.statistics.rows == decision.statistics.rows
            assert kept.statistics.values == decision.statistics.values
        assert len(db.views["v"][7][1]) == 49


def test_what_does_not_fit_is_still_not_stored_after_reopening(tmp_path):
    path = tmp_path / "t.nest"
    with groups(path, memory=1000) as db:
        db.view("v", same)
        with pytest.warns(nl.OverBudget):
            grow(db, 0, 120)
        assert not db._state.views.maintained
    with nl.Database(path, memory=1000) as db:
        assert not db._state.views.maintained
        assert len(db.views["v"][7][1]) == 29


def test_without_a_budget_nothing_is_looked_at():
    db = groups()
    db.view("v", same, store="full")
    grow(db, 0, 120)
    assert db._state.looked_at == 0
    assert db._state.views.decisions["v"].memory is None
