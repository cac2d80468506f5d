"""Changes of inner bags in bulk: what one ``at`` after the other would do, all at once."""

import pytest

import nestling as nl
from nestling.database.database import Database

ORDERS = {"id": int, "items": [{"pid": int, "qty": int}]}
DOCS = {"id": int, "sections": [{"title": str, "words": [str]}]}


@pytest.fixture
def db() -> Database:
    found = Database()
    found.table("orders", ORDERS, key="id")
    found.table("docs", DOCS, key="id")
    found.insert("orders", [(1, [(7, 2), (7, 2)]), (2, [])])
    found.insert("docs", [(1, [("a", ["x"]), ("b", [])])])
    found.view("sold", "[(i.pid, i.qty) for o in orders for i in o.items]", language="python")
    found.view("words", "[w for d in docs for s in d.sections for w in s.words]", language="python")
    return found


def test_elements_come_and_go(db):
    """by their columns, as one column, or as a Z-bag; what comes and goes at once is not looked for"""
    db.apply({"orders.items": [
        {"id": 1, "pid": 7, "qty": 2, "_change_type": "delete"},
        {"id": 2, "element": {"pid": 8, "qty": 1}, "_change_type": "insert"},
        {"id": 2, "element": (9, 9), "_change_type": "insert"},
        {"id": 2, "pid": 9, "qty": 9, "_change_type": "delete"},
    ]})  # fmt: skip
    assert db.version == 3
    assert sorted(db.views["sold"]) == [(7, 2), (8, 1)]
    db.apply({"orders.items": {(1, (7, 2)): -1, (2, (8, 1)): +2}})
    assert sorted(db.views["sold"]) == [(8, 1)] * 3
    db.apply({"docs.sections.words": [
        {"id": 1, "sections": {"title": "b"}, "element": "y", "_change_type": "insert"},
        {"id": 1, "sections": {"title": "a"}, "element": "x", "_change_type": "delete"},
    ]})  # fmt: skip
    assert list(db.views["words"]) == ["y"]
    db.verify(maps=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders.items": {(3, (1, 1)): 1}}, "orders has no row with key 3"),
        ({"orders.items": {(1, (7, 2)): -3}}, r"is not in orders.items of 1"),
        ({"orders.items": [{"id": 1, "pid": 7, "_change_type": "insert"}]}, "column 'qty' is missing"),
        ({"orders.items": [{"pid": 7, "qty": 1, "_change_type": "insert"}]}, "column 'id' is missing"),
        ({"orders.items": [{"id": 1, "element": (1, 1), "q": 1, "_change_type": "insert"}]}, "no column 'q'"),
        ({"orders.items": {(1, 7, 2): 1}}, "has id, element, not"),
        ({"orders.things": {(1, 7): 1}}, "there is no table 'orders.things'"),
        ({"docs.sections.words": [{"id": 1, "sections": {"title": "c"}, "element": "x", "_change_type": "insert"}]},
         "no elements of docs.sections have title = 'c'"),
        ({"docs.sections.words": [{"id": 1, "sections": {"title": "a"}, "element": "z", "_change_type": "delete"}]},
         "'z' is not in docs.sections.words of 1"),
        ({"docs.sections.words": [{"id": 1, "sections": None, "element": "z", "_change_type": "delete"}]},
         "sections is None"),
        ({"docs.sections.words": [{"id": 1, "sections": {"words": []}, "element": "z", "_change_type": "delete"}]},
         "words of docs.sections is an inner bag"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(db, change, message):
    before = db.views["sold"].bag(), db.views["words"].bag(), db.version
    with pytest.raises(nl.ChangeError, match=message):
        db.apply({"orders.items": {(2, (5, 5)): 1}, **change})
    assert (db.views["sold"].bag(), db.views["words"].bag(), db.version) == before


def test_elements_that_stay_keep_the_bags_inside_them():
    """Only what differs travels, also where elements have bags of their own, and where some are there twice."""
    db = nl.Database()
    table = db.table("t", "k INT, xs ARRAY<STRUCT<n: INT, ys: ARRAY<INT>>>", key="k")
    view = db.view("v", "[(t.k, sum(sum(y for y in x.ys) for x in t.xs)) for t in t]", language="python")
    table.insert([(1, [(n, [n, n]) for n in range(50)] + [(7, [1]), (7, [1])])])
    changed = [(n, [n, n]) for n in range(49)] + [(7, [1]), (99, [])]
    assert table.upsert([(1, changed)]).tables == {"t.xs": 3, "t.xs.ys": 1}
    assert sorted(table[1].xs) == sorted(changed)
    assert table.upsert([(1, changed)]).events == 0
    assert table.upsert([(1, changed[:1] * 3)]).events
    assert table[1].xs == [(0, [0, 0])] * 3
    view.verify(maps=True)
