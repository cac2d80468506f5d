"""A change that is interrupted at any place whatever has happened or has not: never half, and life goes on.

Every call that a change makes, and every line of generated code, is tried, one after the other; the random plans
try random ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.errors import ChangeError
from tests.soak.interrupts import OUTSIDE, at_place, little_stack
from tests.soak.values import counted

ROWS = [(k, k % 3, [(k % 2, [k]), (5, [])]) for k in range(4)]


def opened(path: Any) -> Any:
    """A nested table, a flat one and views of each policy; one is watched."""
    db = nl.Database(path)
    db.table("t", "k BIGINT, a BIGINT, items ARRAY<STRUCT<p: BIGINT, xs: ARRAY<BIGINT>>>", key="k")
    db.table("u", "a BIGINT, b BIGINT NULL")
    db.view("groups", "SELECT a, count(*) AS n, sum(k) AS s FROM t GROUP BY a")
    db.view("nest", NEST, language="python").subscribe(lambda change: change.inner)
    db.view("rare", "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", refresh="lazy")
    db.view("high", "SELECT a, max(b) AS m FROM u GROUP BY a HAVING count(*) > 1", refresh="hybrid")
    db.constraint("few", "SELECT a FROM u GROUP BY a HAVING count(*) > 3")
    return db


NEST = "[(x.k, [(i.p, sum(i.xs), [y.b for y in u if y.a == x.a]) for i in x.items]) for x in t]"


def several(db: Any) -> None:
    with db.transaction() as change:
        change.insert("t", [(9, 1, [(1, [1])])])
        change.update("t", key=1, set={"a": 2})
        db.views["groups"].rows()
        change.delete("u", [(1, None)])


def refused(db: Any) -> None:
    with suppress(ChangeError):
        db.insert("u", [(1, 1), (1, 2), (1, 3), (1, 4)])


CHANGES: dict[str, Callable[[Any], Any]] = {
    "insert": lambda db: db.insert("t", [(9, 1, [(1, [1, 2])])]),
    "many": lambda db: db.insert("u", [(0, 1), (0, 2), (1, 2)]),
    "delete": lambda db: db.delete("t", key=1),
    "update": lambda db: db.update("t", key=2, set={"a": 0}),
    "deep": lambda db: db.table("t").at(1).items.at({"p": 5}).xs.insert([7]),
    "transaction": several,
    "refused": refused,
    "sync": lambda db: db.sync("t", [*ROWS[1:3], (7, 7, [])]),
}


def state(db: Any) -> dict[str, Counter[Any]]:
    """All that a reader sees."""
    found = {name: counted(table.rows()) for name, table in db.tables.items()}
    return found | {name: counted(view.rows()) for name, view in db.views.items()}


def begin(db: Any) -> None:
    db.sync("t", ROWS)
    db.sync("u", [(1, None), (1, 2), (2, 3)])


@pytest.mark.parametrize("name", CHANGES)
def test_old_or_new_at_some_places(name):
    old_or_new(name, None, count(1 + len(name), 9))


@pytest.mark.soak
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("name", CHANGES)
def test_old_or_new_at_every_place(name, durable, tmp_path):
    """With a file at every third place, for the disk is slow."""
    old_or_new(name, tmp_path if durable else None, count(1, 3) if durable else count(1))


def old_or_new(name: str, folder: Path | None, places: Iterable[int]) -> None:
    """Interrupt a change at each of ``places``, up to its last."""
    path = folder / "cut.nest" if folder else None
    db = opened(path)
    begin(db)
    old = state(db)
    CHANGES[name](db)
    new = state(db)
    for place in places:
        begin(db)
        assert state(db) == old, f"what was cut off before {place} came back"
        try:
            with at_place(place, KeyboardInterrupt):
                CHANGES[name](db)
        except KeyboardInterrupt:
            whole(db, old, new, place)
        else:
            break  # it has no more places
    assert place > 20
    db.verify(maps=True)
    db.close()
    if path:
        last = state(again := nl.Database(path))
        again.verify(maps=True)
        again.close()
        assert last in (old, new)


def whole(db: Any, old: Any, new: Any, place: int) -> None:
    """All is old or all is new; every so often all that is stored is looked at as well."""
    found = state(db)
    assert found in (old, new), f"at {place}: {found}"
    if place % 20 == 0:
        db.verify(maps=True)


@pytest.mark.parametrize("name", CHANGES)
def test_old_or_new_with_little_stack(name):
    db = opened(None)
    begin(db)
    old = state(db)
    CHANGES[name](db)
    new = state(db)
    for calls in range(8, 60):
        begin(db)
        with suppress(*OUTSIDE, nl.NestlingError), little_stack(calls):
            CHANGES[name](db)
        whole(db, old, new, calls)
    db.verify(maps=True)
