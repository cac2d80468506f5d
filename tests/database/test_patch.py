"""JSON Patches of changes, applied by another library: they lead from the document before to the one after."""

import copy
from math import nan
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.database.document.positions import Positions
from nestling.database.document.sorting import GREATEST, LEAST, ordered
from nestling.database.view import View


def applied(document: Any, patch: list[dict[str, Any]]) -> Any:
    """``document`` after a patch, both as they would come over a wire."""
    return jsonpatch.apply_patch(document, copy.deepcopy(patch))


def orders() -> tuple[nl.Database, View]:
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    return db, db.view("v", lambda orders: [(o.id, [i + 1 for i in o.items]) for o in orders])


def test_one_element_is_one_operation():
    db, view = orders()
    db.insert("orders", [(7, [1, 3]), (8, [])])
    patches = []
    view.subscribe(lambda change: patches.append(change.to_json_patch()))

    db.table("orders").at(7).items.insert([2])
    db.delete("orders", key=8)

    assert patches == [[{"op": "add", "path": "/0/_1/1", "value": 3}], [{"op": "remove", "path": "/1"}]]


def test_a_document_is_in_the_order_of_its_scalars():
    db = nl.Database()
    db.table("T", {"x": float | None, "y": str, "tags": list[str]})
    view = db.view("v", lambda T: [{"y": t.y, "tags": t.tags, "x": t.x} for t in T])
    db.insert("T", [(nan, "b", []), (1.5, "b", ["t", "s", "t"]), (None, "b", []), (9.0, "a", ["z"])])
    document = view.document()
    assert document[:3] == [
        {"y": "a", "tags": ["z"], "x": 9.0},
        {"y": "b", "tags": [], "x": None},
        {"y": "b", "tags": ["s", "t", "t"], "x": 1.5},
    ]
    assert document[3]["x"] != document[3]["x"]
    assert document.version == db.version


def test_patches_are_pulled_in_sequence_however_late():
    """Those of a history apply to a document of its start, also when the view has changed again and again."""
    db, view = orders()
    db.insert("orders", [(7, [1])])
    view.changes()
    start = view.document()
    for n in range(20):
        db.insert("orders", [(100 - n, [n])])
        db.table("orders").at(7).items.insert([n])
    db.delete("orders", key=100)
    middle = view.changes()[20]
    late = middle.to_json_patch()
    document: Any = list(start)
    for change in view.changes(since=start.version):
        document = applied(document, change.to_json_patch())
    assert document == view.document()
    assert middle.to_json_patch() == late


def test_whoever_applies_a_patch_may_keep_its_values():
    db, view = orders()
    heard: list[Any] = []
    view.subscribe(heard.append)
    document: Any = view.document()
    db.insert("orders", [(7, [1])])
    db.table("orders").at(7).items.insert([2])
    for change in heard:
        document = jsonpatch.apply_patch(document, change.to_json_patch(), in_place=True)
    document[0]["_1"].append("mine")
    assert heard[0].to_json_patch() == [{"op": "add", "path": "/0", "value": {"id": 7, "_1": [2]}}]
    assert view.document() == [{"id": 7, "_1": [2, 3]}]


def test_names_are_escaped():
    db = nl.Database()
    db.table("T", {"id": int, "xs": list[int]}, key="id")
    view = db.view("v", "SELECT id, xs AS `a/b~c` FROM T")
    db.insert("T", [(1, [])])
    heard: list[Any] = []
    view.subscribe(lambda change: heard.append(change.to_json_patch()))
    before = view.document()
    db.table("T").at(1).xs.insert([5])
    (patch,) = heard
    assert patch == [{"op": "add", "path": "/0/a~1b~0c/0", "value": 5}]
    assert applied(before, patch) == view.document()


