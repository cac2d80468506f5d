"""A capacity model: what a change costs on Spark, as a formula of the change, what it meets, files and cores.

Run: ``python benchmarks/capacity.py [--sizes 200000,1600000] [--check 4800000] [--repeat 3] [--write docs/scale.md]``.

Facts with a group each, groups with a region, and the view that joins them: an inserted fact meets one group, a changed
group its facts. Changes of several sizes and fan-outs are applied by the driver, over one file and over several, and by
Spark's jobs. CPU is that of all processes together. Files are not merged meanwhile: that costs the same whenever it
runs. The coefficients are fitted, by least squares of relative errors, to what was measured at two sizes; a third,
larger size is predicted with them, and both are shown. ``--write`` puts the formulas, the coefficients, the check and
what they say of large sizes between the marks of a page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import nestling as nl
from benchmarks.parts.on_spark import SETTINGS, Meter
from nestling.engine.spark import limits

#: Facts of a group.
FAN_OUT = 100
MARKS = ("<!-- capacity: begin -->", "<!-- capacity: end -->")
#: What each way of applying a change costs, in CPU seconds: a coefficient for each of these numbers.
TERMS = {
    "driver": ("1", "c", "m", "files"),
    "spark": ("queries", "c + m", "N"),
}
MEANING = {
    "1": "a change", "c": "a changed row", "m": "a row that it meets", "files": "a file of what is stored",
    "queries": "a query", "c + m": "a changed row, or one that it meets", "N": "a stored row of what is joined",
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """One change: who applied it, its rows, what it met, the files of all tables and maps, the stored rows that it is
    joined with, the queries of Spark's; CPU seconds."""

    way: str
    changed: int
    met: int
    files: int
    stored: int
    queries: int
    cpu: float

    def term(self, name: str) -> float:
        return float({"1": 1, "c": self.changed, "m": self.met, "files": self.files, "c + m": self.changed + self.met,
                      "N": self.stored, "queries": self.queries}[name])  # fmt: skip


Model = Mapping[str, Mapping[str, float]]


def predicted(model: Model, change: Measured) -> float:
    """What a model says of a change."""
    return sum(value * change.term(name) for name, value in model[change.way].items())


def fitted(found: Sequence[Measured]) -> Model:
    """Coefficients of least relative error; none is negative: a term that would be is left out."""
    import numpy as np

    model: dict[str, dict[str, float]] = {}
    for way, terms in TERMS.items():
        rows = [row for row in found if row.way == way]
        names = list(terms)
        while True:
            matrix = np.array([[row.term(name) / row.cpu for name in names] for row in rows])
            values = np.linalg.lstsq(matrix, np.ones(len(rows)), rcond=None)[0]
            worst = int(values.argmin())
            if values[worst] >= 0:
                break
            del names[worst]
        model[way] = dict.fromkeys(terms, 0.0) | {n: float(v) for n, v in zip(names, values, strict=True)}
    return model


def spread(pairs: Sequence[tuple[float, float]]) -> float:
    """The factor by which a prediction is off, in the geometric mean."""
    return exp(sum(abs(log(said / was)) for said, was in pairs) / len(pairs)) if pairs else 1.0


# -- measuring


#: With these Spark's jobs do what the driver would do.
BY_SPARK = dict.fromkeys(
    (
        "MAX_DRIVER_VALUES",
        "MAX_DRIVER_ROWS",
        "MAX_TRANSACTION_ROWS",
        "MAX_FETCHED_ROWS",
        "MAX_COLLECTED_ROWS",
    ),
    0,
)
#: With these no files are merged.
UNMERGED = {"TIER_RUNS": 1_000, "MAX_RUNS": 1_000, "MIN_COMPACTED_ROWS": 10**12}


