"""Feeds that know no images of what was there: each a case that runs on every engine."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import nestling as nl
from tests.database.habits import ROWS, shop


def removed(row: Any) -> bool:
    return row.op == "D"


def merges(db: nl.Database) -> None:
    """Rows come, take the place of others and go, by key alone."""
    orders = shop(db)
    done = db.merge(
        "orders",
        [
            {"id": 1, "op": "D"},
            {"id": 2, "customer": "bob", "items": [(1, 1), (2, 6)], "op": "U"},
            {"id": 3, "customer": "cy", "items": [], "op": "I"},
            {"id": 9, "op": "D"},
        ],
        delete_when=removed,
    )
    assert sorted(orders) == [(2, "bob", [(1, 1), (2, 6)]), (3, "cy", [])]
    assert sorted(db.views["spend"]) == [("bob", 7), ("cy", 0)]
    assert done.tables == {"orders.items": 3, "orders": 2}, "only what differs travels"
    assert orders.merge([(2, "bob", [(1, 1), (2, 6)])]).events == 0
    with pytest.raises(nl.ChangeError, match="two of the rows have key 4 of orders"):
        db.merge("orders", [(4, "x", []), (4, "y", [])])
    with pytest.raises(nl.ChangeError, match="has no column 'custmer', and neither"):
        db.merge(
            "orders", [{"id": 4, "customer": "x", "items": [], "custmer": "y"}], delete_when=lambda r: False
        )
    assert 4 not in orders


def in_a_sequence(db: nl.Database) -> None:
    """The last row of a key stays, whatever came after it."""
    orders = shop(db)

    def merge(*rows: tuple[int, int, str]) -> nl.Refresh:
        given = [
            {"id": id, "seq": seq, "op": "D"}
            if name == "-"
            else {"id": id, "customer": name, "items": [], "seq": seq, "op": "U"}
            for id, seq, name in rows
        ]
        return db.merge("orders", given, delete_when=removed, sequence_by="seq")

    merge((1, 5, "-"), (1, 3, "old"), (2, 1, "bo"), (3, 2, "cy"), (3, 4, "dan"))
    assert sorted(orders) == [(2, "bo", []), (3, "dan", [])]
    version = db.version
    late = merge((1, 4, "late"), (3, 3, "late"), (3, 4, "again"))
    assert (late.events, late.tables, db.version) == (0, {}, version), (
        "nothing of it is later than what is there"
    )
    merge((1, 6, "eve"), (3, 5, "-"))
    assert sorted(orders) == [(1, "eve", []), (2, "bo", [])]
    with pytest.raises(nl.ChangeError, match="two different rows with key 1 of orders have the same seq"):
        merge((1, 9, "x"), (1, 9, "y"))
    merge((1, 8, "x"), (1, 8, "x"))
    with pytest.raises(nl.ChangeError, match="was merged in a sequence of"):
        db.merge("orders", [{"id": 1, "customer": "x", "items": [], "at": "monday"}], sequence_by="at")
    with db.transaction() as t:
        t.merge(
            "orders",
            [
                {"id": 1, "customer": "t", "items": [], "at": 7},
                {"id": 2, "customer": "t", "items": [], "at": 7},
            ],
            sequence_by="at",
        )
    assert sorted(orders) == [(1, "x", []), (2, "t", [])]
    assert list(db.tables) == ["orders"]


def by_its_own_column(db: nl.Database) -> None:
    prices = db.table("prices", "sku STRING, day DATE, cents BIGINT", key="sku")
    rows = [("a", "2024-01-02", 5), ("a", "2024-01-01", 4), ("b", "2024-01-01", 1)]
    given = [(sku, date.fromisoformat(day), cents) for sku, day, cents in rows]
    for row in given:
        prices.merge([row], sequence_by=["day"])
    assert sorted(row.cents for row in prices) == [1, 5]


def once(db: nl.Database) -> None:
    """A batch that is there already changes nothing."""
    orders = shop(db)
    row = (7, "gus", ())
    for _ in range(3):
        done = db.apply({"orders": {row: 1}}, once=("nightly", 17))
    assert (done.events, done.tables, len(orders)) == (0, {}, 3)
    assert db.apply({"orders": {row: -1}}, once=("nightly", 16)).events == 0
    assert db.apply({"orders": {row: -1}}, once=("hourly", 16)).events == 1
    with pytest.raises(nl.ChangeError, match="has no row"):
        db.apply({"orders": {row: -1}}, once=("nightly", 18))
    assert db.apply({"orders": {row: 1}}, once=("nightly", 18)).events == 1, "what was refused is not there"
    assert sorted(orders) == [*ROWS, (7, "gus", [])]
    assert list(db.tables) == ["orders"]


def given_wrongly(db: nl.Database) -> None:
    orders = shop(db)
    db.table("bag", "a INT")
    job: Any = "nightly"
    number: Any = 7
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: db.merge("bag", [(1,)]), "bag has no key"),
        (lambda: db.merge("nowhere", [(1,)]), "there is no table 'nowhere'"),
        (lambda: db.merge("orders", "abc"), "rows are not"),
        (lambda: db.merge("orders", [7]), "a row is a record"),
        (lambda: db.merge("orders", [{"id": 1}]), "column 'customer' is missing"),
        (lambda: db.merge("orders", [{1: 1}]), "a column is named by a str"),
        (lambda: db.merge("orders", [{"x": 1}], delete_when=lambda r: r.x == 1), "has no column 'id'"),
        (lambda: db.merge("orders", [{"id": 1}], delete_when=7), "delete_when is a function of a row, not 7"),
        (lambda: db.merge("orders", [{"id": 1}], delete_when=lambda r: 1), "delete_when says True or False, not 1"),
        (lambda: db.merge("orders", [{"id": "x"}], delete_when=lambda r: True), "column 'id' takes int"),
        (lambda: db.merge("orders", ROWS, sequence_by=number), "sequence_by names columns, not 7"),
        (lambda: db.merge("orders", ROWS, sequence_by=[]), "sequence_by names columns"),
        (lambda: db.merge("orders", ROWS, sequence_by="seq"), "has no column 'seq'"),
        (lambda: db.merge("orders", ROWS, sequence_by="items"), "items of orders has no order"),
        (lambda: db.merge("orders", [{"id": 1, "customer": "", "items": [], "s": None}], sequence_by="s"), "is None"),
        (
            lambda: db.merge("orders", [{"id": 1, "customer": "", "items": [], "s": [1]}], sequence_by="s"),
            "the sequence s is a scalar",
        ),
        (lambda: db.apply({"orders": {}}, once=job), "once names a job"),
        (lambda: db.apply({"orders": {}}, once=(job, job)), "once names a job"),
        (lambda: db.apply({"orders": {}}, once=("nightly", True)), "once names a job"),
        (lambda: db.apply({"orders": 7}, once=("nightly", 1)), "a change is a Z-bag"),
    ]  # fmt: skip
    for act, message in wrong:
        with pytest.raises(nl.ChangeError, match=message) as error:
            act()
        assert "§" not in str(error.value)
    with pytest.raises(ZeroDivisionError):
        db.merge("orders", ROWS, delete_when=lambda r: 1 / 0 == 1)
    assert sorted(orders) == ROWS


CASES: dict[str, Callable[[nl.Database], Any]] = {
    case.__name__: case for case in (merges, in_a_sequence, by_its_own_column, once, given_wrongly)
}
