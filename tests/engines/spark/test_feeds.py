"""Merges and batches that are applied once, on Spark: by rows, and by DataFrames small and large."""

import pytest

import nestling as nl
from nestling.engine.spark import limits
from tests.database.feeds import CASES
from tests.database.habits import DDL, shop

pytestmark = pytest.mark.xdist_group("spark")


def test_every_feed_holds_on_spark(opened):
    db = opened()
    for case in CASES.values():
        case(db)
        db.verify()
        for name in [*db.views, *db.tables]:
            db.drop(name)


EVENTS = [
    (1, 5, "D", None), (1, 3, "U", "old"), (2, 1, "U", "bo"), (3, 2, "U", "cy"), (3, 4, "U", "dan"), (3, 4, "U", "dan"),
]  # fmt: skip
LATER = [(1, 4, "U", "late"), (3, 3, "D", None), (3, 4, "U", "again"), (2, 9, "U", "bo"), (4, 1, "U", "eve")]
COLUMNS = "id INT, seq INT, op STRING, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>"


@pytest.mark.parametrize("large", [False, True], ids=["few", "many"])
def test_a_dataframe_is_merged_as_its_rows_are(opened, session, monkeypatch, large):
    if large:
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    db = opened()
    orders = shop(db)

    def frame(events):
        return session.createDataFrame([(*event, []) for event in events], COLUMNS)

    def merge(events):
        return db.merge("orders", frame(events), delete_when="op = 'D'", sequence_by="seq")

    merge(EVENTS)
    assert sorted(orders) == [(2, "bo", []), (3, "dan", [])]
    merge(LATER)
    assert sorted(orders) == [(2, "bo", []), (3, "dan", []), (4, "eve", [])]
    assert sorted(db.views["spend"]) == [("bo", 0), ("dan", 0), ("eve", 0)]
    keys = session.createDataFrame([(4, "D"), (9, "D")], "id INT, op STRING")
    db.merge("orders", keys, delete_when=keys.op == "D")
    assert sorted(orders) == [(2, "bo", []), (3, "dan", [])]
    for events, by, message in (
        (
            [(1, 9, "U", "x"), (1, 9, "U", "y")],
            "seq",
            "two different rows with key 1 of orders have the same seq",
        ),
        ([(1, 9, "U", "x"), (1, 9, "U", "x")], None, "two of the rows have key 1 of orders"),
        ([(1, 9, "U", None)], "seq", "column 'customer' is never None"),
        ([(None, 9, "D", None)], "seq", "column 'id' is never None"),
        ([(1, None, "D", None)], "seq", "the sequence seq is None"),
    ):
        given = frame(events)
        with pytest.raises(nl.ChangeError, match=message):
            db.merge("orders", given if by else given.drop("seq"), delete_when="op = 'D'", sequence_by=by)
    with pytest.raises(nl.ChangeError, match="has no column 'op', and neither"):
        db.merge("orders", frame(EVENTS), sequence_by="seq")
    with pytest.raises(nl.ChangeError, match="is a condition of Spark"):
        db.merge("orders", frame(EVENTS), delete_when=lambda row: True, sequence_by="seq")
    assert sorted(orders) == [(2, "bo", []), (3, "dan", [])]
    for _ in range(2):
        rows = session.createDataFrame([(7, "gus", [])], DDL).selectExpr("*", "'insert' AS _change_type")
        done = db.apply({"orders": rows}, once=("nightly", 1))
    assert (done.events, done.tables, 7 in orders) == (0, {}, True)
    db.verify()
    db = opened()
    assert db.apply({"orders": {(7, "gus", ()): -1}}, once=("nightly", 1)).events == 0
    late = [{"id": 3, "customer": "late", "items": [], "seq": 4}]
    assert db.merge("orders", late, sequence_by="seq").events == 0
    db.drop("spend")
    db.drop("orders")
    assert shop(db).merge([{**late[0], "seq": 1}], sequence_by="seq").events, (
        "what is dropped is not remembered"
    )