@contextmanager
def limited(values: Mapping[str, int]) -> Iterator[None]:
    """A block with other limits of the engine."""
    before = {name: getattr(limits, name) for name in values}
    for name, value in values.items():
        setattr(limits, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(limits, name, value)


class Bench:
    """One database of ``stored`` facts."""

    def __init__(self, spark: Any, stored: int, folder: Path) -> None:
        self.spark, self.stored, self.next = spark, stored, stored
        self.groups, self.turn = stored // FAN_OUT, 0
        self.meter, self.found = Meter(spark), []  # type: tuple[Meter, list[Measured]]
        self.db: Any = nl.Database(spark=spark, path=folder)
        self.db.table("facts", "id BIGINT, g BIGINT, v BIGINT", key="id")
        self.db.table("groups", "g BIGINT, region STRING", key="g")
        self.db.insert(
            "groups", spark.range(self.groups).selectExpr("id AS g", "concat('r', id % 50) AS region")
        )
        self.db.insert("facts", self._facts(0, stored))
        self.db.view("joined", "SELECT f.id, f.v, d.region FROM facts f JOIN groups d ON d.g = f.g")

    def _facts(self, start: int, end: int) -> Any:
        return self.spark.range(start, end).selectExpr("id", f"id % {self.groups} AS g", "id % 7 AS v")

    def insert(self, rows: int, times: int, large: bool) -> None:
        def insert() -> Any:
            start, self.next = self.next, self.next + rows
            here = [] if large else [(n, n % self.groups, n % 7) for n in range(start, start + rows)]
            return self.db.insert("facts", self._facts(start, start + rows) if large else here)

        self._measured("spark" if large else "driver", rows, rows, self.groups, [insert] * times)

    def regroup(self, rows: int, times: int, large: bool) -> None:
        def regroup() -> Any:
            self.turn += 1
            groups = {(self.turn * 7919 + n * 31) % self.groups for n in range(rows)}
            rows_of = [(g, f"x{self.turn}") for g in sorted(groups)]
            assert len(rows_of) == rows
            given = self.spark.createDataFrame(rows_of, "g BIGINT, region STRING") if large else rows_of
            return self.db.merge("groups", given)

        met = 2 * rows * FAN_OUT
        self._measured("spark" if large else "driver", 2 * rows, met, self.stored, [regroup] * times)

    def _measured(
        self, way: str, changed: int, met: int, joined: int, works: Sequence[Callable[[], Any]]
    ) -> None:
        """What one of some changes of a kind costs: clocks tick too slowly for one small change."""
        state = self.db._state.running.now
        files = sum(len(part.paths) for each in state.stored.values() for part in each.files)
        done: list[Any] = []
        cost = self.meter.of(lambda: done.extend(work() for work in works))
        queries = max(refresh.queries for refresh in done)
        assert (queries == 0) == (way == "driver"), (way, queries)
        self.found.append(Measured(way, changed, met, files, joined, queries, cost.cpu / len(works)))

    def run(self, repeat: int) -> list[Measured]:
        """All of its changes, each the least of some: Java compiles, and collects garbage, beside the first ones."""
        with limited(UNMERGED):
            for run in range(2):
                for rows, times in ((1, 100), (100, 30), (1000, 10)):
                    self._repeated(repeat, self.insert, rows, times, False)
                for rows, times in ((1, 50), (10, 20), (100, 5)):
                    self._repeated(repeat, self.regroup, rows, times, False)
                if not run:
                    self._more_files(12)
            with limited(BY_SPARK):
                for rows in (20_000, 200_000):
                    self._repeated(repeat, self.insert, rows, 1, True)
                for rows in (20, 200):
                    self._repeated(repeat, self.regroup, min(rows, self.groups), 1, True)
        self.db.close()
        return self.found

    def _repeated(self, repeat: int, work: Any, *arguments: Any) -> None:
        before = len(self.found)
        for _ in range(repeat):
            work(*arguments)
        some = self.found[before:]
        del self.found[before:]
        self.found.append(replace(some[0], cpu=min(row.cpu for row in some)))
        print(f"  {self.found[-1]}", flush=True)

    def _more_files(self, files: int) -> None:
        """Changes of the facts in so many files."""
        for _ in range(files):
            start, self.next = self.next, self.next + 50
            self.db.insert("facts", [(n, n % self.groups, 1) for n in range(start, start + 50)])
            self.db._state.running.tidied()


def measured(spark: Any, stored: int, repeat: int) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="nestling-capacity-") as folder:
        return Bench(spark, stored, Path(folder) / "lake").run(repeat)