def test_a_patch_that_nobody_can_make_any_more_says_so():
    db, view = orders()
    heard: list[Any] = []
    subscription = view.subscribe(heard.append)
    db.insert("orders", [(7, [1])])
    subscription.cancel()
    db.insert("orders", [(8, [1])])
    assert heard[0].inserted == [(7, [2])]
    with pytest.raises(nl.NestlingError, match="nobody reads its changes any more"):
        heard[0].to_json_patch()


def test_a_document_is_of_what_is_committed():
    db, view = orders()
    with db.transaction() as t:
        t.insert("orders", [(7, [1])])
        with pytest.raises(nl.QueryError, match="outside transactions"):
            view.document()
    assert view.document() == [{"id": 7, "_1": [2]}]


# laws

VIEWS: dict[str, Any] = {
    "flat": lambda shops, goods: [(s.city, g.name) for s in shops for g in goods if s.city == g.city],
    "bags": lambda shops, goods: [(s.city, [g.name for g in goods if g.city == s.city]) for s in shops],
    "hidden": lambda shops, goods: [("shop", [g.name for g in goods if g.city == s.city]) for s in shops],
    "deep": lambda shops, goods: [
        (s.name, [(g.city, [h.name for h in goods if h.name == g.name]) for g in goods if g.city == s.city])
        for s in shops
    ],
    "lists": lambda shops, goods: [[g.name for g in goods if g.city == s.city] for s in shops],
    "own": lambda shops, goods: [(s.city, s.tags) for s in shops],
    "totals": "SELECT city, count(*) AS n, max(name) AS last FROM goods GROUP BY city",
    "sets": lambda shops, goods: [(s.city, {g.name for g in goods if g.city == s.city}) for s in shops],
}  # fmt: skip

city, name = st.sampled_from("ab"), st.one_of(st.none(), st.sampled_from("xyz"))
moves = st.lists(
    st.one_of(
        st.tuples(st.just("shops"), st.tuples(city, city, st.lists(st.integers(0, 1), max_size=2))),
        st.tuples(st.just("goods"), st.tuples(city, name)),
        st.tuples(st.just("drop"), st.integers(0, 20)),
    ),
    min_size=1,
    max_size=3,
)


def world(view: str, refresh: str, store: str) -> tuple[nl.Database, View]:
    db = nl.Database()
    db.table("shops", {"name": str, "city": str, "tags": list[int]})
    db.table("goods", {"city": str, "name": str | None})
    return db, db.view("v", VIEWS[view], refresh=refresh, store=store)


def change(db: nl.Database, steps: list[tuple[str, Any]]) -> None:
    with db.transaction() as t:
        for table, what in steps:
            if table != "drop":
                t.insert(table, [what])
                continue
            rows = [(name, row) for name in ("shops", "goods") for row in db.table(name).rows()]
            if rows:
                gone, row = rows[what % len(rows)]
                t.delete(gone, [row])


@given(st.data())
def test_old_and_change_make_new(data):
    """view(n) = view(n-1) + change, as rows and as a document, read at once or late, for all knobs"""
    view = data.draw(st.sampled_from(sorted(VIEWS)))
    refresh = data.draw(st.sampled_from(["eager", "lazy", "hybrid"]))
    store = data.draw(st.sampled_from(["auto", "full", "counts", "none"]))
    late = data.draw(st.booleans())
    db, subject = world(view, refresh, store)
    change(db, data.draw(moves))
    told: list[Any] = []
    subject.subscribe(told.append)
    documents: list[Any] = [subject.document()]
    answers = [subject.bag()]
    for steps in data.draw(st.lists(moves, min_size=1, max_size=5)):
        heard = len(told)
        change(db, steps)
        documents.append(subject.document())
        answers.append(subject.bag())
        if len(told) == heard:
            assert answers[-2:] == [answers[-1]] * 2, "a change that nobody heard of"
            documents.pop(), answers.pop()
        elif not late:
            follows(told[-1], documents[-2:], answers[-2:])
    assert len(told) == len(documents) - 1
    numbers = data.draw(st.permutations(range(len(told))))
    for n in numbers:
        follows(told[n], documents[n : n + 2], answers[n : n + 2])


