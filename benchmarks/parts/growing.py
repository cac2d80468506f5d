"""How the cost of one change grows with the data."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from benchmarks.parts.goals import Goal
from benchmarks.parts.triggers import database
from benchmarks.workloads import related
from benchmarks.workloads.harness import collector, show
from benchmarks.workloads.workload import Row, Tables, feed
from nestling import Database
from nestling.engine.local.engine import LocalEngine

Change = Callable[[Row, int], None]

#: So many movies come or go in a round; the median of all rounds leaves out those in which a large dictionary grows.
ROUND, ROUNDS = 200, 200


def growth_of_related(quick: bool) -> list[Goal]:
    """``related``: an insert and a delete cost the same however many movies there are."""
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    program = database(related, "related").state.engine.program
    rows: list[list[str]] = []
    found: list[tuple[float, float]] = []
    by_hand: list[tuple[float, float]] = []
    factor = 0.0
    for n in sizes:
        makers: dict[str, Callable[[], Change]] = {
            "generated": lambda: LocalEngine(program).triggers["M"],
            "hand-written": lambda: related.HandWritten("related").on["M"],
        }
        triggers = {name: _filled(make(), n) for name, make in makers.items()}
        with collector(enabled=False):
            times = _taking_turns(triggers, n)
        found.append(times["generated"])
        by_hand.append(times["hand-written"])
        if n <= (1_000 if quick else 100_000):
            factor = recomputed(n) / found[-1][0]
        del triggers
        gc.collect()
        rows.append([
            f"{n:,}",
            *(f"{1e6 * t:.2f}" for t in found[-1]),
            *(f"{now / then:.2f}" for now, then in zip(found[-1], found[0], strict=True)),
            *(f"{now / then:.2f}" for now, then in zip(by_hand[-1], by_hand[0], strict=True)),
            f"{factor:,.0f}" if n <= 100_000 else "not run",
        ])  # fmt: skip
    header = [
        "movies", "insert, µs", "delete, µs", "growth", "growth", "by hand", "by hand", "recomputation / insert",
    ]  # fmt: skip
    show("related: one movie more, one less; the hand-written version does the same beside it", header, rows)
    return [*_related_goals(found, by_hand), _recomputation(factor, quick)]


def _related_goals(found: list[tuple[float, float]], by_hand: list[tuple[float, float]]) -> list[Goal]:
    goals = []
    for i, what in enumerate(("insert", "delete")):
        mine, hand = found[-1][i] / found[0][i], by_hand[-1][i] / by_hand[0][i]
        remark = f"hand-written: {hand:.2f}×, so {mine / hand:.2f} times its growth"
        goals.append(
            Goal(
                f"related: growth of one {what}",
                mine,
                1.3,
                unit="×",
                remark=remark,
            )
        )
    return goals


def _recomputation(factor: float, quick: bool) -> Goal:
    where = "1k" if quick else "100k"
    return Goal(f"related: recomputation at {where} / insert", factor, 10_000, True, "×")


def _filled(change: Change, n: int) -> Change:
    feed({"M": change}, related.load(related.Size(n=n)))
    return change


def _taking_turns(triggers: dict[str, Change], n: int) -> dict[str, tuple[float, float]]:
    """CPU seconds of an insert and of a delete: rounds in which movies come and random ones go, by turns."""
    events = list(related.events(related.Size(n=n, changes=ROUND * ROUNDS)))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in triggers}
    for at in range(0, len(events), ROUND):
        came = [row for _, row, times in events[at : at + ROUND] if times > 0]
        went = [row for _, row, times in events[at : at + ROUND] if times < 0]
        for name, change in triggers.items():
            taken[name].append((_per_row(change, came, 1), _per_row(change, went, -1)))
    return {name: (median(i for i, _ in each), median(d for _, d in each)) for name, each in taken.items()}


def _per_row(change: Change, rows: list[Row], times: int) -> float:
    start = process_time()
    for row in rows:
        change(row, times)
    return (process_time() - start) / len(rows)


def recomputed(n: int) -> float:
    """One recomputation, with hash joins: what a program without increments would do."""
    tables = Tables(related.SCHEMA, related.KEYS)
    for event in related.load(related.Size(n=n)):
        tables.apply(*event)
    movies = tables["M"]
    if n > 10_000:
        # The answer of 100k movies does not fit into memory: a thousand of its rows are computed, and multiplied.
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


def deep_updates(quick: bool) -> list[Goal]:
    """One element more in an inner bag of n: the whole way from the user's call to the subscriber's."""
    rows: list[list[str]] = []
    each: list[float] = []
    for n in (1_000, 10_000) if quick else (1_000, 100_000, 1_000_000):
        each.append(_deep(n))
        rows.append([f"{n:,}", f"{1e6 * each[-1]:.1f}", f"{each[-1] / each[0]:.2f}"])
    show("One element into an inner bag, told to a subscriber", ["elements", "µs", "growth"], rows)
    return [
        Goal("one element into an inner bag, told to a subscriber", 1e6 * max(each), 50, unit=" µs"),
        Goal("the same: growth with the bag", max(each) / each[0], 1.3, unit="×"),
    ]


def _deep(n: int) -> float:
    db = Database()
    orders = db.table("orders", {"id": int, "items": list[int]}, key="id")
    view = db.view("v", lambda orders: [(o.id, [i * 2 for i in o.items]) for o in orders])
    db.insert("orders", [(7, range(n)), (8, ())])
    heard: list[Any] = []
    view.subscribe(lambda change: heard.append(change.inner[0].inserted))
    rounds, count = 41, 100
    taken = []
    with collector(enabled=False):
        for r in range(rounds):
            start = process_time()
            for i in range(count):
                orders.at(7).items.insert([n + count * r + i])
            taken.append((process_time() - start) / count)
    if heard != [[2 * (n + i)] for i in range(rounds * count)]:
        raise AssertionError("the subscriber heard something else")
    return median(taken)
