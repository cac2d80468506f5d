"""Law 15: a view that ends with an order is the sorted list of what the reference evaluates, at every level; and an old
document and its patch are the new document.

The oracle compares two elements at a time, key by key; what is read sorts by keys made for Python.
"""

import copy
import json
from collections.abc import Sequence
from functools import cmp_to_key
from math import isnan, nan
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nestling as nl
from nestling.calculus.evaluate import evaluate
from nestling.frontend.view_query import OrderKey, sort_key

COLUMNS = ("id", "name", "n", "x")
INNER = ("p", "q")
SCHEMA = {"id": int, "name": str | None, "n": int | None, "x": float, "items": [{"p": str, "q": int | None}]}

items = st.lists(st.tuples(st.sampled_from("abß"), st.sampled_from([None, 1, 2])), max_size=3)
data = st.tuples(
    st.sampled_from([None, "", "a", "b", "ä"]),
    st.sampled_from([None, -1, 0, 2]),
    st.sampled_from([nan, -1.5, 0.0, 2.0]),
    items,
)
rows = st.lists(data, max_size=5)
keys_of = {
    columns: st.lists(
        st.tuples(st.sampled_from(columns), st.booleans(), st.sampled_from([None, False, True])),
        min_size=1,
        max_size=3,
        unique_by=lambda key: key[0],
    )
    for columns in (COLUMNS, INNER)
}
Keys = Sequence[tuple[str, bool, bool | None]]


def compared(one: Any, two: Any, key: OrderKey) -> int:
    """-1, 0 or 1: what is null where the key says, NaN above all numbers."""
    for left, right, sign in ((one, two, 1), (two, one, -1)):
        if left is None:
            return 0 if right is None else sign * (-1 if key.nulls_first else 1)
    if one == two or (isinstance(one, float) and isnan(one) and isnan(two)):
        return 0
    less = (not isnan(one) and (isnan(two) or one < two)) if isinstance(one, float) else one < two
    return -1 if less != key.descends else 1


def in_order(values: Sequence[Any], names: Sequence[str], keys: Sequence[OrderKey]) -> list[Any]:
    """``values``, records of scalars first, sorted by ``keys`` and then by all that is scalar."""
    backwards = bool(keys) and all(key.descends for key in keys)
    every = [*keys, *(sort_key((name,), backwards) for name in names)]

    def compare(one: Any, two: Any) -> int:
        found = (compared(one[names.index(k.path[0])], two[names.index(k.path[0])], k) for k in every)
        return next((sign for sign in found if sign), 0)

    return sorted(values, key=cmp_to_key(compare))


def plain(db: nl.Database, keys: Sequence[OrderKey], inner: Sequence[OrderKey], width: int) -> list[Any]:
    """The view of ``db`` by the reference, as ``to_arrow().to_pylist()`` would give it."""
    answer = evaluate(db._state.definitions["v"].query, dict(db._state.nested_tables()))
    values = [row for row, times in answer.items() for _ in range(times)]
    found = []
    for row in in_order(values, COLUMNS, keys):
        record = dict(zip(COLUMNS, row[: len(COLUMNS)], strict=True))
        if width > len(COLUMNS):
            held = [element for element, times in row[-1].items() for _ in range(times)]
            record["items"] = [dict(zip(INNER, each, strict=True)) for each in in_order(held, INNER, inner)]
        found.append(record)
    return found


def text_of(value: Any) -> str:
    """NaN equals nothing; as text it does."""
    return json.dumps(value)


def as_plain(row: Any) -> Any:
    found = row._asdict()
    return found | ({"items": [each._asdict() for each in row.items]} if "items" in found else {})


def follow(db: nl.Database, changes: Sequence[Any], wanted: Any) -> None:
    """Apply ``changes``, and follow them by pulled patches from what was read first."""
    view, ids = db.views["v"], list[int]()
    view.changes()
    document: Any = view.to_arrow().to_pylist()
    for number, (coming, goes) in enumerate(changes):
        before = db.version
        with db.transaction() as change:
            for place, row in enumerate(coming):
                ids.append(100 * number + place)
                change.insert("T", [(ids[-1], *row)])
            for _ in range(min(goes, len(ids))):
                change.delete("T", key=ids.pop(0))
        for each in view.changes(since=before):
            document = jsonpatch.apply_patch(document, copy.deepcopy(each.to_json_patch()))
        after = text_of(wanted())
        assert text_of(document) == after
        assert text_of(view.document()) == after
        assert text_of([as_plain(row) for row in view]) == after
    assert text_of(view.to_arrow().to_pylist()) == text_of(document)


def made(query: str, language: str) -> nl.Database:
    db = nl.Database()
    db.table("T", SCHEMA, key="id")
    db.insert("T", [(-1, "a", None, 2.0, [("b", 1), ("a", None)]), (-2, None, 2, nan, [])])
    db.view("v", query, language=language)
    return db


changes = st.lists(st.tuples(rows, st.integers(0, 3)), min_size=1, max_size=3)


@given(keys_of[COLUMNS], changes)
def test_sql_is_read_in_the_order_that_it_ends_with(keys, changes):
    words = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}
    order = ", ".join(f"{name}{' DESC' * down}{words[nulls]}" for name, down, nulls in keys)
    db = made(f"SELECT id, name, n, x FROM T ORDER BY {order}", "sql")
    wanted = [sort_key((name,), down, nulls) for name, down, nulls in keys]
    follow(db, changes, lambda: plain(db, wanted, (), 4))


def written(names: Keys, variable: str) -> tuple[str, list[OrderKey]]:
    """A key function of Python, a number turned round where it descends; and the order that it is."""
    parts, found = [], []
    for name, down, _ in names:
        turned = down and name not in ("name", "p")
        parts.append(f"{'-' * turned}{variable}.{name}")
        found.append(OrderKey((name,), turned, True))  # of a null, a null
    return f"lambda {variable}: ({', '.join(parts)},)", found


def backwards(keys: Sequence[OrderKey]) -> list[OrderKey]:
    return [OrderKey(key.path, not key.descends, not key.nulls_first) for key in keys]


@given(keys_of[COLUMNS], keys_of[INNER], st.booleans(), st.booleans(), changes)
def test_python_is_read_in_the_order_of_sorted_inside_rows_too(keys, inner, turned, inner_turned, changes):
    outside, wanted = written(keys, "r")
    inside, wanted_inner = written(inner, "i")
    element = (
        "{'id': t.id, 'name': t.name, 'n': t.n, 'x': t.x, "
        f"'items': sorted(t.items, key={inside}, reverse={inner_turned})}}"
    )
    db = made(f"sorted([{element} for t in T], key={outside}, reverse={turned})", "python")
    wanted = backwards(wanted) if turned else wanted
    wanted_inner = backwards(wanted_inner) if inner_turned else wanted_inner
    follow(db, changes, lambda: plain(db, wanted, wanted_inner, 5))


@pytest.mark.parametrize("store", ["auto", "none"])
def test_ties_are_broken_by_the_value(store):
    db = nl.Database()
    db.table("T", {"a": int, "b": str})
    up = db.view("up", "SELECT b, a FROM T ORDER BY a", store=store)
    down = db.view("down", "SELECT b, a FROM T ORDER BY a DESC", store=store)
    db.insert("T", [(1, "y"), (1, "x"), (0, "z"), (1, "x")])
    assert up.rows() == [("z", 0), ("x", 1), ("x", 1), ("y", 1)]
    assert down.rows() == up.rows()[::-1]
    assert [tuple(row.values()) for row in up.document()] == up.rows()
