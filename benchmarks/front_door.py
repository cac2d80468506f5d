"""What a row costs: at the triggers, and through ``db.insert``; in native code and in Python, side by side.

Run: ``python benchmarks/front_door.py [--scale 0.01]``. CPU microseconds a row, medians of chunks of 1,000, collector
off, both engines in one process; goals are scaled to a reference loop of ten million steps a second. TPC-H's rows of
one scale, as a stream of inserts and deletes, and the order book.

* *row*: the trigger of a table, called with each row.
* *1,000*: the same with a thousand rows of a table.
* *insert 1*, *insert 1,000*: ``db.insert``, rows one by one and a thousand at once: what a user pays.
* *Arrow*: ``db.insert`` of tables of Arrow.
* *bytes*: of the tables and maps with all indexes, an entry; in Python without the values of rows.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from statistics import median
from time import process_time_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import Goal, show_goals
from benchmarks.parts.streams import BATCH, Query, chunks, relevant
from benchmarks.workloads import orderbook, tpch
from benchmarks.workloads.harness import REFERENCE, collector, measure, show
from benchmarks.workloads.workload import Event
from nestling import Database
from nestling.database.native import available, notes
from nestling.engine.protocol import RowEngine

NAMES = ("q3", "q11", "q17", "q18", "q22", "ssb4", "bsv", "axf")
TEN_MILLION = 10e6
ENGINES = {"native": "1", "Python": "0"}


def queries(scale: float) -> Iterator[Query]:
    size, book = tpch.Size(scale=scale), orderbook.Size(book=2_000, changes=10_000)
    streams = (
        (tpch, list(tpch.load(size)), list(tpch.events(size))),
        (orderbook, list(orderbook.load(book)), list(orderbook.events(book))),
    )
    for name in NAMES:
        for module, load, events in streams:
            if name in module.SQL:
                yield Query(name, module.SQL[name], module, load, events)


def opened(query: Query, engine: str) -> Database:
    os.environ["NESTLING_NATIVE"] = ENGINES[engine]
    return query.database()


def median_of(action: Callable[[Any], object], parts: Sequence[tuple[Any, int]]) -> float:
    """Microseconds a row, the median of the parts, each with how many rows it has."""
    taken = []
    for part, count in parts:
        start = process_time_ns()
        action(part)
        taken.append((process_time_ns() - start) / count / 1_000)
    return median(taken)


def by_table(events: Sequence[Event]) -> list[tuple[tuple[str, list[Any]], int]]:
    """Runs of one table, of at most a batch."""
    found = []
    for table, group in groupby(events, itemgetter(0)):
        rows = [(row, times) for _, row, times in group]
        found += [((table, part), len(part)) for part in chunks(rows, BATCH)]
    return found


def at_triggers(engine: RowEngine, events: Sequence[Event], table: str) -> tuple[float, float]:
    """One row at a time, and a thousand of ``table``: what came goes again, and comes again."""

    def each(part: Sequence[Event]) -> None:
        on = engine.triggers
        for name, row, times in part:
            on[name](row, times)

    single = median_of(each, [(part, len(part)) for part in chunks(events, BATCH)])
    rows = list(islice(engine.rows(table), 20 * BATCH))
    parts = [([(row, -1) for row in part], len(part)) for part in chunks(rows, BATCH)]
    parts += [([(row, 1) for row in part], len(part)) for part in chunks(rows, BATCH)]
    return single, median_of(engine.batches[table], parts)


def at_the_door(db: Database, rows: dict[str, list[Any]], size: int) -> float:
    """Rows ``size`` at a time. The clock is asked once for a thousand rows: to ask costs as much as a row does."""
    parts = [
        ((table, list(chunks(part, size))), len(part))
        for table, all_ in rows.items()
        for part in chunks(all_, BATCH)
    ]

    def insert(part: tuple[str, list[list[Any]]]) -> None:
        table, batches = part
        for batch in batches:
            db.insert(table, batch)

    return median_of(insert, parts)


def in_columns(db: Database, query: Query, rows: dict[str, list[Any]]) -> float:
    """The same from tables of Arrow, ten batches each, so that there is a median."""
    import pyarrow

    parts = []
    for table, all_ in rows.items():
        for part in chunks(all_, max(BATCH, len(all_) // 10)):
            columns = zip(query.module.SCHEMA[table], map(list, zip(*part, strict=True)), strict=True)
            parts.append(((table, pyarrow.table(dict(columns))), len(part)))
    return median_of(lambda part: db.insert(*part), parts)


def speed() -> float:
    """Steps of the reference loop in a second."""
    return measure({}, runs=3)[REFERENCE].per_second


def bytes_an_entry(engine: RowEngine) -> float:
    described, names = engine.described(), (*engine.program.tables, *engine.program.maps)
    total = sum(described.bytes(name, described.indexes(name)) for name in names)
    return total / max(1, sum(map(engine.entries, names)))


def inserted(query: Query, most: int) -> dict[str, list[Any]]:
    """The rows that are there in the end, by table, parents first."""
    rows: dict[str, dict[Any, None]] = {}
    for table, row, times in [part for half in relevant(query) for part in half]:
        if times > 0:
            rows.setdefault(table, {})[row] = None
        else:
            rows[table].pop(row, None)
    return {table: list(found)[:most] for table, found in rows.items()}


def measured(query: Query, engine: str) -> tuple[list[float], Any]:
    load, events = relevant(query)
    db = opened(query, engine)
    running = db._state.engine
    if engine == "native" and notes(running):
        return [], notes(running)[0]
    for table, row, times in load:
        running.triggers[table](row, times)
    table = max({e[0] for e in events}, key=[e[0] for e in events].count)
    single, batch = at_triggers(running, events, table)
    size, answer = bytes_an_entry(running), running.read("v")
    many = at_the_door(opened(query, engine), inserted(query, 50 * BATCH), BATCH)
    one = at_the_door(opened(query, engine), inserted(query, 2 * BATCH), 1)
    arrow = in_columns(opened(query, engine), query, inserted(query, 50 * BATCH))
    return [single, batch, one, many, arrow, size], answer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--only", nargs="*", default=NAMES)
    given = parser.parse_args()
    if not available():
        sys.exit("the native engine was not built: python hatch_build.py")
    lines, goals = [], []
    with collector(False):
        for query in queries(given.scale):
            if query.name not in given.only:
                continue
            native, answer = measured(query, "native")
            python, expected = measured(query, "Python")
            if native and answer != expected:
                sys.exit(f"{query.name}: the answers differ")
            shown = [f"{a:.2f} / {b:.2f}" for a, b in zip(native, python, strict=True)] if native else []
            lines.append([query.name, *(shown or [str(answer), *[""] * 5])])
            if query.name == "q3" and native:
                scaled = speed() / TEN_MILLION
                goals += [
                    Goal("q3, insert one by one", native[2] * scaled, 1.5, unit=" µs"),
                    Goal("q3, insert 1,000 at once", native[3] * scaled, 0.6, unit=" µs"),
                    Goal("q3, insert from Arrow", native[4] * scaled, 0.4, unit=" µs"),
                    Goal("q3, an entry", native[5], 64, unit=" B"),
                ]
    header = ["query", "row", "1,000", "insert 1", "insert 1,000", "Arrow", "bytes"]
    show(f"native / Python, µs a row, TPC-H at scale {given.scale}", header, lines)
    show_goals(goals)


if __name__ == "__main__":
    main()
