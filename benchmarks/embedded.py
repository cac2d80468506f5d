"""The embedded engine: generated triggers beside hand-written ones, and how cost grows with the data.

Run: ``python benchmarks/embedded.py [--quick]``. All that is compared takes turns in one run and is timed in CPU
seconds with the collector off; absolute figures depend on the machine, ratios less so.

"generated" is the trigger program without the tables that no trigger reads, which is what the hand-written code keeps;
"with tables" keeps those as a database does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.workloads import nakamura, orderbook, related, tpch
from benchmarks.workloads.harness import Job, collector, measure, reference_job, show
from benchmarks.workloads.workload import Event, Tables, feed, relevant
from nestling import Database
from nestling.engine.local.engine import LocalEngine

#: Objects belong to their parents from beginning to end, as in the paper: what the hand-written code relies on.
REFERENCES = {
    "orders": {"customer": "customers"},
    "orderLineItems": {"order": "orders", "product": "products"},
    "sales": {"order": "orders"},
    "saleLineItems": {"sale": "sales", "product": "products"},
    "payments": {"sale": "sales", "cashReceipt": "cashReceipts"},
}
RUNS = 5
LEAST = 100_000


def database(module: Any, view: str) -> Database:
    """The tables of a workload that ``view`` reads, and the view."""
    db, definition = Database(), module.VIEWS[view]
    needed = set(signature(definition).parameters)
    for table, schema in module.SCHEMA.items():
        if table in needed:
            mine = REFERENCES.get(table, {}) if module is nakamura else {}
            refers = {column: parent for column, parent in mine.items() if parent in needed}
            fixed = module is nakamura
            db.table(table, schema, key=module.KEYS[table], references=refers, append_only=fixed)
    db.view(view, definition)
    return db


def trigger_jobs(module: Any, view: str, size: Any) -> dict[str, Job]:
    """Feeding a stream to the generated triggers, with and without tables, and to the hand-written ones."""
    db = database(module, view)
    program = db.state.engine.program
    makers: dict[str, Callable[[], Any]] = {
        "hand-written": lambda: module.HandWritten(view).on,
        "generated": lambda: LocalEngine(program, keep_tables=False).triggers,
        "with tables": lambda: LocalEngine(program).triggers,
    }
    on = makers["with tables"]()
    load, events = relevant(module.load(size), on), relevant(module.events(size), on)
    times = -(-LEAST // len(events))
    return {
        name: Job(times * len(events), partial(_loaded, make, load, times), partial(_fed, events))
        for name, make in makers.items()
    }


def _loaded(make: Callable[[], Any], load: list[Event], times: int) -> list[Any]:
    made = [make() for _ in range(times)]
    for on in made:
        feed(on, load)
    return made


def _fed(events: list[Event], made: list[Any]) -> None:
    for on in made:
        feed(on, events)


def beside_hand_written(quick: bool) -> None:
    """Nakamura's three queries: the goal is at most 1.5 times the hand-written time each."""
    rows = []
    size = nakamura.Size(primary=2_000 if quick else 8_000)
    for view in nakamura.VIEWS:
        with collector(enabled=False):
            timings = measure(trigger_jobs(nakamura, view, size), RUNS)
        hand = timings["hand-written"].per_second
        paper = {"general_ledger": 7.9, "order_statistics": 2.2, "unpaid_sales": 1.6}[view]
        shares = [hand / timings[name].per_second for name in ("generated", "with tables")]
        rows.append([view, f"{hand:,.0f}", *(f"{share:.2f}" for share in shares), f"{paper}"])
    header = ["view", "hand-written, events/s", "generated / hand", "with tables / hand", "the paper's"]
    show("Time of generated triggers, as a multiple of hand-written ones", header, rows)


