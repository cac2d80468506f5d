"""The walk of a definition and of a deep insert, on both engines: what a reader has to follow.

Calls of functions of Nestling are traced: how many, through how many files and packages, how often the walk goes from
one package to another, and how often between a class and a class derived from it, on one object.

    python benchmarks/walks.py            # embedded
    python benchmarks/walks.py --spark    # and on Spark
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import nestling as nl

ROOT = str(Path(nl.__file__).parent)
HEAD = ("walk", "calls", "functions", "files", "packages", "switches", "alternations")


class Walk:
    """The calls made while ``action`` runs."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.calls: list[tuple[str, str]] = []
        #: Of methods that an object inherits or overrides, one after the other: B for the base, S for the subclass.
        self.levels = ""
        sys.setprofile(self._enter)
        try:
            action()
        finally:
            sys.setprofile(None)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        name: str = getattr(code, "co_qualname", code.co_name)
        self.calls.append((code.co_filename[len(ROOT) + 1 :], name))
        owner = type(frame.f_locals.get("self"))
        if "." in name and is_derived(owner):
            self.levels += "S" if name.split(".", maxsplit=1)[0] == owner.__name__ else "B"

    def figures(self) -> tuple[int, ...]:
        files = [file for file, _ in self.calls]
        packages = [str(Path(file).parent) for file in files]
        switches = len(list(groupby(packages))) - 1
        alternations = max(0, len(list(groupby(self.levels))) - 1)
        return len(files), len(set(self.calls)), len(set(files)), len(set(packages)), switches, alternations


def is_derived(kind: type) -> bool:
    """Whether a class of the database on Spark is derived from one of the database."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("nestling.database")]
    return kind.__module__.startswith("nestling.database.spark") and bool(bases)


def define(db: Any) -> None:
    db.table("orders", {"id": int, "customer": str, "items": [{"pid": int, "qty": int}]}, key="id")
    db.table("parts", {"pid": int, "price": int}, key="pid")


def view(db: Any) -> None:
    db.view(
        "baskets",
        "[(o.id, [(i.qty, p.price) for i in o.items for p in parts if p.pid == i.pid]) for o in orders]",
        language="python",
    )


def fill(db: Any) -> None:
    db.insert("parts", [(n, n) for n in range(5)])
    db.insert("orders", [(n, "c", [(1, 1), (2, 2)]) for n in range(10)])


def walks(db: Any, engine: str) -> None:
    define(db)
    rows = [(f"define, {engine}", Walk(lambda: view(db)))]
    fill(db)
    db.views["baskets"].subscribe(lambda change: None)
    db.tables["orders"].at(3).items.insert([(3, 1)])
    rows.append((f"deep insert, {engine}", Walk(lambda: db.tables["orders"].at(7).items.insert([(3, 2)]))))
    rows.append((f"read, {engine}", Walk(db.views["baskets"].rows)))
    for name, walk in rows:
        print(f"{name:24}" + "".join(f"{figure:>14,}" for figure in walk.figures()))
        if walk.levels:
            print(f"{'':24}  {walk.levels}")


def main() -> None:
    print(f"{HEAD[0]:24}" + "".join(f"{word:>14}" for word in HEAD[1:]))
    walks(nl.Database(), "embedded")
    if "--spark" in sys.argv:
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        with tempfile.TemporaryDirectory() as folder:
            walks(nl.Database(spark=spark, path=f"{folder}/lake"), "Spark")


if __name__ == "__main__":
    main()
