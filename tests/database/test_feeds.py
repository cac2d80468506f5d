"""Merges, and batches that are applied once."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from tests.database.feeds import CASES
from tests.database.habits import shop


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "in a file"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_feed(case, durable, tmp_path):
    path = tmp_path / "shop.nest"
    with nl.Database(path if durable else None) as db:
        case(db)
        db.verify(maps=True)
        kept = {name: sorted(table) for name, table in db.tables.items()}
    if durable:
        with nl.Database(path) as db:
            assert {name: sorted(table) for name, table in db.tables.items()} == kept


#: Rows of a sequence, each place once: key, place, and what the row says, or that it deletes.
EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from(["a", "b", None])),
    unique_by=lambda event: event[:2],
)


@given(EVENTS, st.data())
def test_order_and_calls_do_not_matter(events, data):
    """The law of ``merging``: the last of each key, in whatever order and calls, also if they come again."""
    db = nl.Database()
    table = db.table("t", {"k": int, "v": str}, key="k")
    view = db.view("v", "SELECT v, count(*) AS n FROM t GROUP BY v")
    last = {key: value for key, _, value in sorted(events, key=lambda event: event[1])}
    order = data.draw(st.permutations(events))
    again = data.draw(st.lists(st.sampled_from(events))) if events else []
    rest = [*order, *again]
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        some, rest = rest[:size], rest[size:]
        rows = [{"k": k, "v": v, "at": at} if v else {"k": k, "at": at, "gone": True} for k, at, v in some]
        db.merge("t", rows, delete_when=lambda row: row.get("gone", False), sequence_by="at")
    assert sorted(table) == sorted((key, value) for key, value in last.items() if value)
    assert sum(row.n for row in view) == len(table)


def test_what_is_remembered_survives_reopening_copies_and_new_names(tmp_path):
    rows = [{"id": 1, "customer": "x", "items": [], "at": 3}]
    with nl.Database(tmp_path / "a.nest") as db:
        shop(db)
        db.merge("orders", rows, sequence_by="at")
        db.apply({"orders": {(8, "h", ()): 1}}, once=("job", 1))
        db.rename("orders", "sales")
        db.table("sales").rename_column("id", "no")
        with pytest.raises(nl.QueryError, match="by which sales is merged in a sequence"):
            db.table("sales").widen_column("no", float)
        db.backup(tmp_path / "b.nest")
    for name in ("a.nest", "b.nest"):
        with nl.Database(tmp_path / name) as db:
            late = [{"no": 1, "customer": "late", "items": [], "at": 2}]
            assert db.merge("sales", late, sequence_by="at").events == 0
            assert db.apply({"sales": {(9, "i", ()): 1}}, once=("job", 1)).events == 0
            assert db.table("sales")[1].customer == "x"


def test_a_table_that_was_dropped_is_remembered_no_more(tmp_path):
    path = tmp_path / "a.nest"
    for _ in range(2):
        with nl.Database(path) as db:
            table = db.table("t", {"k": int, "v": int}, key="k")
            table.merge([{"k": 1, "v": 1, "at": 9}], sequence_by="at")
            db.drop("t")
            table = db.table("t", {"k": str}, key="k")
            table.merge([{"k": "x", "at": "monday"}], sequence_by="at")
            assert table.rows() == [("x",)]
            db.drop("t")


def test_of_many_threads_one_applies_a_batch(tmp_path):
    with nl.Database(tmp_path / "a.nest") as db:
        table = db.table("t", {"k": int})
        threads = [
            Thread(target=lambda n=n: db.apply({"t": {(n,): 1}}, once=("job", n // 4))) for n in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        batches = [row.k // 4 for row in table]
        assert len(batches) == len(set(batches)), "no batch twice"
        assert max(batches) == 3, "and the last one whatever came first"


def test_a_row_of_a_merge_is_a_mapping():
    db = nl.Database()
    shop(db)
    seen = []

    def deletes(row):
        seen.append((dict(row), row.get("nothing"), len(row), hasattr(row, "nothing")))
        return False

    db.merge("orders", [(1, "x", [])], delete_when=deletes)
    assert seen == [({"id": 1, "customer": "x", "items": []}, None, 3, False)]


def test_other_tables_go_on_where_a_constraint_refuses_a_merge():
    db = nl.Database()
    table = db.table("t", {"k": int, "v": int}, key="k")
    db.constraint("positive", "SELECT k FROM t WHERE v < 0")
    with pytest.raises(nl.ConstraintError):
        table.merge([{"k": 1, "v": -1, "at": 5}], sequence_by="at")
    table.merge([{"k": 1, "v": 1, "at": 4}], sequence_by="at")
    assert table.rows() == [(1, 1)], "the refused row has no place in the sequence"
