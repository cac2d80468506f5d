"""The workload of Ahmad et al. (2012) as SQL views: events a second, beside recomputation and the paper's figures.

Run: ``python benchmarks/dbtoaster.py [--quick]``. Every view is made from its text by ``db.view``. CPU
seconds with the collector off; recomputation in DuckDB in seconds of the clock, on all cores it takes. TPC-H's rows
are those of ``tpchgen-cli`` where it is on the path.

* *trigger*: the generated function of a table, called with each row: what the paper measures.
* *db.insert*: ``db.insert`` or ``db.delete`` with one row each: a transaction of its own.
* *batches*: ``db.apply`` with a thousand events.
* *recomputed*: a thousand events, and the query once in DuckDB on the rows that are then there.

Where the answer is added up on reading (MST, VWAP), it is read after each event, or batch, and that is in the figures.

The second table has the same triggers at growing books, the third TPC-H with its tables nested.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import Goal, show_goals
from benchmarks.parts.streams import (
    BATCH,
    PATIENCE,
    Query,
    adds_up_on_reading,
    by_batches,
    by_calls,
    by_triggers,
    in_duckdb,
    rate,
)
from benchmarks.workloads import orderbook, tpch, tpch_files, tpch_nested
from benchmarks.workloads.harness import collector, show
from nestling import Database

PAPER = {
    "axf": 22_126, "bsp": 21_114, "bsv": 103_290, "mst": 19.9, "psp": 18_895, "vwap": 3_259,
    "q3": 22_049, "q11": 41_842, "q17": 21_256, "q18": 24_056, "q22": 8_761, "ssb4": 2_970,
}  # fmt: skip
#: The queries whose cost must not grow with the book, and how much it may by the processor's caches and a tree's depth.
LOGARITHMIC, GROWTH = ("axf", "bsp", "psp", "mst", "vwap"), 5.0


def queries(quick: bool) -> Iterator[Query]:
    """The twelve, each with its stream."""
    book = orderbook.Size(book=1_000 if quick else 10_000, changes=5_000 if quick else 30_000)
    load, events = list(orderbook.load(book)), list(orderbook.events(book))
    for name, text in orderbook.SQL.items():
        yield Query(name, text, orderbook, load, events)
    size = tpch.Size(scale=0.001 if quick else 0.01)
    if tpch_files.is_there():
        load, events = tpch_files.stream(size)
    else:
        load, events = list(tpch.load(size)), list(tpch.events(size))
    for name, text in tpch.SQL.items():
        yield Query(name, text, tpch, load, events)


def rates(quick: bool) -> list[Goal]:
    """Every query, four ways."""
    seconds, rows, goals = (0.3 if quick else 2.0), [], []
    for query in queries(quick):
        paper = PAPER[query.name]
        gc.collect()
        with collector(enabled=False):
            reading = adds_up_on_reading(query)
            trigger = by_triggers(query, seconds, reading)
            calls = by_calls(query, query.database(), seconds, reading)
            db = query.database()
            batches, done = by_batches(query, db, seconds, reading)
        taken, expected = in_duckdb(query, done)
        if taken is not None:
            _compare(query, db.views["v"].rows(), expected)
        recomputed = f"{BATCH / taken:,.0f}" if taken else f"< {BATCH / PATIENCE:,.0f}"
        remark = "with a reading" if reading else ""
        factors = (f"{measured:,.0f} ({measured / paper:.1f}×)" for measured in (trigger, calls, batches))
        rows.append([query.name.upper(), *factors, recomputed, f"{paper:,}", remark])
        goals.append(
            Goal(f"{query.name.upper()}: events/s by its trigger", trigger, paper, True, remark=remark)
        )
    source = "tpchgen-cli" if tpch_files.is_there() else "our generator (tpchgen-cli is not there)"
    header = ["query", "trigger", "db.insert", "batches", "recomputed", "the paper's", "remark"]
    show(f"Events a second (as a multiple of the paper's); TPC-H rows by {source}", header, rows)
    tenfold = sum(goal.measured >= 10 * goal.bound for goal in goals)
    return [*goals, Goal("queries at ten times the paper's figure or more", tenfold, 7, True)]


def _compare(query: Query, found: list[object], expected: list[object]) -> None:
    """What was timed is right, too."""
    ours, theirs = (sorted(map(_plain, rows)) for rows in (found, expected))
    if ours != theirs:
        raise AssertionError(f"{query.name}: {ours[:3]} … is not {theirs[:3]} …")


def _plain(row: object) -> tuple[str, ...]:
    return tuple(f"{float(v):.9g}" if hasattr(v, "as_integer_ratio") else str(v) for v in row)  # type: ignore[attr-defined]


def growth(quick: bool) -> list[Goal]:
    """The trading queries at books of 1k, 10k and 100k live orders on each side."""
    sizes = (100, 1_000) if quick else (1_000, 10_000, 100_000)
    seconds, rows, goals = (0.2 if quick else 1.5), [], []
    streams = []
    for n in sizes:
        size = orderbook.Size(book=n, changes=10_000)
        streams.append((list(orderbook.load(size)), list(orderbook.events(size))))
    for name in LOGARITHMIC:
        taken = []
        for load, events in streams:
            query = Query(name, orderbook.SQL[name], orderbook, load, events)
            with collector(enabled=False):
                taken.append(1e6 / by_triggers(query, seconds, adds_up_on_reading(query)))
            gc.collect()
        factor = taken[-1] / taken[0]
        rows.append([name.upper(), *(f"{t:.1f}" for t in taken), f"{factor:.2f}×"])
        goals.append(
            Goal(
                f"{name.upper()}: growth with {sizes[-1] // sizes[0]} times the book",
                factor,
                GROWTH,
                unit="×",
            )
        )
    header = ["query", *(f"{n:,} live orders" for n in sizes), "growth"]
    show("µs an event (MST and VWAP: and a reading), by live orders on each side", header, rows)
    return goals


def levels(quick: bool) -> list[Goal]:
    """TPC-H nested: changes a second by a user's calls, as SQL and as comprehensions, by levels of nesting."""
    seconds, count, rows = (0.2 if quick else 1.0), (300 if quick else 4_000), []
    for family in tpch_nested.FAMILIES:
        for kind in ("SQL", "comprehension"):
            shown = []
            for level in tpch_nested.LEVELS:
                db = tpch_nested.database(family, level)
                text = (tpch_nested.sql if kind == "SQL" else tpch_nested.python)(family, level)
                view = db.view("v", text, language="sql" if kind == "SQL" else "python")
                changes = list(tpch_nested.changes(family, level, count))
                with collector(enabled=False):
                    shown.append(f"{rate(partial(_change, db), changes, seconds):,.0f}")
                if quick:
                    view.verify()
            rows.append([f"{family}, {kind}", *shown])
    header = ["family", *(f"{level} levels" for level in tpch_nested.LEVELS)]
    show("Nested TPC-H: changes a second, each a call of its own, by levels of nesting", header, rows)
    return []


def _change(db: Database, change: tpch_nested.Change) -> None:
    change.apply(db)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    show_goals([*rates(quick), *growth(quick), *levels(quick)])


if __name__ == "__main__":
    main()
