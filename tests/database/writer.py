"""A process with two threads that write to one database until it is killed, and say what was acknowledged.

What must be in the file follows from how many transactions of each writer are there: ``orders_of`` and ``audit_of``.
"""

import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import nestling as nl

ITEM = {"n": int, "tags": list[str]}
WRITERS = (0, 1)


def declare(db: nl.Database) -> None:
    """Tables with bags, references and bags inside bags; views of every kind, and a constraint."""
    db.table("customers", {"name": str}, key="name")
    schema = {"id": int, "customer": str, "items": [ITEM]}
    db.table("orders", schema, key="id", references={"customer": "customers"})
    db.table("audit", {"writer": int, "number": int, "what": str, "notes": list[list[int]]})
    python: dict[str, Any] = {"language": "python"}
    db.view(
        "sums", "[(o.id, sum(i.n for i in o.items), [i.tags for i in o.items]) for o in orders]", **python
    )
    db.view("kinds", "SELECT what, count(*) AS n FROM audit GROUP BY what")
    db.view("busy", "SELECT customer FROM orders GROUP BY customer HAVING count(*) > 1", refresh="hybrid")
    named = "[(c.name, [o.id for o in orders if o.customer == c.name]) for c in customers]"
    db.view("names", named, refresh="lazy", **python)
    db.constraint("positive", "SELECT number FROM audit WHERE number < 0")


def what(number: int) -> str:
    return ("update", "insert", "deep", "insert", "delete")[number % 5]


def step(db: nl.Database, writer: int, number: int) -> None:
    """One transaction: something happens to an order, and the audit says what."""
    id_, name = order(writer, number), f"c{writer}"
    with db.transaction() as change:
        match what(number):
            case "insert":
                change.insert("orders", [(id_, name, [(1, ["a"]), (2, [])])])
            case "deep":
                change.insert_into("orders", id_ - 1, ("items",), [(3, ["late"])])
            case "delete":
                change.delete("orders", key=id_ - 1)
            case "update":
                change.update("orders", key=id_ - 4, set={"customer": f"c{1 - writer}"})
        change.insert("audit", [audit(writer, number)])


def order(writer: int, number: int) -> int:
    return 1_000_000 * writer + number


def audit(writer: int, number: int) -> tuple[Any, ...]:
    return writer, number, what(number), [[number], [], [number]]


def orders_of(writer: int, done: int) -> dict[int, tuple[Any, ...]]:
    """The orders after so many transactions of a writer."""
    orders: dict[int, tuple[Any, ...]] = {}
    for number in range(1, done + 1):
        id_ = order(writer, number)
        match what(number):
            case "insert":
                orders[id_] = (id_, f"c{writer}", [(1, ["a"]), (2, [])])
            case "deep":
                orders[id_ - 1][2].append((3, ["late"]))
            case "delete":
                del orders[id_ - 1]
            case "update":
                orders[id_ - 4] = (id_ - 4, f"c{1 - writer}", orders[id_ - 4][2])
    return orders


def write(db: nl.Database, writer: int, done: int) -> None:
    try:
        while True:
            done += 1
            step(db, writer, done)
            sys.stdout.write(f"{writer} {done}\n")
            sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - who waits for the next number would wait for ever
        traceback.print_exc()
        os._exit(1)


def main(path: Path) -> None:
    db = nl.Database(path)
    declare(db)
    if not len(db.table("customers")):
        db.insert("customers", [("c0",), ("c1",)])
    heard: list[Any] = []
    db.views["sums"].subscribe(heard.append)
    db.views["names"].subscribe(heard.append)
    done = {writer: sum(row.writer == writer for row in db.table("audit")) for writer in WRITERS}
    sys.stdout.write("ready\n")
    for writer in WRITERS:
        threading.Thread(target=write, args=(db, writer, done[writer]), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
