"""Views on Spark beside computing them anew: what a change costs, and how that grows with the data.

Run: ``python benchmarks/spark.py [--rows 1000000,10000000] [--changes 100,1000,10000] [--repeat 3] [--only related]``.
Both sides take turns in one session, local[2], over Parquet files. "anew" is plain Spark SQL over the same tables that
writes the view's rows to Parquet; "change" is a batch applied to a database, durable when it returns. Figures of jobs,
rows and bytes are those of the change. Absolute times depend on the machine, ratios less so.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import nestling as nl
from nestling.database.database import Database
from nestling.values.label import Label

Batch = dict[str, list[tuple[tuple[Any, ...], int]]]

SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2", "spark.sql.adaptive.enabled": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g",
    "spark.log.level": "ERROR", "spark.sql.catalogImplementation": "in-memory",
}  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """Tables, a view, its data as SQL over ``id``, the view as plain SQL, and random changes."""

    tables: dict[str, tuple[Any, str | None]]
    view: str
    data: Callable[[int], dict[str, str]]
    anew: str
    change: Callable[[int, int, Random], Batch]


def sales(n: int) -> dict[str, str]:
    return {
        "customers": f"SELECT id AS k0, concat('r', id % 50) AS k1, 1L AS m0 FROM range({n // 10})",
        "sales": f"SELECT id AS k0, (id * 7919) % {n // 10} AS k1, id % 1000 AS k2, id % 7 AS k3, 1L AS m0"
        f" FROM range({n})",
    }


def sold(n: int, size: int, random: Random) -> Batch:
    """New sales, and some of those that were there going."""
    gone = random.sample(range(n), size // 2)
    rows = [((i, (i * 7919) % (n // 10), i % 1000, i % 7), -1) for i in gone]
    rows += [
        ((n + random.randrange(10**12), random.randrange(n // 10), 5, 6), 1) for _ in range(size - size // 2)
    ]
    return {"sales": rows}


SALES = {
    "customers": ({"cid": int, "region": str}, "cid"),
    "sales": ({"id": int, "cust": int, "prod": int, "qty": int}, "id"),
}


def movies(n: int) -> dict[str, str]:
    return {
        "M": f"SELECT concat('m', id) AS k0, concat('g', (id * 31) % {n // 50}) AS k1,"
        f" concat('d', id % {n // 10}) AS k2, 1L AS m0 FROM range({n})"
    }


def filmed(n: int, size: int, random: Random) -> Batch:
    gone = random.sample(range(n), size // 2)
    rows = [((f"m{i}", f"g{(i * 31) % (n // 50)}", f"d{i % (n // 10)}"), -1) for i in gone]
    for _ in range(size - size // 2):
        rows.append(
            (
                (
                    f"new{random.randrange(10**12)}",
                    f"g{random.randrange(n // 50)}",
                    f"d{random.randrange(n // 10)}",
                ),
                1,
            )
        )
    return {"M": rows}


def label(id_: str) -> str:
    return f"concat('s12:orders.items(i', {id_}, ';)')"


def orders(n: int) -> dict[str, str]:
    return {
        "parts": f"SELECT id AS k0, concat('p', id) AS k1, 1L AS m0 FROM range({max(n // 100, 10)})",
        "orders": f"SELECT id AS k0, (id * 7919) % {n // 10} AS k1, {label('id')} AS k2, 1L AS m0 FROM range({n // 4})",
        "orders.items": f"SELECT {label('id div 4')} AS k0, id % {max(n // 100, 10)} AS k1, id % 9 AS k2, 1L AS m0"
        f" FROM range({n})",
    }


def delivered(n: int, size: int, random: Random) -> Batch:
    """Elements that come to inner bags, and some that go."""
    parts = max(n // 100, 10)
    gone = random.sample(range(n), size // 2)
    rows = [((Label("orders.items", (i // 4,)), i % parts, i % 9), -1) for i in gone]
    rows += [
        ((Label("orders.items", (random.randrange(n // 4),)), random.randrange(parts), 10), 1)
        for _ in range(size - len(gone))
    ]
    return {"orders.items": rows}


ORDERS = {
    "parts": ({"pid": int, "name": str}, "pid"),
    "orders": ({"id": int, "cust": int, "items": [{"pid": int, "qty": int}]}, "id"),
}

WORKLOADS = {
    "filter–join–group": Workload(
        SALES,
        "[(r, sum(s.qty for s in sales for c in customers if c.cid == s.cust and c.region == r and s.qty > 2))"
        " for r in {c.region for c in customers}]",
        sales,
        "SELECT c.k1, sum(s.k3) FROM sales s JOIN customers c ON c.k0 = s.k1 WHERE s.k3 > 2 GROUP BY c.k1",
        sold,
    ),
    "related": Workload(
        {"M": ({"name": str, "gen": str, "dir": str}, "name")},
        "[(m.name, [n.name for n in M if m.name != n.name and (m.gen == n.gen or m.dir == n.dir)]) for m in M]",
        movies,
        "SELECT k0, collect_list(b) FROM (SELECT m.k0, n.k0 AS b FROM M m JOIN M n ON m.k1 = n.k1 AND m.k0 <> n.k0"
        " UNION ALL SELECT m.k0, n.k0 FROM M m JOIN M n ON m.k2 = n.k2 AND m.k1 <> n.k1) GROUP BY k0",
        filmed,
    ),
    "two levels, deep": Workload(
        ORDERS,
        "[(c, [(o.id, [(p.name, i.qty) for i in o.items for p in parts if p.pid == i.pid])"
        " for o in orders if o.cust == c]) for c in {o.cust for o in orders}]",
        orders,
        "SELECT o.k1, collect_list(struct(o.k0, b.items)) FROM orders o JOIN (SELECT i.k0,"
        " collect_list(struct(p.k1, i.k2)) AS items FROM `orders.items` i JOIN parts p ON p.k0 = i.k1 GROUP BY i.k0) b"
        " ON b.k0 = o.k2 GROUP BY o.k1",
        delivered,
    ),
    "distinct, outer": Workload(
        SALES,
        "[(c.cid, c.region) for c in customers if not any(s.cust == c.cid and s.qty > 5 for s in sales)]",
        sales,
        "SELECT c.k0, c.k1 FROM customers c LEFT ANTI JOIN (SELECT DISTINCT k1 FROM sales WHERE k3 > 5) s"
        " ON s.k1 = c.k0",
        sold,
    ),
}  # fmt: skip


class Counters:
    """What Spark did since the last look: jobs, rows and bytes."""

    def __init__(self, spark: Any) -> None:
        self.context = spark.sparkContext
        self.store = self.context._jsc.sc().statusStore()
        self.last = self._latest()

    def _latest(self) -> int:
        jobs = self.store.jobsList(None)
        return max((jobs.apply(i).jobId() for i in range(jobs.size())), default=-1)

    def since(self) -> dict[str, int]:
        jobs = self.store.jobsList(None)
        found = dict.fromkeys(("jobs", "rows read", "KB read", "rows shuffled", "KB shuffled"), 0)
        for i in range(jobs.size()):
            job = jobs.apply(i)
            if job.jobId() <= self.last:
                continue
            found["jobs"] += 1
            stages = job.stageIds()
            for j in range(stages.size()):
                stage = self.store.lastStageAttempt(stages.apply(j))
                found["rows read"] += stage.inputRecords()
                found["KB read"] += stage.inputBytes() // 1024
                found["rows shuffled"] += stage.shuffleWriteRecords()
                found["KB shuffled"] += stage.shuffleWriteBytes() // 1024
        self.last = self._latest()
        return found


def loaded(spark: Any, workload: Workload, rows: int, path: Path) -> Database:
    """A database with all its data, loaded in bulk before the view is defined."""
    db = nl.Database(spark=spark, path=path)
    for name, (schema, key) in workload.tables.items():
        db.table(name, schema, key=key)
    engine = db.state.running  # type: ignore[attr-defined]
    frames = {name: engine.session.sql(text) for name, text in workload.data(rows).items()}
    engine.load(frames)
    db.view("v", workload.view, language="python")
    return db


def cpu(spark: Any) -> float:
    """Seconds that the JVM has computed: what a busy machine does not change."""
    process = spark.sparkContext._gateway.proc.pid
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(spark: Any, action: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds of ``action``."""
    wall, used = perf_counter(), cpu(spark)
    action()
    return perf_counter() - wall, cpu(spark) - used


