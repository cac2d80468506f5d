"""Peers: the same streams through hand-written triggers of SQLite, through Pathway, and through ``db.insert``.

Run: ``python benchmarks/peers.py [--scale 0.01] [--pathway /path/to/python]``. CPU microseconds an event, threads
included, collector off, the least of some rounds. TPC-H's rows of one scale and the order book; single events and a
thousand at once. SQLite is in memory, its tables have the indexes that the triggers ask for, and a batch is one
transaction. Pathway runs where a Python is named that has it; a batch is one of its times.

Only queries whose triggers a person would write are here: sums over joins by key, and one threshold. What each ends
with is compared with Nestling's answer.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.streams import BATCH, Query, changes, chunks, relevant
from benchmarks.parts.triggers_in_sqlite import PLACE, TRIGGERS
from benchmarks.workloads import orderbook, tpch
from benchmarks.workloads.harness import collector, show
from benchmarks.workloads.workload import Event
from nestling import Database
from nestling.database.native import available

NAMES = ("bsv", "q3", "q11", "q18")
WORKER = Path(__file__).parent / "parts" / "in_pathway.py"
TYPES = {int: "INTEGER", str: "TEXT", date: "TEXT"}
Found = list[tuple[str, ...]]


def queries(scale: float, most: int) -> list[Query]:
    size, book = tpch.Size(scale=scale), orderbook.Size(book=2_000, changes=10_000)
    loads = {tpch: (list(tpch.load(size)), list(tpch.events(size))),
             orderbook: (list(orderbook.load(book)), list(orderbook.events(book)))}  # fmt: skip
    return [
        Query(name, module.SQL[name], module, load, events[:most])
        for name in NAMES
        for module, (load, events) in loads.items()
        if name in module.SQL
    ]


def parts(query: Query, size: int) -> list[Sequence[Event]]:
    load, events = relevant(query)
    return list(chunks([*load, *events], size))


def per_event(action: Callable[[Any], object], portions: Sequence[Any], count: int) -> float:
    start = process_time()
    for portion in portions:
        action(portion)
    return (process_time() - start) / count * 1e6


# -- Nestling


def in_nestling(query: Query, size: int, engine: str) -> tuple[float, Found]:
    os.environ["NESTLING_NATIVE"] = engine
    db, portions = query.database(), parts(query, size)
    given: list[Any] = [changes(part) for part in portions] if size > 1 else [part[0] for part in portions]
    taken = per_event(db.apply if size > 1 else _one_into(db), given, sum(map(len, portions)))
    return taken, plain(db._read("v"))


def _one_into(db: Database) -> Callable[[Event], object]:
    def one(event: Event) -> None:
        table, row, times = event
        (db.insert if times > 0 else db.delete)(table, [row])

    return one


# -- SQLite


def in_sqlite(query: Query, size: int) -> tuple[float, Found]:
    """Rows that come and go, one statement each; the triggers are those of ``parts/triggers_in_sqlite``."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    inserts, deletes = {}, {}
    for table in sorted(query.reads):
        columns, key = query.module.SCHEMA[table], query.module.KEYS[table]
        keys = (key,) if isinstance(key, str) else key
        declared = ", ".join(f"{name} {TYPES[type_]}" for name, type_ in columns.items())
        connection.execute(
            f"CREATE TABLE {table} ({declared}, PRIMARY KEY ({', '.join(keys)})) WITHOUT ROWID"
        )
        inserts[table] = f"INSERT INTO {table} VALUES ({', '.join('?' for _ in columns)})"
        deletes[table] = f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in keys)}"
    for trigger in TRIGGERS[query.name]:
        connection.execute(trigger)
    places = {
        table: [list(query.module.SCHEMA[table]).index(name) for name in _keys(query, table)]
        for table in query.reads
    }

    def run(part: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        if len(part) > 1:
            connection.execute("BEGIN")
        for text, values in part:
            connection.execute(text, values)
        if len(part) > 1:
            connection.execute("COMMIT")

    def statement(event: Event) -> tuple[str, tuple[Any, ...]]:
        table, row, times = event
        values = tuple([v.isoformat() if isinstance(v, date) else v for v in row])
        return (
            (inserts[table], values)
            if times > 0
            else (deletes[table], tuple(values[i] for i in places[table]))
        )

    portions = [[statement(event) for event in part] for part in parts(query, size)]
    taken = per_event(run, portions, sum(map(len, portions)))
    return taken, plain(connection.execute(PLACE[query.name]).fetchall())


def _keys(query: Query, table: str) -> tuple[str, ...]:
    key = query.module.KEYS[table]
    return (key,) if isinstance(key, str) else tuple(key)


# -- Pathway


def in_pathway(query: Query, size: int, python: str) -> tuple[float, Found] | str:
    """The figure, or why there is none."""
    given = {
        "query": query.name,
        "schema": {t: {c: k.__name__ for c, k in query.module.SCHEMA[t].items()} for t in query.reads},
        "keys": {t: _keys(query, t) for t in query.reads},
        "parts": [[(t, row, n) for t, row, n in part] for part in parts(query, size)],
    }
    run = subprocess.run(
        [python, str(WORKER)],
        input=json.dumps(given, default=str),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        return run.stderr.strip().splitlines()[-1][:60] if run.stderr.strip() else "it failed"
    found = json.loads(run.stdout.strip().splitlines()[-1])
    return found["us"], plain(found["rows"])


def plain(rows: Any) -> Found:
    """Rows that two engines can be compared by."""
    found = [tuple(_text(v) for v in row) for row in rows]
    return sorted(found)


def _text(value: Any) -> str:
    return f"{float(value):.9g}" if hasattr(value, "as_integer_ratio") else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--most", type=int, default=30_000, help="events of each stream")
    parser.add_argument("--pathway", default="", help="a Python that has Pathway")
    parser.add_argument("--only", nargs="*", default=NAMES)
    given, lines = parser.parse_args(), []
    with collector(enabled=False):
        for query in queries(given.scale, given.most):
            if query.name not in given.only:
                continue
            for size in (1, BATCH):
                lines.append([query.name, f"{size:,}", *compared(query, size, given.pathway)])
    header = ["query", "at once", "native", "Python", "SQLite", "Pathway"]
    show(f"CPU µs an event, TPC-H at scale {given.scale}, at most {given.most:,} events", header, lines)


def compared(query: Query, size: int, pathway: str) -> list[str]:
    """One line: ours, native and in Python, and each peer with how many times as long it takes as the native engine."""
    ours = {engine: least(lambda engine=engine: in_nestling(query, size, engine)) for engine in "01"}  # type: ignore[misc]
    native = ours["1"] if available() else ours["0"]
    shown = [f"{native[0]:.2f}" if available() else "not built", f"{ours['0'][0]:.2f}"]
    peers: list[Any] = [least(lambda: in_sqlite(query, size))]
    peers.append(in_pathway(query, size, pathway) if pathway else "not asked for")
    for peer in peers:
        if isinstance(peer, str):
            shown.append(peer)
            continue
        if peer[1] != native[1]:
            sys.exit(f"{query.name}: {peer[1][:3]} … is not {native[1][:3]} …")
        shown.append(f"{peer[0]:.2f} ({peer[0] / native[0]:.1f}×)")
    return shown


def least(run: Callable[[], tuple[float, Found]], rounds: int = 3) -> tuple[float, Found]:
    return min((run() for _ in range(rounds)), key=lambda found: found[0])


if __name__ == "__main__":
    main()
