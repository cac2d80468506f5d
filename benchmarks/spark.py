"""Views on Spark beside computing them anew: what a change costs, and how that grows with the data.

Run: ``python benchmarks/spark.py [--rows 1000000,10000000] [--changes 100,1000,10000] [--repeat 5] [--only related]``.
Both sides run in one session, local[2], over the same Parquet files, and both are warmed up alike on few rows. "anew"
is plain Spark SQL that writes what the view keeps to Parquet; "change" is a batch applied by the engine, durable when
it returns; "checked" is one through ``db.apply``, which looks whether what goes is there and what comes is new; "tidy"
is what moving changes into files and summing files took besides, all runs together. Jobs, rows and bytes are those of
the last change of its size, by Spark; written is what Spark and the log wrote. Absolute times depend on the machine,
ratios less so; CPU is that of the JVM and of Python. The last table sets every goal beside what was measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import nestling as nl
from benchmarks.parts.goals import Goal, show_goals
from benchmarks.parts.on_spark import FIVE, SALES, WORKLOADS, Changes, Workload, World
from benchmarks.workloads.harness import show
from nestling.database.database import Database

SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2", "spark.sql.adaptive.enabled": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g",
    "spark.log.level": "ERROR", "spark.sql.catalogImplementation": "in-memory", "spark.ui.retainedJobs": "100",
}  # fmt: skip

#: Both sides are warmed up over this many rows: Java compiles what runs often.
FEW = 20_000
COUNTED = ("jobs", "rows read", "KB read", "rows shuffled", "KB shuffled", "rows written", "KB written")


class Counters:
    """What Spark did since the last look: jobs, rows and bytes."""

    def __init__(self, spark: Any) -> None:
        self.bus = spark.sparkContext._jsc.sc().listenerBus()
        self.store = spark.sparkContext._jsc.sc().statusStore()
        self.last = -1

    def new_jobs(self) -> list[Any]:
        """The jobs since the last look, as far as Spark still knows them."""
        self.bus.waitUntilEmpty()
        jobs = self.store.jobsList(None)
        new = [job for job in (jobs.apply(i) for i in range(jobs.size())) if job.jobId() > self.last]
        self.last = max([self.last, *(job.jobId() for job in new)])
        return new

    def since(self) -> dict[str, int]:
        found = dict.fromkeys(COUNTED, 0)
        for job in self.new_jobs():
            found["jobs"] += 1
            stages = job.stageIds()
            for j in range(stages.size()):
                stage = self.store.lastStageAttempt(stages.apply(j))
                found["rows read"] += stage.inputRecords()
                found["KB read"] += stage.inputBytes() // 1024
                found["rows shuffled"] += stage.shuffleWriteRecords()
                found["KB shuffled"] += stage.shuffleWriteBytes() // 1024
                found["rows written"] += stage.outputRecords()
                found["KB written"] += stage.outputBytes() // 1024
        return found


@dataclass
class Loaded:
    """A database with its data, loaded in bulk before views are defined."""

    spark: Any
    world: World
    rows: int
    path: Path
    db: Database = field(init=False)
    changes: Changes = field(init=False)

    def __post_init__(self) -> None:
        self.db = nl.Database(spark=self.spark, path=self.path / "lake")
        for name, (schema, key) in self.world.tables.items():
            self.db.table(name, schema, key=key)
        frames = {name: self.engine.session.sql(text) for name, text in self.world.data(self.rows).items()}
        loaded, _ = self.engine.after(self.engine.written(frames), large=True)
        self.engine.store(loaded, {}, large=True)
        self.changes = Changes(self.world, self.rows)

    @property
    def engine(self) -> Any:
        return self.db._state.running  # type: ignore[attr-defined]

    def change(self, size: int) -> Callable[[], None]:
        """A batch to be applied."""
        batch = {self.world.changing: self.changes.batch(size)}
        return lambda: self.engine.apply_batch(batch)

    def checked(self, size: int) -> Callable[[], Any] | None:
        """The same through the front door; ``None`` where rows of an inner bag change, which are no user's rows."""
        if "." in self.world.changing:
            return None
        batch = {self.world.changing: dict(self.changes.batch(size))}
        return lambda: self.db.apply(batch)

    def anew(self, workload: Workload) -> None:
        """The view by plain Spark, over the same files."""
        for name in self.world.data(1000):
            text = self.engine.now.raw(name)
            self.engine.session.sql(text).createOrReplaceTempView(name.rpartition(".")[2])
        for i, text in enumerate(workload.anew):
            frame = self.engine.session.sql(text)
            frame.toDF(*(f"c{n}" for n in range(len(frame.columns)))).write.mode("overwrite").parquet(
                str(self.path / f"anew{i}")
            )

    def logged(self) -> dict[str, int]:
        """Rows and bytes that the last batch added to the log."""
        log = max((self.path / "lake" / "log").iterdir(), default=None)
        rows = sum(table.num_rows for tables in self.engine.now.added.values() for table in tables)
        return {"rows written": rows, "KB written": 0 if log is None else log.stat().st_size // 1024}


def cpu(spark: Any) -> float:
    """Seconds that the JVM and this process have computed: what a busy machine changes less."""
    process = spark.sparkContext._gateway.proc.pid
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + process_time()


def timed(spark: Any, action: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds of ``action``."""
    wall, used = perf_counter(), cpu(spark)
    action()
    return perf_counter() - wall, cpu(spark) - used


def middle(runs: list[tuple[float, float]]) -> tuple[float, float]:
    wall, used = zip(*runs, strict=True)
    return median(wall), max(median(used), 0.01)


@dataclass(frozen=True)
class Measured:
    """One line of the table; ``change`` and ``anew`` are wall and CPU seconds."""

    view: str
    rows: int
    size: int
    change: tuple[float, float]
    anew: tuple[float, float]
    checked: float | None
    tidy: float
    counted: dict[str, int]

    @property
    def ratio(self) -> float:
        return self.anew[0] / self.change[0]

    def row(self) -> list[str]:
        times = [f"{self.anew[0] * 1000:,.0f}", f"{self.change[0] * 1000:,.0f}", f"{self.ratio:,.1f}×"]
        checked = "" if self.checked is None else f"{self.checked * 1000:,.0f}"
        times += [f"{self.anew[1] / self.change[1]:,.1f}×", checked, f"{self.tidy * 1000:,.0f}"]
        return [
            self.view,
            f"{self.rows:,}",
            f"{self.size:,}",
            *times,
            *(f"{n:,}" for n in self.counted.values()),
        ]


HEADER = [
    "view",
    "rows",
    "change",
    "anew ms",
    "change ms",
    "ratio",
    "by CPU",
    "checked ms",
    "tidy ms",
    *COUNTED,
]


def measure(
    spark: Any, name: str, at: Loaded, sizes: list[int], repeat: int, counters: Counters
) -> list[Measured]:
    """One view over data that is there."""
    workload, found = WORKLOADS[name], []
    at.db.view("v", workload.view, language="python", store=workload.store)
    at.change(10)()
    timed(spark, lambda: at.anew(workload))
    runs: list[tuple[float, float]] = []
    while len(runs) < 2 or (len(runs) < repeat and sum(wall for wall, _ in runs) < 20):
        runs.append(timed(spark, lambda: at.anew(workload)))
    anew = middle(runs)
    for size in sizes:
        runs, tidied, counted, checked = [], 0.0, dict.fromkeys(COUNTED, 0), []
        for _ in range(repeat):
            change = at.change(size)
            counters.new_jobs()
            runs.append(timed(spark, change))
            counted = counters.since()
            counted |= {what: counted[what] + n for what, n in at.logged().items()}
            tidied += timed(spark, at.engine.tidy)[0]
        for _ in range(min(repeat, 3)):
            if (change := at.checked(size)) is not None:
                checked.append(timed(spark, change))
        found.append(
            Measured(
                name,
                at.rows,
                size,
                middle(runs),
                anew,
                middle(checked)[0] if checked else None,
                tidied,
                counted,
            )
        )
        print(f"  {name}, {at.rows:,} rows, change of {size:,}: {found[-1].ratio:,.1f}×", flush=True)
    at.db.drop("v")
    return found


def warm_up(spark: Any, names: list[str], folder: Path, rounds: int) -> None:
    """All views and their plain SQL over few rows, in turns."""
    for name in names:
        at = Loaded(spark, WORKLOADS[name].world, FEW, folder / f"warm {name}")
        at.db.view("v", WORKLOADS[name].view, language="python", store=WORKLOADS[name].store)
        for n in range(rounds):
            at.change(10 ** (1 + n % 3))()
            at.anew(WORKLOADS[name])
        at.db.close()
        print(f"  {name}: {rounds} rounds over {FEW:,} rows", flush=True)


def fixed_cost(spark: Any, folder: Path, repeat: int, rounds: int) -> list[Goal]:
    """An empty change, and one row, for five views at once: checked, applied, stored."""
    at = Loaded(spark, SALES, FEW, folder / "five")
    for name, text in FIVE.items():
        at.db.view(name, text, language="python")
    found = []
    for what, rows in (("an empty change", 0), ("a change of one row", 1)):
        runs = []
        for n in range(rounds + repeat):
            at.changes.fresh += rows
            batch = {"sales": {(at.changes.fresh, n, 5, 6): 1} if rows else {}}
            runs.append(timed(spark, lambda batch=batch: at.db.apply(batch)))
        found.append(Goal(f"{what}, five views, checked", middle(runs[rounds:])[0], 1.0, unit=" s"))
    at.db.close()
    return found


def goals(found: list[Measured], sizes: list[int]) -> list[Goal]:
    """The goals, by the largest change over the most rows."""
    told = []
    for name in dict.fromkeys(m.view for m in found):
        mine = [m for m in found if m.view == name and m.size == max(sizes)]
        most, least = max(mine, key=lambda m: m.rows), min(mine, key=lambda m: m.rows)
        share = f"{most.size / most.rows:.1%} of {most.rows:,} rows"
        remark = WORKLOADS[name].remark
        told.append(
            Goal(f"{name}: anew / change, {share}", most.ratio, 10, at_least=True, unit="×", remark=remark)
        )
        if most.rows > least.rows:
            grown = most.change[0] / least.change[0]
            told.append(Goal(f"{name}: growth, {least.rows:,} to {most.rows:,} rows", grown, 3, unit="×"))
        shuffled = most.counted["rows shuffled"] / most.size
        told.append(Goal(f"{name}: rows shuffled per changed row, {most.rows:,} rows", shuffled, 20))
    return told


def main() -> None:
    """Print the tables."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000,10000000")
    parser.add_argument("--changes", default="100,1000,10000")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warm", type=int, default=12, help="rounds to warm up, of either side")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    counters = Counters(spark)
    sizes = list(map(int, args.changes.split(",")))
    names = [name for name in WORKLOADS if args.only in name]
    found: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        print("warming up", flush=True)
        warm_up(spark, names, Path(folder), args.warm)
        for rows in map(int, args.rows.split(",")):
            for world in dict.fromkeys(id(WORKLOADS[name].world) for name in names):
                mine = [n for n in names if id(WORKLOADS[n].world) == world and rows <= WORKLOADS[n].most]
                if not mine:
                    continue
                started = perf_counter()
                at = Loaded(spark, WORKLOADS[mine[0]].world, rows, Path(folder) / f"{rows} {mine[0]}")
                print(
                    f"{', '.join(mine)}: {rows:,} rows loaded in {perf_counter() - started:.0f} s", flush=True
                )
                for name in mine:
                    found += measure(spark, name, at, sizes, args.repeat, counters)
                at.db.close()
        print("five views", flush=True)
        fixed = fixed_cost(spark, Path(folder), args.repeat, args.warm)
    show("A change beside computing anew, local[2]", HEADER, [m.row() for m in found], plain=True)
    show_goals([*goals(found, sizes), *fixed])


if __name__ == "__main__":
    main()
