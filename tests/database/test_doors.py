"""Law: whatever is given to a public method, it returns, or refuses with an error of Nestling's and changes nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.database.at import At
from nestling.database.subscription import Subscription
from nestling.database.table import Table
from nestling.database.table_in import TableIn
from nestling.database.transaction import Transaction
from nestling.database.view import View
from tests.database.doors import POOL, Call, UserError, calls, contents, shop, subject


def shown(value: object) -> str:
    """A name for a case that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:60]


CALLS = calls()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """What is written to a path is written there."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "more.jsonl").write_text('{"id": 77, "customer": "z", "items": []}')
    monkeypatch.chdir(tmp_path / "here")


#: What only a database on Spark, or a session of it, can do.
ON_SPARK = {"Table.df", "View.to_df"}
#: What needs a library that is not among those of the tests.
NOT_HERE = {"Table.to_polars", "View.to_polars"}
#: What makes a place, which is looked for when it is changed.
PLACES = {"At.at", "At.__getitem__"}
#: Python's own: a key that is not there.
ALLOWED = {"View.__getitem__": KeyError, "Table.__getitem__": KeyError}


def attempt(db: nl.Database, call: Call, arguments: dict[str, Any]) -> bool:
    """Whether it was refused."""
    try:
        with subject(call, db) as found:
            call.run(found, arguments)
    except (nl.NestlingError, UserError) as error:
        assert not isinstance(error, nl.NestlingError) or str(error)
        return True
    except ALLOWED.get(str(call), ()):
        return True
    return False


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_what_is_wanted_is_accepted(call):
    db = shop()

    assert attempt(db, call, call.arguments()) == (str(call) in ON_SPARK | NOT_HERE)
    if call.name != "close":
        contents(db)
        db.verify(maps=True)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [(call, p.name) for call in CALLS for p in call.parameters],
    ids=str,
)
def test_a_wrong_argument_is_refused_or_means_something(call, parameter):
    db = shop()
    before = contents(db)
    for name, make in POOL.items():
        arguments = call.arguments() | {parameter: make()}
        if parameter in ("where", "key") and "rows" in arguments:
            del arguments["rows"]
        if attempt(db, call, arguments):
            assert contents(db) == before, (call, parameter, name)
        else:
            db = shop()
    if call.name != "close":
        db.verify(maps=True)


PATHS = [None, 5, -1, 1.5, True, "", b"x", [], {}, object(), int, float("nan"), "a\0b", "folder"]


@pytest.mark.parametrize("path", PATHS, ids=shown)
def test_a_path_is_a_text_or_a_path(path, tmp_path):
    if path == "folder":
        path = tmp_path
    if path is None:
        nl.Database(path).close()
    else:
        with pytest.raises(nl.StoreError):
            nl.Database(path)
    nl.Database(Path(tmp_path / "a.nest")).close()
    nl.Database(str(tmp_path / "a.nest")).close()


@pytest.mark.parametrize(
    "memory", [-1, 1.5, True, "", "x", "1 XB", b"1", [], {}, object(), int, float("nan")], ids=shown
)
def test_a_budget_is_a_size(memory):
    with pytest.raises(nl.QueryError, match="is not a size"):
        nl.Database(memory=memory)


#: What says nothing of a database, or ends it.
QUIET = {
    "Database.close",
    "Database.transaction",
    "Database.__repr__",
    "Subscription.cancel",
    "Subscription.__repr__",
}


@pytest.mark.parametrize(
    "call", [call for call in CALLS if call.class_ not in (Transaction, TableIn)], ids=str
)
@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "in a file"])
def test_a_closed_database_says_so(call, durable, tmp_path):
    db = shop() if not durable else reopened(tmp_path / "shop.nest")
    with subject(call, db) as found:
        db.close()
        if str(call) in QUIET:
            call.run(found, call.arguments())
        elif str(call) in PLACES:
            return
        else:
            with pytest.raises(nl.NestlingError, match="closed"):
                call.run(found, call.arguments())


def reopened(path: Path) -> nl.Database:
    db = nl.Database(path)
    db.table("orders", "id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>", key="id")
    db.insert("orders", [(1, "a", [(1, 2)])])
    db.view("v", "SELECT id FROM orders")
    return db


def test_a_closed_database_begins_no_transaction():
    db = shop()
    db.close()
    with pytest.raises(nl.StoreError, match="closed"), db.transaction() as change:
        change.insert("orders", [])
    db.close()
    assert repr(db) == "Database(closed)"


@pytest.mark.parametrize("call", [call for call in CALLS if call.class_ in (View, Table, At)], ids=str)
def test_a_dropped_handle_says_so(call):
    db = shop()
    if call.class_ is View:
        handle: Any = db.views["v"]
    else:
        handle = db.table("orders") if call.class_ is Table else db.table("orders").at(1).items.at({"pid": 1})
    db.drop("v")
    if call.class_ is not View:
        db.drop("c")
        db.drop("orders")
    if str(call) in PLACES:
        return
    name = "v" if call.class_ is View else "orders"
    message = f"{name} was dropped|there is no (view|table) '{name}'"
    with pytest.raises(nl.NestlingError, match=message):
        call.run(handle, call.arguments())


def test_a_subscription_of_a_dropped_view_is_cancelled_silently():
    db = shop()
    subscription = db.views["v"].subscribe(lambda change: None)
    db.drop("v")
    subscription.cancel()
    assert isinstance(subscription, Subscription)


def test_a_handle_finds_what_is_defined_again_under_its_name():
    db = shop()
    view = db.views["v"]
    db.drop("v")
    db.view("v", "SELECT customer FROM orders")

    assert sorted(view) == [("a",), ("b",)]
    assert isinstance(db.table("orders").at(1).items, At)
