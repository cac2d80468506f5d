"""What to store: the same views under every setting of ``store=``, what a change, a read and memory cost.

Run: ``python benchmarks/storing.py [--quick]``. "auto, no rows" is a view made over empty tables, which goes by
declarations; "auto" one made over the rows of the workload. Estimates stand beside what was measured: operations per
change and per row read. The settings of one view take turns in one run; times are CPU seconds, the collector off.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from inspect import signature
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.workloads import related, tpch
from benchmarks.workloads.harness import collector, show
from benchmarks.workloads.workload import Event, feed, relevant
from nestling import Database
from nestling.database.explain.sizes import number_text, size_text
from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.sizes import rough_bytes
from nestling.transform.viewlet.choose import cost_of

SETTINGS = {"auto, no rows": "auto", "auto": "auto", "full": "full", "counts": "counts"}
READS = 100


def order_lines(orders, lineitem, part):  # type: ignore[no-untyped-def]
    """For each order its lines, each with the type of its part."""
    return [
        (o.orderkey, [
            (p.type, li.quantity)
            for li in lineitem if li.orderkey == o.orderkey
            for p in part if p.partkey == li.partkey
        ])
        for o in orders
    ]  # fmt: skip


def database(module: Any, view: Callable[..., Any], setting: str, load: list[Event]) -> Database:
    """The tables that ``view`` reads, with or without rows, and the view."""
    db = Database()
    for table in signature(view).parameters:
        db.table(table, module.SCHEMA[table], key=module.KEYS[table])
    if setting != "auto, no rows":
        for table in signature(view).parameters:
            db.insert(table, [row for name, row, _ in load if name == table])
    db.view("v", view, store=SETTINGS[setting])
    return db


def figures(db: Database, load: list[Event], events: list[Event]) -> list[str]:
    """What the program of a database costs on a stream."""
    engine = LocalEngine(db._state.engine.program)
    feed(engine.triggers, load)
    with collector(enabled=False):
        start = process_time()
        feed(engine.triggers, events)
        change = (process_time() - start) / len(events)
        firsts = list(
            islice(
                dict.fromkeys(row[0] for row, _ in engine.functions.define("rows_of_v", engine.names)()),
                READS,
            )
        )
        start, rows = process_time(), 0
        for first in firsts:
            rows += sum(times for _, times in engine.find("v", first).items())
        read = (process_time() - start) / max(rows, 1)
    maps = engine.program.maps
    size = sum(rough_bytes(engine, name, engine.stores[name].patterns) for name in maps)
    decision = db._state.views.decisions["v"]
    assert decision.storing is not None
    cost = cost_of(decision.view, db._state.declarations(), decision.statistics, decision.storing)
    return [
        f"{len(maps)}", f"{change * 1e6:.2f}", f"{read * 1e6:.1f}", size_text(size),
        number_text(cost.change), number_text(cost.read), decision.storing.rule,
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    films = related.Size(n=300 if quick else 2_000, changes=500 if quick else 2_000)
    sales = tpch.Size(scale=0.0005 if quick else 0.004)
    views: list[tuple[str, Any, Callable[..., Any], Any]] = [
        ("related", related, related.VIEWS["related"], films),
        ("order_lines", tpch, order_lines, sales),
        ("ssb4", tpch, tpch.LATER["ssb4"], sales),
    ]
    rows = []
    for name, module, view, size in views:
        tables = set(signature(view).parameters)
        stream = relevant([*module.load(size), *module.events(size)], tables)
        # The rows that stay to the end are there when the view is made; the second half of the stream is timed.
        half = len(stream) // 2
        there = _present(stream[:half])
        for setting in SETTINGS:
            db = database(module, view, setting, there)
            rows.append([name, setting, *figures(db, there, stream[half:])])
    header = [
        "view", "store", "maps", "change, µs", "row read, µs", "maps take", "operations per change", "per row read",
        "components",
    ]  # fmt: skip
    show("What to store", header, rows)


def _present(events: list[Event]) -> list[Event]:
    """The rows that are there after ``events``."""
    found: dict[tuple[str, Any], int] = {}
    for table, row, times in events:
        found[table, row] = found.get((table, row), 0) + times
    return [(table, row, times) for (table, row), times in found.items() if times]


if __name__ == "__main__":
    main()