def recompute(db: Database, workload: Workload, path: Path) -> None:
    """The view anew, over the same files."""
    engine = db.state.running  # type: ignore[attr-defined]
    text = workload.anew
    for name in sorted(workload.data(1000), key=len, reverse=True):
        engine.session.sql(engine.now.raw(name)).createOrReplaceTempView(f"plain_{name.replace('.', '_')}")
    for name in workload.data(1000):
        for form in (f"`{name}`", name):
            text = text.replace(f"FROM {form} ", f"FROM plain_{name.replace('.', '_')} ").replace(
                f"JOIN {form} ", f"JOIN plain_{name.replace('.', '_')} "
            )
    engine.session.sql(text).write.mode("overwrite").parquet(str(path))


def changed(engine: Any, batch: Batch) -> None:
    """One batch, and what it makes due."""
    engine.apply_batch(batch)
    engine.tidy()


def run(spark: Any, name: str, rows: int, sizes: list[int], repeat: int) -> Iterator[str]:
    workload, random = WORKLOADS[name], Random(0)
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        db = loaded(spark, workload, rows, Path(folder) / "lake")
        yield f"{name}, {rows:,} rows: loaded in {perf_counter() - started:.1f} s"
        engine = db.state.running  # type: ignore[attr-defined]
        for _ in range(2):
            engine.apply_batch(workload.change(rows, 10, random))
            recompute(db, workload, Path(folder) / "anew")
        runs = [timed(spark, lambda: recompute(db, workload, Path(folder) / "anew")) for _ in range(repeat)]
        anew, anew_cpu = (median(column) for column in zip(*runs, strict=True))
        counters = Counters(spark)
        for size in (1, *sizes):
            runs, counted = [], {}
            for _ in range(repeat):
                batch = workload.change(rows, size, random)
                counters.since()
                runs.append(timed(spark, lambda batch=batch: changed(engine, batch)))
                counted = counters.since()
            change, change_cpu = (median(column) for column in zip(*runs, strict=True))
            told = ", ".join(f"{value:,} {what}" for what, value in counted.items())
            ratio = f"{change * 1000:7.0f} ms, anew {anew * 1000:7.0f} ms: {anew / change:6.1f}×"
            ratio += f", by CPU {anew_cpu / max(change_cpu, 0.01):6.1f}×"
            yield f"  change of {size:>6,}: {ratio}   ({told})"
        db.close()


def main() -> None:
    """Print the tables."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--changes", default="100,1000,10000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for name in WORKLOADS:
        if args.only in name:
            for rows in map(int, args.rows.split(",")):
                for line in run(spark, name, rows, list(map(int, args.changes.split(","))), args.repeat):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
