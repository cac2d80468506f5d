"""Transactions: when they end, whose they are, what others see, and what refers to what."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import nestling as nl

# when they end


@pytest.fixture
def db(tmp_path):
    with nl.Database(tmp_path / "x.nest") as db:
        db.table("t", {"k": int, "xs": list[int]}, key="k")
        db.view("v", lambda t: [(r.k, sum(r.xs), [x for x in r.xs if x > 0]) for r in t])
        db.insert("t", [(1, [5])])
        yield db


AFTERWARDS: dict[str, Callable[[Any], Any]] = {
    "insert": lambda t: t.insert("t", [(9, [])]),
    "delete": lambda t: t.delete("t", key=1),
    "update": lambda t: t.update("t", key=1, set={"xs": []}),
    "apply": lambda t: t.apply({"t": {(9, ()): 1}}),
    "insert_into": lambda t: t.insert_into("t", 1, ("xs",), [7]),
    "delete_from": lambda t: t.delete_from("t", 1, ("xs",), [5]),
    "upsert": lambda t: t.upsert("t", [(1, [7])]),
    "sync": lambda t: t.sync("t", []),
    "merge": lambda t: t.merge("t", [(1, [7])]),
    "table": lambda t: t.table("t").at(1).xs.insert([7]),
}


@pytest.mark.parametrize("change", AFTERWARDS.values(), ids=AFTERWARDS)
def test_a_transaction_is_over_after_its_block(db, tmp_path, change):
    with db.transaction() as t:
        t.insert("t", [(2, [])])
    with pytest.raises(nl.ChangeError, match="the transaction is over"):
        change(t)
    with pytest.raises(ZeroDivisionError), db.transaction() as failed:
        failed.insert("t", [(3, [])])
        1 / 0  # noqa: B018
    with pytest.raises(nl.ChangeError, match="the transaction is over"):
        change(failed)
    assert [row.k for row in db.table("t")] == [1, 2]
    db.delete("t", key=2)
    db.close()
    with nl.Database(tmp_path / "x.nest") as again:
        assert again.table("t").rows() == [(1, [5])]


def test_every_public_change_is_over_then():
    public = {name for name in dir(nl.database.transaction.Transaction) if not name.startswith("_")}
    assert public - AFTERWARDS.keys() == {"check_usable", "rollback", "rows", "stored", "update_in", "using"}


def test_a_transaction_says_what_it_did(db):
    with db.transaction() as t:
        t.insert("t", [(2, [1, 2])])
    assert (t.refresh.version, t.refresh.tables) == (db.version, {"t.xs": 2, "t": 1})


# whose they are, and what others see


def in_thread(function: Callable[[], Any]) -> Any:
    """What ``function`` answers or raises in a thread of its own; it does not wait long."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except nl.NestlingError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found, "it still waits"
    return found[0]


def test_a_transaction_belongs_to_its_thread(db):
    with db.transaction() as t:
        error = in_thread(lambda: t.insert("t", [(2, [])]))
        assert isinstance(error, nl.ChangeError)
        assert "belongs to another thread" in str(error)
    assert len(db.table("t")) == 1


def test_others_read_what_is_committed_and_need_not_wait(db):
    """Also where the transaction has read a view; it goes on as if nobody had read."""
    view, table = db.views["v"], db.table("t")
    with db.transaction() as t:
        t.insert("t", [(2, [3, 4])])
        assert in_thread(view.rows) == [(1, 5, [5])]
        assert view[2] == (2, 7, [3, 4])
        assert in_thread(lambda: (view.rows(), table.rows())) == ([(1, 5, [5])], [(1, [5])])
        t.delete("t", key=1)
        t.update("t", key=2, set={"xs": [1]})
        assert view.rows() == [(2, 1, [1])]
        assert in_thread(lambda: len(view)) == 1
        t.insert_into("t", 2, ("xs",), [1])
    assert in_thread(view.rows) == [(2, 2, [1, 1])]
    db.verify(maps=True)


def test_a_refused_change_after_a_reading_takes_back_its_own_events_alone(db):
    with db.transaction() as t:
        t.insert("t", [(2, [3])])
        assert len(db.views["v"]) == 2
        with pytest.raises(nl.ChangeError, match="already has a row"):
            t.insert("t", [(3, []), (2, [])])
        with pytest.raises(nl.ChangeError, match="has no row"):
            t.delete("t", where=lambda row: row.k == len(db.views["v"]) or t.delete("t", key=8))
        assert len(db.views["v"]) == 2
    assert sorted(row.k for row in db.table("t")) == [1, 2]
    db.verify(maps=True)


def test_iteration_goes_on_over_the_state_it_began_with(db):
    rows = iter(db.views["v"])
    db.insert("t", [(k, []) for k in range(2, 9)])
    assert list(rows) == [(1, 5, [5])]


def test_writers_queue():
    db = nl.Database()
    db.table("n", {"who": int, "i": int})
    view = db.view("c", "SELECT who, count(*) AS n, collect_list(i) AS l FROM n GROUP BY who")
    told: list[int] = []
    view.subscribe(lambda change: told.append(change.version))

    def write(who: int) -> None:
        for i in range(150):
            db.insert("n", [(who, i)])

    threads = [threading.Thread(target=write, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert all(row.n == len(row.l) for row in view)
    assert sorted((row.who, row.n) for row in view) == [(who, 150) for who in range(3)]
    assert told == sorted(told) == list(range(1, 451))


# what refers to what


@pytest.fixture(params=["memory", "file"])
def shop(request, tmp_path):
    with nl.Database(tmp_path / "x.nest" if request.param == "file" else None) as db:
        db.table("customers", {"id": int, "name": str}, key="id")
        db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
        db.view(
            "bought",
            "SELECT c.name, count(*) AS n FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.name",
        )
        db.insert("customers", [(1, "ann"), (2, "bob"), (3, "cid")])
        db.insert("orders", [(10, 1), (11, 1), (12, 2)])
        yield db


REFUSED: dict[str, Callable[[nl.Database], Any]] = {
    "delete": lambda db: db.delete("customers", key=1),
    "delete by condition": lambda db: db.delete("customers", where=lambda c: True),
    "key": lambda db: db.update("customers", key=2, set={"id": 7}),
    "apply": lambda db: db.apply({"customers": {(1, "ann"): -1, (8, "ann"): 1}}),
    "sync": lambda db: db.sync("customers", [(2, "bob"), (3, "cid")]),
    "sql": lambda db: db.sql("DELETE FROM customers WHERE id = 1"),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_what_others_refer_to_stays(shop, change):
    before = sorted(shop.table("customers")), shop.version
    with pytest.raises(nl.ChangeError, match=r"of customers is referred to by orders"):
        change(shop)
    assert (sorted(shop.table("customers")), shop.version) == before
    shop.verify(maps=True)


def test_only_the_end_of_a_change_is_asked(shop):
    with shop.transaction() as t:
        t.delete("customers", key=1)
        t.delete("orders", key=10)
        t.delete("orders", key=11)
    with shop.transaction() as t:
        t.delete("customers", key=2)
        t.insert("customers", [(2, "ben")])
    shop.delete("customers", key=3)
    with pytest.raises(nl.ChangeError, match="referred to by orders"):
        shop.delete("customers", key=2)
    shop.update("orders", key=12, set={"customer": 2})
    shop.delete("orders", key=12)
    shop.delete("customers", key=2)
    assert shop.views["bought"].rows() == []
