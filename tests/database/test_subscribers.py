"""Who is told of what, in which order, and what is kept for those who ask."""

import logging
import threading
from typing import Any

import pytest

import nestling as nl
from tests.storage.interrupts import everywhere


@pytest.fixture
def db():
    db = nl.Database()
    db.table("T", {"a": int})
    db.view("v", "SELECT a FROM T")
    db.view("w", "SELECT a + 1 AS b FROM T")
    return db


def logs(db) -> list[str]:
    return [name for name, decl in db._state.engine.program.maps.items() if decl.role == "watch"]


def versions(changes) -> list[int]:
    return [change.version for change in changes]


# who reads


def test_without_readers_nothing_is_logged(db):
    assert not logs(db)
    one, other = (db.views["v"].subscribe(lambda change: None) for _ in range(2))
    assert logs(db)
    one.cancel()
    assert logs(db)
    other.cancel()
    other.cancel()
    assert not logs(db)
    assert db.insert("T", [(1,)]).changes == {}


@pytest.mark.parametrize("refresh", ["eager", "lazy", "hybrid"])
@pytest.mark.parametrize("store", ["auto", "full", "none"])
def test_a_view_is_heard_again_after_nobody_did(refresh, store):
    db = nl.Database()
    db.table("T", {"a": int})
    view = db.view("v", "SELECT a, count(*) AS n FROM T GROUP BY a", refresh=refresh, store=store)
    heard: list[Any] = []
    for step in range(4):
        subscription = view.subscribe(heard.append)
        db.insert("T", [(step,)])
        subscription.cancel()
        db.insert("T", [(step,)])
    assert [change.inserted for change in heard] == [[(step, 1)] for step in range(4)]
    view.verify()


def test_a_history_of_zero_ends_the_keeping(db):
    view = db.views["v"]
    assert view.changes(history=5) == []
    assert logs(db)
    db.insert("T", [(1,)])
    assert [change.inserted for change in view.changes(history=0)] == [[(1,)]]
    assert not logs(db)
    assert view.changes(history=0) == []
    assert not logs(db)


def test_a_dropped_view_is_not_kept(db):
    view = db.views["v"]
    view.subscribe(lambda change: None, history=3)
    db.drop("v")
    assert db.insert("T", [(1,)]).changes == {}
    with pytest.raises(nl.QueryError, match="view v was dropped"):
        view.subscribe(print)
    with pytest.raises(nl.QueryError, match="view v was dropped"):
        view.changes()


# what is kept


def test_a_history_is_bounded(db):
    view = db.views["v"]
    view.changes(history=3)
    for a in range(5):
        db.insert("T", [(a,)])
    assert versions(view.changes()) == [3, 4, 5]
    assert versions(view.changes(since=2)) == [3, 4, 5]
    with pytest.raises(nl.NestlingError, match="starts at version 2, not at 1") as refused:
        view.changes(since=1)
    assert "read the view anew" in refused.value.hint


def test_a_change_that_does_not_reach_the_view_takes_no_place(db):
    db.table("U", {"a": int})
    db.views["v"].changes(history=1)
    db.insert("T", [(1,)])
    for a in range(3):
        db.insert("U", [(a,)])
    assert versions(db.views["v"].changes(since=0)) == [1]


def test_what_was_before_the_first_reader_is_not_there(db):
    db.insert("T", [(1,)])
    with pytest.raises(nl.NestlingError, match="starts at version 1, not at 0"):
        db.views["v"].changes(since=0)
    db.insert("T", [(2,)])
    assert versions(db.views["v"].changes(since=1)) == [2]


def test_the_longest_history_holds(db):
    view = db.views["v"]
    subscription = view.subscribe(lambda change: None, history=4)
    view.changes(history=2)
    for a in range(6):
        db.insert("T", [(a,)])
    assert len(view.changes()) == 4
    subscription.cancel()
    assert versions(view.changes()) == [5, 6]


def test_a_version_that_is_not_yet_is_refused(db):
    with pytest.raises(nl.NestlingError, match="at version 0, not yet at 7"):
        db.views["v"].changes(since=7)


@pytest.mark.parametrize("history", [-1, 1.5, "many", True])
def test_a_history_is_a_number(db, history):
    for call in (lambda v: v.subscribe(print, history=history), lambda v: v.changes(history=history)):
        with pytest.raises(nl.QueryError, match="history is a number from 0 on"):
            call(db.views["v"])
    assert not logs(db)


@pytest.mark.parametrize("what", [None, 5, "f"])
def test_what_cannot_be_called_is_refused(db, what):
    with pytest.raises(nl.QueryError, match="a subscriber is a function"):
        db.views["v"].subscribe(what)
    if what is not None:
        with pytest.raises(nl.QueryError, match="on_error is a function"):
            db.views["v"].subscribe(print, on_error=what)
    assert not logs(db)


# how it is told


