"""How the cost of one change grows with the data."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
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
Times = tuple[float, ...]

#: So many movies come or go in a round; the median of all rounds leaves out those in which a large dictionary grows.
ROUND, ROUNDS = 200, 200


def growth_of_related(quick: bool) -> list[Goal]:
    """``related``: an insert and a delete cost the same however many movies there are.

    As a user sees them, and the triggers alone; beside these the hand-written version, and a single dictionary.
    """
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    found: list[dict[str, Times]] = []
    rows: list[list[str]] = []
    factor = 0.0
    for n in sizes:
        with collector(enabled=False):
            found.append(_taking_turns(_makers(n), n) | {"one dictionary": (_one_dictionary(n),)})
        shown = "not run"
        if n <= (1_000 if quick else 100_000):
            factor = recomputed(n) / found[-1]["trigger"][0]
            shown = f"{factor:,.0f}"
        rows.append([f"{n:,}", *(f"{1e6 * t:.2f}" for times in found[-1].values() for t in times), shown])
        gc.collect()
    rows.append(["growth", *(f"{t:.2f}×" for name in found[0] for t in _growth(found, name)), ""])
    names = [f"{name}, {what}" for name in found[0] if name != "one dictionary" for what in ("+", "−")]
    show(
        "related: µs for one movie more (+) or less (−)",
        ["movies", *names, "one dictionary", "recomputation / trigger"],
        rows,
    )
    return [*_related_goals(found), _recomputation(factor, quick)]


def _makers(n: int) -> dict[str, Change]:
    """Three ways to keep ``related`` of the first ``n`` movies."""
    db = database(related, "related")
    db.insert("M", [row for _, row, _ in related.load(related.Size(n=n))])

    def through_the_database(row: Row, times: int) -> None:
        if times > 0:
            db.insert("M", [row])
        else:
            db.delete("M", key=row[0])

    triggers: dict[str, Change] = {
        "trigger": LocalEngine(db._state.engine.program).triggers["M"],
        "by hand": related.HandWritten("related").on["M"],
    }
    for change in triggers.values():
        feed({"M": change}, related.load(related.Size(n=n)))
    return {"database": through_the_database, **triggers}


def _growth(found: list[dict[str, Times]], name: str) -> Times:
    return tuple(last / first for last, first in zip(found[-1][name], found[0][name], strict=True))


def _one_dictionary(n: int) -> float:
    """CPU seconds of ``d[k] = d.get(k, 0) + 1`` at a random one of ``n`` keys: what caches alone make of the size."""
    rng, d = Random(n), {f"movie {i}": 0 for i in range(n)}
    keys = [f"movie {rng.randrange(n)}" for _ in range(50_000)]
    start = process_time()
    for k in keys:
        d[k] = d.get(k, 0) + 1
    return (process_time() - start) / len(keys)


def _related_goals(found: list[dict[str, Times]]) -> list[Goal]:
    goals = []
    (loop,) = _growth(found, "one dictionary")
    for i, what in enumerate(("insert", "delete")):
        user, trigger, hand = (_growth(found, name)[i] for name in ("database", "trigger", "by hand"))
        remark = f"{trigger / hand:.2f} times that by hand; one dictionary: {loop:.1f}×"
        goals.append(Goal(f"related: growth of db.{what}", user, 1.3, unit="×"))
        goals.append(Goal(f"related: growth of its trigger, {what}", trigger, 1.3, unit="×", remark=remark))
    return goals


def _recomputation(factor: float, quick: bool) -> Goal:
    where = "1k" if quick else "100k"
    return Goal(f"related: recomputation at {where} / trigger", factor, 10_000, True, "×")


def _taking_turns(triggers: dict[str, Change], n: int) -> dict[str, Times]:
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
        some = movies[:: n // 1_000]
        return _some_related(movies, some) * len(movies) / len(some)
    start = process_time()
    related.recompute_related(movies)
    return process_time() - start


def _some_related(movies: list[Any], some: list[Any]) -> float:
    """CPU seconds of some rows, once the indexes are there."""
    genres: dict[str, list[Any]] = {}
    directors: dict[str, list[Any]] = {}
    for movie in movies:
        genres.setdefault(movie.gen, []).append(movie)
        directors.setdefault(movie.dir, []).append(movie)
    start = process_time()
    for m in some:
        rows = [x.name for x in genres[m.gen] if x.name != m.name]
        rows += [x.name for x in directors[m.dir] if x.gen != m.gen]
    return process_time() - start


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
