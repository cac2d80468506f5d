"""Whatever is raised, and wherever: a database is as it was or as it should be, never in between."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from tests.soak.interrupts import at_line, little_stack

ORDERS = "id INT, who STRING, pid INT, items ARRAY<STRUCT<pid: INT, qty: INT>>"


def shop(path: Path | None) -> tuple[nl.Database, list[Any]]:
    db = nl.Database(path)
    db.table("parts", "pid INT, price DOUBLE", key="pid")
    db.table("orders", ORDERS, key="id", references={"pid": "parts"})
    db.table("notes", "text STRING, n INT")
    db.view(
        "lines",
        lambda orders, parts: [
            (o.id, [(i.pid, i.qty * p.price) for i in o.items for p in parts if p.pid == i.pid])
            for o in orders
        ],
    )
    db.view("spent", lambda orders: [(o.who, sum(i.qty for i in o.items)) for o in orders], store="full")
    db.view("texts", "SELECT text, sum(n) AS n FROM notes GROUP BY text", refresh="lazy")
    db.view(
        "dear",
        lambda parts: [p.pid for p in parts if p.price >= sum(q.price for q in parts) / 2],
        refresh="hybrid",
    )
    db.constraint("positive", lambda orders: [(o.id, i.pid) for o in orders for i in o.items if i.qty < 0])
    db.insert("parts", [(1, 2.5), (2, 4.0), (3, 8.0)])
    db.insert("orders", [(7, "ann", 1, [(1, 2), (2, 1)]), (8, "bob", 2, [])])
    db.insert("notes", [("a", 1), ("a", 1), ("b", 2)])
    heard: list[Any] = []
    for name in ("lines", "texts"):
        db.views[name].subscribe(heard.append)
    return db, heard


def answers(db: nl.Database) -> dict[str, Any]:
    found: dict[str, Any] = {name: view.bag() for name, view in db.views.items()}
    return found | {name: sorted(table.rows(), key=repr) for name, table in db.tables.items()}


def one_row(db: nl.Database) -> None:
    db.insert("orders", [(9, "ann", 3, [(3, 1), (3, 1)])])


def many_rows(db: nl.Database) -> None:
    with db.transaction() as t:
        t.delete("orders", key=8)
        t.insert("orders", [(8, "cid", 1, [(1, 5)]), (9, "ann", 3, [(3, 1)])])
        t.insert("notes", [("a", 1), ("c", 3)])
        t.update("parts", key=2, set={"price": 100.0})


def with_a_reading(db: nl.Database) -> None:
    with db.transaction() as t:
        t.insert("notes", [("a", 1), ("c", 3)])
        assert len(db.views["texts"]) == 3
        t.insert_into("orders", 7, ("items",), [(2, 2)])
        assert db.views["spent"]["ann"] == ("ann", 5)
        t.delete("notes", [("b", 2)])


def deep(db: nl.Database) -> None:
    db.table("orders").at(7).items.at({"pid": 1}).update({"qty": 9})


CHANGES = (one_row, many_rows, with_a_reading, deep)


def attempt(change: Callable[[nl.Database], None], durable: bool, way: Any) -> bool:
    """Whether the change was interrupted; afterwards all is well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.nest" if durable else None
        db, heard = shop(path)
        before, version = answers(db), db.version
        interrupted = False
        try:
            with way:
                change(db)
        except (KeyboardInterrupt, RecursionError):
            interrupted = True
        now = answers(db)
        db.verify(maps=True)
        assert (now == before) == (db.version == version)
        if now == before:
            change(db)
        after = answers(db)
        db.verify(maps=True)
        assert after != before
        assert {c.version for c in heard} <= {db.version}
        db.insert("notes", [("z", 1)])
        db.verify(maps=True)
        final = answers(db)
        db.close()
        if durable:
            with nl.Database(path) as again:
                assert answers(again) == final
                again.verify(maps=True)
        return interrupted


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_at_some_lines(change, durable):
    """The lines are those of the library and of what it generated, spread over the whole change."""
    line, step = 1, 1.0
    while attempt(change, durable, at_line(int(line), KeyboardInterrupt)):
        step *= 1.9
        line += int(step)


@pytest.mark.soak
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_at_every_line(change, durable):
    line = 1
    while attempt(change, durable, at_line(line, KeyboardInterrupt)):
        line += 1
    assert line > 200


@pytest.mark.parametrize("change", CHANGES)
def test_a_stack_that_is_too_small(change):
    for calls in (6, 9, 13, 18, 24, 31, 40):
        attempt(change, False, little_stack(calls))
