"""JSON Patches of changes: applied to the document before, they give the document after."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.types import INT, Bag, record
from nestling.database.patch import diff, document
from tests.strategies import bags

NESTED = record(a=INT, items=Bag(record(b=INT, m=Bag(INT))), c=Bag(INT))


def applied(target: Any, operations: list[dict[str, Any]]) -> Any:
    """``target`` after the operations of a JSON Patch: add, remove and replace."""
    for operation in operations:
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        place = target
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        index: Any = int(last) if isinstance(place, list) else last
        if operation["op"] == "add":
            place.insert(index, operation["value"])
        elif operation["op"] == "remove":
            del place[index]
        else:
            place[index] = operation["value"]
    return target


@given(bags(NESTED, most=4), bags(NESTED, most=4), st.booleans())
def test_a_patch_leads_from_before_to_after(one, other, grows):
    """patch(before, diff(before, after)) = after"""
    before, after = document(NESTED, one), document(NESTED, one + other if grows else other)

    patched = applied(copy.deepcopy(before), diff(Bag(NESTED), before, after))

    assert patched == after


def test_one_element_is_one_operation():
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    view = db.view("v", lambda orders: [(o.id, [i + 1 for i in o.items]) for o in orders])
    db.insert("orders", [(7, [1, 3]), (8, [])])
    patches = []
    view.subscribe(lambda change: patches.append(change.to_json_patch()))

    db.table("orders").at(7).items.insert([2])
    db.delete("orders", key=8)

    assert patches == [[{"op": "add", "path": "/0/_1/1", "value": 3}], [{"op": "remove", "path": "/1"}]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12))
def test_patches_follow_a_view(steps):
    """The document after every commit is the one before it, patched."""
    db = nl.Database()
    db.table("orders", {"id": int, "items": list[int]}, key="id")
    view = db.view(
        "v", lambda orders: [(o.id, [(i, [j for j in o.items if j < i]) for i in o.items]) for o in orders]
    )
    now: list[Any] = []
    view.subscribe(lambda change: applied(now, change.to_json_patch()))
    for key, item in steps:
        if any(row.id == key for row in db.table("orders")):
            row = next(row for row in db.table("orders") if row.id == key)
            if item in row.items:
                db.table("orders").at(key).items.delete([item])
            else:
                db.table("orders").at(key).items.insert([item])
        else:
            db.insert("orders", [(key, [item])])
        assert now == document(view.element, view.bag())
