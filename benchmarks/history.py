"""Twenty versions of nested compatibility data, by ``sync`` and by ``apply``, beside plain Python.

Run: ``python benchmarks/history.py [--features 20000] [--versions 20] [--json FILE]``. CPU seconds of this process,
each road in a database of its own, all in one run. Every view is compared with plain Python at every version, on both.

* *sync*: the new snapshot is handed over; beside it a comparison of two dicts of the snapshots, plus *apply* of what
  that finds.
* *recompute*: all seven views in plain Python at every version, over rows that are in memory.
* *read*: a whole nested view as Python values, beside the plain Python that computes it.
* *file*: load into a file, its size beside the rows as JSON, and opening it again.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.parts.goals import Goal, show_goals
from benchmarks.workloads import compat
from benchmarks.workloads.compat import BY_HAND, CATEGORIES, FEATURES, VIEWS, Feature, Size
from benchmarks.workloads.harness import show
from nestling import Database

NESTED = ("supported", "tried")


def database(path: Path | None = None) -> Database:
    db = Database(path)
    db.table("features", FEATURES, key="id")
    db.table("categories", {"name": str}, key="name").insert([(name,) for name in CATEGORIES])
    return db


def define(db: Database) -> None:
    for name, text in VIEWS.items():
        db.view(name, text, language="sql" if text.startswith("SELECT") else "python")


def took(action: Callable[..., object], *given: object) -> float:
    gc.collect()
    start = process_time()
    action(*given)
    return process_time() - start


def difference(old: dict[str, Feature], new: dict[str, Feature], change: dict[Feature, int]) -> None:
    """What a program finds that keeps the last snapshot: rows that are not equal to those of their names."""
    for name, row in new.items():
        before = old.get(name)
        if before != row:
            change[row] = 1
            if before is not None:
                change[before] = -1
    for name, row in old.items():
        if name not in new:
            change[row] = -1


def check(db: Database, features: dict[str, Feature], version: int) -> None:
    """Every view is what plain Python makes of the rows."""
    for name, view in BY_HAND.items():
        found, expected = sorted(db.views[name].rows()), sorted(view(features.values()))
        if [plain(row) for row in found] != [plain(row) for row in expected]:
            raise SystemExit(f"{name} differs from plain Python at version {version}")


def plain(value: Any) -> Any:
    """Lists and named tuples as tuples; bags have no order."""
    if isinstance(value, list):
        return tuple(sorted(plain(inner) for inner in value))
    return tuple(plain(inner) for inner in value) if isinstance(value, tuple) else value


def resident() -> int:
    """Bytes of memory that this process has, where the system tells."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


def walk(size: Size) -> dict[str, float]:
    """All roads through the history."""
    found = dict.fromkeys(("sync", "difference", "apply", "recompute"), 0.0)
    versions = compat.history(size)
    first = next(versions)
    before = resident()
    applied = database()
    found["load"] = took(lambda: applied.insert("features", list(first.values())))
    gc.collect()
    found["tables, MB"] = (resident() - before) / 1e6
    between = resident()
    found["define"] = took(lambda: define(applied))
    gc.collect()
    found["views, MB"] = (resident() - between) / 1e6
    synced = database()
    define(synced)
    synced.insert("features", list(first.values()))
    check(applied, first, 0)
    last, rows = first, 0
    for number, now in enumerate(versions, 1):
        snapshot = compat.fresh(now)
        given = {row[0]: row for row in snapshot}
        found["sync"] += took(synced.sync, "features", snapshot)
        change: dict[Feature, int] = {}
        found["difference"] += took(difference, last, given, change)
        found["apply"] += took(applied.apply, {"features": change})
        found["recompute"] += took(compat.by_hand, given)
        check(applied, now, number)
        check(synced, now, number)
        last, rows = given, rows + len(change)
    found["rows changed"] = rows
    for name in NESTED:
        found[f"read {name}"] = took(applied.views[name].rows)
        found[f"{name} by hand"] = took(BY_HAND[name], last.values())
    return found


def in_a_file(size: Size) -> dict[str, float]:
    """Loading a file, its size, and opening it again."""
    first = list(next(compat.history(size)).values())
    text = sum(len(json.dumps(row, ensure_ascii=False)) for row in first)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.nest"
        with database(path) as db:
            define(db)
            load = took(lambda: db.insert("features", first))
        held = path.stat().st_size
        opened: list[Database] = []
        again = took(lambda: opened.append(Database(path)))
        opened[0].close()
    return {"load into a file": load, "open again": again, "file / JSON": held / text}


def goals(found: dict[str, float]) -> list[Goal]:
    """The goals, each a ratio of two figures of one run."""
    by_hand = found["difference"] + found["apply"]
    return [
        Goal("sync / (dict diff + apply)", found["sync"] / by_hand, 2),
        Goal("recomputing all seven / apply", found["recompute"] / found["apply"], 10, at_least=True),
        Goal("memory of views / of tables", found["views, MB"] / found["tables, MB"], 1),
        *(Goal(f"read {n} / by hand", found[f"read {n}"] / found[f"{n} by hand"], 2) for n in NESTED),
        Goal("open again / load", found["open again"] / found["load into a file"], 1),
        Goal("file / JSON", found["file / JSON"], 3),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    size = Size(given.features, given.versions)
    found = walk(size) | in_a_file(size)
    show("history", ("what", "figure"), [(name, f"{value:,.3f}") for name, value in found.items()])
    show_goals(goals(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
