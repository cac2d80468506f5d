"""An open transaction sees what it did, as if each of its changes had been committed; abandoned, it did nothing."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import nestling as nl

Change = Callable[[Any], None]


def database() -> nl.Database:
    db = nl.Database()
    db.table("t", {"id": int, "n": int, "items": list[int]}, key="id")
    db.table("u", {"n": int, "rows": [{"a": int, "xs": list[int]}]})
    db.view("sums", lambda t, u: [(r.n, sum(r.items), sum(1 for q in u if q.n == r.n)) for r in t])
    return db


def change(rng: Random) -> Change:
    """A change, which may be refused: by its second row, when the first is in already."""
    key, other, n, x = (rng.randrange(3) for _ in range(4))
    row = (n, [(x, [other]) for _ in range(rng.randrange(3))])
    some: list[Change] = [
        lambda db: db.insert("t", [(key, n, [x] * other)]),
        lambda db: db.insert("t", [(key, n, [x]), (other, n, [])]),
        lambda db: db.insert("u", [row, row]),
        lambda db: db.delete("t", key=key),
        lambda db: db.update("t", key=key, set={"n": n}),
        lambda db: db.update("t", key=key, set={"id": other, "items": [x, n]}),
        lambda db: db.delete("u", [row]),
        lambda db: db.delete("u", [row, row, row]),
        lambda db: db.apply({"t.items": {(key, x): 1}}),
        lambda db: db.apply({"t.items": {(key, x): -1, (key, n): 1}}),
    ]
    return rng.choice(some)


def seen(transaction: Any) -> dict[str, Any]:
    return {name: transaction.rows(name) for name in ("t", "u")}


def held(db: nl.Database) -> dict[str, Any]:
    with db.transaction() as transaction:
        return seen(transaction)


class Abandoned(Exception):
    """Nothing of it was meant."""


@pytest.mark.parametrize("seed", range(12))
def test_a_transaction_sees_what_it_did(seed):
    """what is looked up is what the tables would hold had it been committed, also after a part was refused"""
    rng = Random(seed)
    db, mirror = database(), database()
    for _ in range(4):
        before = held(db)
        try:
            with db.transaction() as transaction:
                for _ in range(12):
                    step = change(rng)
                    assert refuses(step, transaction) == refuses(step, mirror)
                    assert seen(transaction) == held(mirror)
                    if rng.random() < 0.2:
                        assert db.views["sums"].bag() == mirror.views["sums"].bag()
                if rng.random() < 0.5:
                    raise Abandoned
        except Abandoned:
            assert held(db) == before
            mirror = copied(db)
        assert held(db) == held(mirror)
        db.verify(maps=True)


def refuses(step: Change, db: Any) -> bool:
    try:
        step(db)
    except nl.ChangeError:
        return True
    return False


def copied(db: nl.Database) -> nl.Database:
    new = database()
    for name in ("t", "u"):
        new.insert(name, db.table(name).rows())
    return new


def test_children_that_came_since_are_counted():
    """the rows that refer to a parent are counted when one first goes, and followed from then on"""
    db = nl.Database()
    db.table("parents", {"id": int}, key="id")
    db.table("children", {"no": int, "parent": int}, key="no", references={"parent": "parents"})
    db.insert("parents", [(1,), (2,), (3,)])
    db.insert("children", [(1, 1)])
    db.delete("parents", key=3)
    db.insert("children", [(2, 2)])
    with pytest.raises(nl.ChangeError, match="referred to"):
        db.delete("parents", key=2)
    db.delete("children", key=2)
    db.delete("parents", key=2)


def lazy(schema: Any, query: Any) -> Any:
    db = nl.Database()
    db.table("t", schema, key="id")
    db.insert("t", [{"id": 1, "x": 1, "items": [1]}, {"id": 2, "x": 2, "items": []}])
    view = db.view("v", query, language="python", refresh="lazy")
    view.rows()
    return db, view


def test_a_row_that_is_replaced_while_a_lazy_view_waits():
    """under one key one row goes and another comes, however they are ordered among what waits"""
    db, view = lazy({"id": int, "x": int, "items": list[int]}, lambda t: [(r.id, r.x) for r in t])
    for x in (5, 4, 3, 7):
        db.update("t", key=1, set={"x": x})
        db.update("t", key=2, set={"x": 10 - x})
        assert sorted(view.rows()) == [(1, x), (2, 10 - x)]


def test_a_lazy_view_follows_inner_bags_that_no_query_mentions():
    db, view = lazy({"id": int, "x": int, "items": list[int]}, "[r for r in t]")
    db.table("t").at(1).items.insert([9])
    assert sorted(map(tuple, view.rows())) == [(1, 1, [1, 9]), (2, 2, [])]
    view.verify(maps=True)
