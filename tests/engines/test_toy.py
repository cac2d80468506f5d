"""The seam: an engine of 150 lines, over SQLite, under the suite of all engines and under the database's own code."""

from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.database.core import Core
from nestling.database.database import Database
from nestling.database.row_state import RowState
from tests.engines.suite.cases import CASES, Case
from tests.engines.toy import TOY, ToyEngine

POLICIES = ("eager", "hybrid", "lazy")


class OnToy(Database):
    """The same database, with another engine."""

    def __init__(self) -> None:
        Core.__init__(self, RowState(TOY))


def opened(made: Database, case: Case, refresh: str) -> Database:
    for name, (schema, key) in case.tables.items():
        made.table(name, schema, key=key)
    for name, text in case.views.items():
        made.view(name, text, language="python", refresh=refresh)
    return made


def heard(db: Database) -> dict[str, list[Any]]:
    """By view, the changes that are told from now on: as whole rows, read at once."""
    found: dict[str, list[Any]] = {name: [] for name in db.views}
    for view in db.views.values():
        view.subscribe(lambda change: found[change.view].append(change.whole()))
    return found


def test_it_is_small() -> None:
    assert len(Path(__file__).with_name("toy.py").read_text().splitlines()) < 150


@pytest.mark.parametrize("refresh", POLICIES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_database_answers_and_tells_the_same_on_it(case: Case, refresh: str) -> None:
    ours, theirs = opened(OnToy(), case, refresh), opened(Database(), case, refresh)
    assert isinstance(ours._state.engine, ToyEngine)
    told, expected = heard(ours), heard(theirs)
    for move in case.moves:
        for db in (ours, theirs):
            with db.transaction() as change:
                move(change)
        assert {name: view.bag() for name, view in ours.views.items()} == {
            name: view.bag() for name, view in theirs.views.items()
        }
    assert told == expected
    assert any(told.values())
    ours.verify(maps=True)


@pytest.fixture
def shop() -> Database:
    db = OnToy()
    db.table("parts", {"pid": int, "price": int}, key="pid")
    db.table("orders", {"id": int, "pid": int}, key="id", references={"pid": "parts"})
    db.view("spent", "[o.id for o in orders for p in parts if p.pid == o.pid and 100 // p.price > 5]",
            language="python")  # fmt: skip
    db.constraint("few", "[o.id for o in orders if o.id > 100]", language="python")
    db.insert("parts", [(1, 10), (2, 50)])
    db.insert("orders", [(1, 1), (2, 2)])
    return db


def rows(db: Database) -> tuple[Any, ...]:
    return sorted(db.tables["orders"]), sorted(db.tables["parts"]), sorted(db.views["spent"]), db.version


def test_what_is_refused_leaves_nothing(shop: Database) -> None:
    before = rows(shop)
    with pytest.raises(nl.ConstraintError, match="few"):
        shop.insert("orders", [(3, 1), (101, 1)])
    with pytest.raises(nl.ChangeError, match="no value"):
        shop.insert("parts", [(3, 0)])  # not divided by: no order refers to it
        shop.insert("orders", [(3, 3)])
    shop.delete("parts", key=3)
    with pytest.raises(nl.ChangeError, match="already has a row"):
        shop.insert("orders", [(3, 1), (1, 1)])
    with pytest.raises(nl.ChangeError, match="is referred to by"):
        shop.delete("parts", key=1)
    assert rows(shop)[:3] == before[:3]
    shop.verify(maps=True)


def test_a_transaction_sees_its_changes_and_others_do_not(shop: Database) -> None:
    before = rows(shop)
    with pytest.raises(RuntimeError), shop.transaction() as change:
        change.insert("orders", [(4, 1)])
        assert sorted(shop.views["spent"]) == [1, 4]
        change.delete("orders", key=1)
        assert sorted(shop.views["spent"]) == [4]
        raise RuntimeError
    assert rows(shop) == before


def test_views_come_and_go(shop: Database) -> None:
    late = shop.view("late", "[o.pid for o in orders]", language="python", refresh="lazy")
    assert sorted(late) == [1, 2]
    shop.insert("orders", [(5, 1)])
    assert (shop.stats()["late"]["waiting"], sorted(late)) == (1, [1, 1, 2])
    shop.drop("late")
    assert set(shop.views) == {"spent"}
    with pytest.raises(nl.QueryError, match="cannot be computed from the rows"):
        shop.view("wrong", "[1 // (o.id - 1) for o in orders]", language="python")
