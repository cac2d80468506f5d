"""How long a view takes to define whose text is long, and how that grows with the text.

Run: ``python benchmarks/compile.py [--quick]``. Every construct is defined through the public door with half as many
parts as its goal, and with as many; the exponent is what the time grows by: 1 in proportion to the text, 2 with its
square. Times are CPU seconds, the least of three; each goal is one second. Then joins of up to twelve tables and the
queries of TPC-H, defined with ``strict=True`` and explained, half a second each; and what a paper's derivation costs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from math import log2
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.derivation import show_derivation
from benchmarks.workloads import tpch22
from benchmarks.workloads.harness import show
from benchmarks.workloads.long_texts import CONSTRUCTS, JOINS, SCHEMA, Construct, wide
from nestling import Database, QueryError

GOAL = 1.0
#: Of a join: to define it, and to explain it.
GOAL_OF_JOINS = 0.5
TABLES = (6, 12)


def database(construct: Construct, parts: int) -> Database:
    """The table that ``construct`` of so many parts reads."""
    db = Database()
    db.table(construct.table, SCHEMA if construct.table == "T" else wide(parts))
    return db


def seconds(construct: Construct, language: str, parts: int, runs: int) -> float:
    """What it takes to define a view."""
    text = construct.sql if language == "sql" else construct.python
    assert text is not None
    times = []
    for _ in range(runs):
        db = database(construct, parts)
        start = process_time()
        db.view("v", text(parts), language=language)
        times.append(process_time() - start)
    return min(times)


def exponent(half: float, whole: float) -> float:
    """By which power time grows, if it is ``half`` for half as much."""
    return log2(whole / half)


def row(name: str, construct: Construct, language: str, runs: int) -> list[str]:
    """One line of the table."""
    half, whole = (seconds(construct, language, n, runs) for n in (construct.goal // 2, construct.goal))
    met = "yes" if whole <= GOAL else "no"
    growth = f"{exponent(half, whole):.1f}"
    return [name, language, f"{construct.goal:,}", f"{half:.3f}", f"{whole:.3f}", growth, met]


def joined(kind: str, tables: int) -> Database:
    """The tables of a join of so many."""
    db = Database()
    for name, schema in JOINS[kind](tables)[0].items():
        db.table(name, schema)
    return db


def of_tpch() -> Database:
    """The tables of TPC-H."""
    db = Database()
    for name, (columns, key) in tpch22.SCHEMA.items():
        db.table(name, columns, key=key)
    return db


def both(make: Callable[[], Database], text: str, runs: int) -> tuple[float, float]:
    """What it takes to define a view with ``strict=True``, or to refuse it, and to explain it."""
    times = []
    for _ in range(runs):
        db = make()
        start = process_time()
        try:
            view = db.view("v", text, strict=True)
            defined = process_time() - start
        except QueryError:
            defined = process_time() - start
            view = db.view("v", text, strict=False)
        start = process_time()
        view.explain()
        times.append((defined, process_time() - start))
    return min(times)


def show_joins(runs: int) -> None:
    """Joins and TPC-H, defined and explained."""
    texts: list[tuple[str, Callable[[], Database], str]] = [
        (f"{kind} of {n}", partial(joined, kind, n), JOINS[kind](n)[1]) for kind in JOINS for n in TABLES
    ]
    texts += [(f"TPC-H {name}", of_tpch, text) for name, text in tpch22.QUERIES.items()]
    rows = []
    for name, make, text in texts:
        times = both(make, text, runs)
        rows.append([name, *(f"{t:.3f}" for t in times), "yes" if max(times) <= GOAL_OF_JOINS else "no"])
    show("Defining (strict) and explaining a join", ["view", "define s", "explain s", "≤ 0.5 s"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run of each")
    runs = 1 if parser.parse_args().quick else 3
    seconds(CONSTRUCTS["IN (constants)"], "sql", 2, 1)  # what is loaded at first use
    rows = [
        row(name, construct, language, runs)
        for name, construct in CONSTRUCTS.items()
        for language in ("sql", "python")
        if language == "sql" or construct.python is not None
    ]
    show("Defining a view", ["construct", "language", "n", "s at n/2", "s at n", "exponent", "≤ 1 s"], rows)
    show_joins(runs)
    show_derivation()


if __name__ == "__main__":
    main()