def single_events(quick: bool) -> None:
    """BSV, Q3, Q17, Q18, one event at a time: the goal is 500k a second where the loop runs at 10M."""
    sizes = (
        (orderbook, orderbook.Size(changes=20_000) if quick else orderbook.Size()),
        (tpch, tpch.Size(scale=0.005 if quick else 0.02)),
    )
    rows = []
    for module, size in sizes:
        for view in module.VIEWS:
            jobs = trigger_jobs(module, view, size)
            with collector(enabled=False):
                timings = measure({**jobs, "loop": reference_job()}, RUNS)
            loop = timings["loop"].per_second
            figures = []
            for name in ("generated", "with tables", "hand-written"):
                rate = timings[name].per_second
                figures += [f"{rate:,.0f}", f"{rate * 10e6 / loop:,.0f}"]
            rows.append([view, f"{loop / 1e6:.1f}M", *figures])
    header = [
        "view", "loop/s", "generated", "at 10M", "with tables", "at 10M", "hand-written", "at 10M",
    ]  # fmt: skip
    show("Events a second, one at a time; beside each the same scaled to a loop of 10M/s", header, rows)


def growth_of_related(quick: bool) -> None:
    """``related``: an insert and a delete cost the same however many movies there are."""
    rows, first = [], [0.0, 0.0]
    for n in (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000):
        engine = LocalEngine(database(related, "related").state.engine.program)
        feed(engine.triggers, related.load(related.Size(n=n)))
        new = [row for _, row, times in related.events(related.Size(n=n)) if times > 0][:20_000]
        with collector(enabled=False):
            insert, delete = (_per_row(engine.triggers["M"], new, times) for times in (1, -1))
        first = first if any(first) else [insert, delete]
        shown = _recomputed(n) if n <= (1_000 if quick else 100_000) else None
        ratio = f"{shown / insert:,.0f}" if shown else "not run"
        growth = (f"{insert / first[0]:.2f}", f"{delete / first[1]:.2f}")
        rows.append([f"{n:,}", f"{insert * 1e6:.2f}", growth[0], f"{delete * 1e6:.2f}", growth[1], ratio])
    header = ["movies", "insert, µs", "growth", "delete, µs", "growth", "recomputation / insert"]
    show("related: one movie more or less", header, rows)


def _per_row(trigger: Callable[[Any, int], None], rows: list[Any], times: int) -> float:
    start = process_time()
    for row in rows:
        trigger(row, times)
    return (process_time() - start) / len(rows)


def _recomputed(n: int) -> float:
    """One recomputation, with hash joins: what a program without increments would do."""
    tables = Tables(related.SCHEMA, related.KEYS)
    for event in related.load(related.Size(n=n)):
        tables.apply(*event)
    movies = tables["M"]
    if n > 10_000:
        # The answer of 100k movies does not fit into memory: a tenth of its rows is computed, and counted ten times.
        start = process_time()
        _some_related(movies, movies[:: n // 1_000])
        return (process_time() - start) * (n // 1_000)
    start = process_time()
    related.recompute_related(movies)
    return process_time() - start


def _some_related(movies: list[Any], some: list[Any]) -> None:
    genres: dict[str, list[Any]] = {}
    directors: dict[str, list[Any]] = {}
    for movie in movies:
        genres.setdefault(movie.gen, []).append(movie)
        directors.setdefault(movie.dir, []).append(movie)
    for m in some:
        rows = [x.name for x in genres[m.gen] if x.name != m.name]
        rows += [x.name for x in directors[m.dir] if x.gen != m.gen]


def deep_updates(quick: bool) -> None:
    """One element more in an inner bag of n: the whole way from the user's call to the subscriber's."""
    rows, first = [], 0.0
    for n in (1_000, 10_000) if quick else (1_000, 100_000, 1_000_000):
        db = Database()
        orders = db.table("orders", {"id": int, "items": list[int]}, key="id")
        view = db.view("v", lambda orders: [(o.id, [i * 2 for i in o.items]) for o in orders])
        db.insert("orders", [(7, range(n)), (8, ())])
        heard: list[Any] = []
        view.subscribe(lambda change, heard=heard: heard.append(change.inner[0].inserted))  # type: ignore[misc]
        count = 2_000
        with collector(enabled=False):
            start = process_time()
            for i in range(count):
                orders.at(7).items.insert([n + i])
            each = (process_time() - start) / count
        if heard != [[2 * (n + i)] for i in range(count)]:
            raise AssertionError("the subscriber heard something else")
        first = first or each
        rows.append([f"{n:,}", f"{each * 1e6:.1f}", f"{each / first:.2f}"])
    show("One element into an inner bag, told to a subscriber", ["elements", "µs", "growth"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    beside_hand_written(quick)
    single_events(quick)
    growth_of_related(quick)
    deep_updates(quick)


if __name__ == "__main__":
    main()