def test_one_that_raises_disturbs_nobody(db, caplog):
    heard: list[Any] = []
    failed: list[Any] = []
    view = db.views["v"]
    error = ValueError("no")

    def raises(change):
        raise error

    view.subscribe(raises)
    view.subscribe(raises, on_error=lambda *what: failed.append(what))
    view.subscribe(raises, on_error=raises)
    view.subscribe(heard.append)
    with caplog.at_level(logging.ERROR, logger="nestling"):
        refresh = db.insert("T", [(1,)])

    assert (refresh.version, view.rows()) == (1, [(1,)])
    assert versions(heard) == [1]
    assert failed == [(error, heard[0])]
    assert [record.getMessage() for record in caplog.records] == [
        "a subscriber of v failed at version 1",
        "a subscriber of v failed at version 1",
        "a subscriber of v failed at version 1",
        "on_error of a subscriber of v failed at version 1",
    ]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_and_the_others_are_told_later(db, stop):
    heard: list[Any] = []
    view = db.views["v"]

    def interrupted(change):
        if change.version == 1:
            raise stop

    view.subscribe(interrupted)
    view.subscribe(heard.append)
    with pytest.raises(stop):
        db.insert("T", [(1,)])
    assert view.rows() == [(1,)]
    assert heard == []
    db.insert("T", [(2,)])
    assert versions(heard) == [1, 2]


def test_an_interrupt_silences_nobody(db):
    """At whatever place of our own code: the next change is told, and whoever is told of it hears each version once."""
    heard: list[int] = []
    db.views["v"].subscribe(lambda change: heard.append(change.version))

    for _, place in everywhere(lambda: None, lambda _: db.insert("T", [(1,)]), "nestling"):
        db.insert("T", [(2,)])
        assert heard[-1] == db.version, place
        assert sorted(set(heard)) == heard, place


def test_one_that_writes_is_told_after_all_have_heard(db):
    told: list[Any] = []

    def writes(change):
        told.append(("first", change.version))
        if change.version < 4:
            db.insert("T", [(change.version,)])
            told.append(("wrote", db.version))

    db.views["v"].subscribe(writes)
    db.views["w"].subscribe(lambda change: told.append(("second", change.version)))
    db.insert("T", [(0,)])
    assert told == [
        ("first", 1), ("wrote", 2), ("second", 1),
        ("first", 2), ("wrote", 3), ("second", 2),
        ("first", 3), ("wrote", 4), ("second", 3),
        ("first", 4), ("second", 4),
    ]  # fmt: skip


def test_a_cancellation_holds_at_once(db):
    """Also for changes that wait to be told."""
    heard: list[Any] = []

    def cancels(change):
        db.insert("T", [(9,)])
        other.cancel()
        own.cancel()

    own = db.views["v"].subscribe(cancels)
    other = db.views["v"].subscribe(heard.append)
    db.insert("T", [(1,)])
    assert heard == []
    assert db.version == 2
    assert not logs(db)


def test_who_subscribes_when_told_hears_what_comes_after(db):
    heard: list[Any] = []

    def subscribes(change):
        if change.version == 1:
            db.insert("T", [(2,)])
            db.views["w"].subscribe(heard.append)
            db.insert("T", [(3,)])

    db.views["v"].subscribe(subscribes)
    db.insert("T", [(1,)])
    assert versions(heard) == [3]


def test_inside_a_transaction_nobody_starts_to_listen(db):
    heard: list[Any] = []
    subscription = db.views["v"].subscribe(heard.append)
    with db.transaction() as t:
        t.insert("T", [(1,)])
        for name in "vw":
            with pytest.raises(nl.QueryError, match="inside a transaction"):
                db.views[name].subscribe(print)
        with pytest.raises(nl.QueryError, match="inside a transaction"):
            db.views["w"].changes()
    assert versions(heard) == [1]
    with db.transaction() as t:
        t.insert("T", [(2,)])
        subscription.cancel()
    assert versions(heard) == [1]
    assert not logs(db)


def test_what_was_undone_is_not_told(db):
    heard: list[Any] = []
    db.views["v"].subscribe(heard.append)
    with pytest.raises(nl.ChangeError), db.transaction() as t:
        t.insert("T", [(1,)])
        t.insert("T", [("x",)])
    db.insert("T", [(2,)])
    assert [(change.version, change.inserted) for change in heard] == [(1, [(2,)])]


def test_what_is_queued_while_another_thread_tells_is_told_by_it(db):
    """No wake-up is lost: who finds somebody telling leaves, and that one goes on."""
    heard: list[int] = []
    entered, go_on = threading.Event(), threading.Event()

    def waits(change):
        heard.append(change.version)
        if change.version == 1:
            entered.set()
            assert go_on.wait(10)

    db.views["v"].subscribe(waits)
    first = threading.Thread(target=db.insert, args=("T", [(1,)]))
    first.start()
    assert entered.wait(10)
    db.insert("T", [(2,)])  # returns, though the first is still being told
    assert heard == [1]
    go_on.set()
    first.join(10)
    assert heard == [1, 2]