def follows(change: Any, documents: list[Any], answers: list[Any]) -> None:
    (before, after), (old, new) = documents, answers
    assert change.before(new) == old
    rows = python_rows(change.element, old)
    for row in change.deleted:
        rows.remove(row)
    rows += change.inserted
    for was, row in change.replaced:
        rows.remove(was)
        rows.append(row)
    assert sorted(rows, key=repr) == sorted(python_rows(change.element, new), key=repr)
    assert applied(before, change.to_json_patch()) == after
    for inner in change.inner:
        assert inner.elements
        assert (inner.was, inner.row) in change.replaced or inner.was == inner.row


def python_rows(element: Any, bag: Any) -> list[Any]:
    from nestling.frontend.schema import python_value

    return [python_value(element, row) for row, times in bag.items() for _ in range(times)]


@given(
    st.lists(st.integers(0, 40), max_size=60),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3)), max_size=60),
)
def test_positions_are_those_of_a_sorted_list(start, steps):
    """In blocks so small that they part and join."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nestling.database.document.positions.BLOCK", 3)
        patch.setattr("nestling.database.document.positions.FULL", 6)
        plain, positions = sorted(start), Positions(sorted(start))
        for key, copies in steps:
            where = sum(other < key for other in plain)
            assert positions.find(key) == (where, plain.count(key))
            if plain.count(key) >= copies:
                assert positions.remove(key, copies) == where
                del plain[where : where + copies]
            else:
                assert positions.add(key, copies) == where
                plain[where:where] = [key] * copies
            assert (list(positions), len(positions)) == (plain, len(plain))


def test_the_ends_of_the_order():
    assert sorted(map(ordered, [2, None, 1])) == [LEAST, 1, 2]
    assert sorted(map(ordered, [nan, 2.0, None, nan])) == [LEAST, 2.0, GREATEST, GREATEST]
    assert sorted([(LEAST, 2), (LEAST, 1), (GREATEST, 0), (3, 0)]) == [
        (LEAST, 1),
        (LEAST, 2),
        (3, 0),
        (GREATEST, 0),
    ]


def test_rows_that_went_and_came_back_move_no_other():
    """Nobody is told of them, and yet rows with equal scalars may stand in another order: the next patch says so."""
    db = nl.Database()
    t = db.table("t", "k INT, a INT, deep ARRAY<STRUCT<g: INT, xs: ARRAY<INT>>>", key="k")
    view = db.view(
        "v", "[(x.a, [i for i in d.xs if i == x.a]) for x in t for d in x.deep]", language="python"
    )
    row = (3, 2, [(2, [-2, 1]), (3, [2]), (1, [])])
    db.insert("t", [row, (0, 2, [(3, [0, 2, 2]), (-1, [2]), (-1, [])])])
    held = [list(view.document())]
    told: list[int] = []

    def follow(change: Any) -> None:
        told.append(change.version)
        held[0] = jsonpatch.apply_patch(held[0], change.to_json_patch())

    view.subscribe(follow)
    with db.transaction() as change:
        change.delete("t", key=3)
        change.insert("t", [row])
    db.update("t", key=3, set={"a": 2})
    assert told == []
    t.at(3).deep.at({"g": 1}).xs.insert([2])
    assert told == [db.version] == [3]
    assert held[0] == list(view.document())


def test_rows_that_go_together_are_removed_from_the_end():
    """a position that is removed moves those behind it"""
    db = nl.Database()
    db.table("t", {"id": int}, key="id")
    view = db.view("v", lambda t: [r.id for r in t])
    db.insert("t", [(n,) for n in range(5)])
    told: list[Any] = []
    view.subscribe(told.append)
    before = view.document()
    db.delete("t", where=lambda r: r.id in (0, 1, 3))

    assert jsonpatch.apply_patch(list(before), told[0].to_json_patch()) == [2, 4]