# -- telling


def formula(model: Model) -> list[str]:
    """The coefficients, as rows of a table."""
    lines = ["| by | for | CPU, µs |", "|---|---|--:|"]
    return lines + [
        f"| {'the driver' if way == 'driver' else 'Spark'} | {MEANING[name]} (`{name}`) | {value * 1e6:,.3g} |"
        for way, terms in model.items()
        for name, value in terms.items()
    ]


def checked(model: Model, rows: Sequence[Measured]) -> list[str]:
    """Predictions beside what was measured."""
    lines = [
        "| by | changed | met | files | queries | predicted, CPU s | measured, CPU s | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        said = predicted(model, row)
        by = "the driver" if row.way == "driver" else "Spark"
        lines.append(
            f"| {by} | {row.changed:,} | {row.met:,} | {row.files} | {row.queries} | {said:.3f} | {row.cpu:.3f}"
            f" | {said / row.cpu:.2f} |"
        )
    return lines


def read_off(model: Model, queries: int) -> list[str]:
    """What the model says of 10⁹ rows, and of changes by so many queries."""
    stored, lines = (
        1_000_000_000,
        ["| change | cores | CPU s | seconds, if all cores work |", "|---|--:|--:|--:|"],
    )
    for rows in (1, 1_000):
        cpu = predicted(model, Measured("driver", rows, rows, 20, stored, 0, 1))
        lines.append(f"| {rows:,} row{'s' * (rows > 1)}, by the driver | 1 | {cpu:.3f} | {cpu:.3f} |")
    start = model["spark"]["queries"] * queries
    for rows in (100_000, 10_000_000):
        cpu = predicted(model, Measured("spark", rows, rows, 1, stored, queries, 1))
        for cores in (16, 1_000):
            lines.append(
                f"| {rows:,} rows, by Spark | {cores:,} | {cpu:,.0f} | {start + (cpu - start) / cores:,.1f} |"
            )
    return lines


def page(model: Model, sizes: Sequence[int], check: Sequence[Measured], fit: Sequence[Measured]) -> str:
    """What stands between the marks of the page; the last of the sizes is the one to check at."""
    off = spread([(predicted(model, row), row.cpu) for row in check])
    queries = min((row.queries for row in check if row.way == "spark"), default=1)
    own = spread([(predicted(model, row), row.cpu) for row in fit])
    parts = [
        MARKS[0], "*Written by `benchmarks/capacity.py`; do not edit.*", "",
        f"Fitted to {len(fit)} changes at {' and '.join(f'{n:,}' for n in sizes[:-1])} stored rows, which the"
        f" formulas miss by a factor of {own:.2f} in the geometric mean.", "", *formula(model), "",
        f"Checked at {sizes[-1]:,} stored rows: off by a factor of {off:.2f} in the geometric mean.", "",
        *checked(model, check), "",
        f"Read off for 1,000,000,000 stored rows, a fan-out of one, twenty files and {queries} queries:", "",
        *read_off(model, queries), MARKS[1],
    ]  # fmt: skip
    return "\n".join(parts)


def written(text: str, part: str) -> str:
    """A page with its part between the marks replaced."""
    begin, _, rest = text.partition(MARKS[0])
    begin = begin.partition("Figures: none yet.")[0]
    return begin + part + rest.partition(MARKS[1])[2]


def main() -> None:
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="200000,1600000")
    parser.add_argument("--check", type=int, default=4_800_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    measured(spark, 20_000, 3)  # Java compiles what runs often
    fit: list[Measured] = []
    for size in sizes:
        fit += measured(spark, size, args.repeat)
        print(f"measured {size:,}", flush=True)
    check = measured(spark, args.check, args.repeat)
    part = page(fitted(fit), [*sizes, args.check], check, fit)
    print(part)
    if args.write is not None:
        args.write.write_text(written(args.write.read_text("utf-8"), part), "utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
