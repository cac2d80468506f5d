"""Generated triggers beside hand-written ones, and events a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from benchmarks.parts.goals import Goal
from benchmarks.workloads import nakamura, orderbook, tpch
from benchmarks.workloads.harness import Job, collector, measure, reference_job, show, slower
from benchmarks.workloads.workload import Event, feed, relevant
from nestling import Database
from nestling.engine.local.engine import LocalEngine
from nestling.transform.viewlet.defer import deferred

PAPER = {"general_ledger": 7.9, "order_statistics": 2.2, "unpaid_sales": 1.6}
RUNS = 9
LEAST = 100_000


def database(module: Any, view: str) -> Database:
    """The tables of a workload that ``view`` reads, and the view."""
    db, definition = Database(), module.VIEWS[view]
    needed = set(signature(definition).parameters)
    for table, schema in module.SCHEMA.items():
        if table in needed:
            mine = nakamura.REFERENCES.get(table, {}) if module is nakamura else {}
            refers: Mapping[str | tuple[str, ...], str] = {
                column: parent for column, parent in mine.items() if parent in needed
            }
            fixed = module is nakamura
            db.table(table, schema, key=module.KEYS[table], references=refers, append_only=fixed)
    db.view(view, definition)
    return db


def trigger_jobs(module: Any, view: str, size: Any) -> dict[str, Job]:
    """Feeding a stream to the generated triggers, with and without tables, and to the hand-written ones."""
    program = database(module, view)._state.engine.program
    hybrid = replace(program, deferred=deferred(program, {view}))
    engines: dict[str, Callable[[], LocalEngine]] = {
        "generated": lambda: LocalEngine(program, keep_tables=False),
        "with tables": lambda: LocalEngine(program),
    }
    if hybrid.deferred:
        engines["hybrid"] = lambda: LocalEngine(hybrid, keep_tables=False)
    makers: dict[str, Callable[[], Any]] = {name: partial(_triggers, make) for name, make in engines.items()}
    makers["hand-written"] = lambda: (module.HandWritten(view).on, lambda: None)
    on, _ = makers["with tables"]()
    load, events = relevant(module.load(size), on), relevant(module.events(size), on)
    times = -(-LEAST // len(events))
    return {
        name: Job(times * len(events), partial(_loaded, make, load, times), partial(_fed, events))
        for name, make in makers.items()
    }


def _triggers(make: Callable[[], LocalEngine]) -> tuple[Any, Callable[[], object]]:
    engine = make()
    return engine.triggers, engine.flush


def _loaded(make: Callable[[], Any], load: list[Event], times: int) -> list[Any]:
    made = [make() for _ in range(times)]
    for on, _ in made:
        feed(on, load)
    return made


def _fed(events: list[Event], made: list[Any]) -> None:
    """All events one by one; what waits for a reading is passed on at the end."""
    for on, settle in made:
        feed(on, events)
        settle()


def beside_hand_written(quick: bool) -> list[Goal]:
    """Nakamura's three queries: at most 1.5 times the hand-written time each."""
    rows, goals = [], []
    size = nakamura.Size(primary=2_000 if quick else 8_000)
    for view in nakamura.VIEWS:
        with collector(enabled=False):
            timings = measure(trigger_jobs(nakamura, view, size), RUNS)
        hand = timings["hand-written"]
        generated, tables = (slower(timings[name], hand) for name in ("generated", "with tables"))
        rows.append([view, f"{hand.per_second:,.0f}", f"{generated:.2f}", f"{tables:.2f}", f"{PAPER[view]}"])
        goals.append(Goal(f"{view}: generated / hand-written time", generated, 1.5, unit="×"))
    header = ["view", "hand-written, events/s", "generated / hand", "with tables / hand", "the paper's"]
    show("Time of generated triggers, as a multiple of hand-written ones", header, rows)
    return goals


def single_events(quick: bool) -> list[Goal]:
    """BSV, Q3, Q17, Q18, one event at a time: 500k a second where the loop runs at 10M."""
    sizes = (
        (orderbook, orderbook.Size(changes=20_000) if quick else orderbook.Size()),
        (tpch, tpch.Size(scale=0.005 if quick else 0.02)),
    )
    rows, goals = [], []
    for module, size in sizes:
        for view in module.VIEWS:
            with collector(enabled=False):
                timings = measure({**trigger_jobs(module, view, size), "loop": reference_job()}, RUNS)
            loop = timings["loop"].per_second
            scaled = {name: 10e6 / slower(timing, timings["loop"]) for name, timing in timings.items()}
            names = ("generated", "hybrid", "with tables", "hand-written")
            shown = (f"{scaled[n]:,.0f}" if n in scaled else "nothing waits" for n in names)
            rows.append([view, f"{loop / 1e6:.1f}M", f"{timings['generated'].per_second:,.0f}", *shown])
            for name, label in (("generated", "eager"), ("hybrid", "hybrid")):
                if name in scaled:
                    remark = f"hand-written: {scaled['hand-written']:,.0f}"
                    goals.append(
                        Goal(
                            f"{view}, {label}: events/s at a loop of 10M/s",
                            scaled[name],
                            500e3,
                            True,
                            remark=remark,
                        )
                    )
    header = [
        "view", "loop/s", "generated, as measured", "generated", "hybrid", "with tables", "hand-written",
    ]  # fmt: skip
    show("Events a second, one at a time; all but the first scaled to a loop of 10M/s", header, rows)
    return goals
