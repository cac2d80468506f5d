"""Views on Spark through the public door, beside plain Spark that computes and writes them anew.

Run: ``python benchmarks/spark.py [--scale 1] [--changes 1,100,1000,10000,100000] [--repeat 3] [--sync 1000]
[--batches 200] [--cold] [--unread]``.

TPC-H's customers and orders, line items nested in their orders (``workloads/tpch_orders``), five views in one
database: an insertion of each table from a DataFrame beside a plain sorted write; the definition of each view over the
rows that are there beside a plain job that computes and writes it; a nested view written out beside that job; then
changes of so many orders by ``apply`` with a DataFrame, and a ``sync``, beside plain jobs for all five; and batches in
a row. Both sides run in one session with the settings that Spark has by itself, and both are warmed up on a small
scale first: Java compiles what runs often, and while it does that costs more than the rows. What the driver would do
by itself there, since there is little, goes to Spark. CPU is that of all processes together, which other work on the
machine changes less than time by the wall; a figure is the median of its runs, of a change of 10,000 orders or more
that of one. Every line is printed when it is known: a run that is cut off has said what it found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import nestling as nl
from benchmarks.parts.goals import Goal, show_goals
from benchmarks.parts.in_a_row import InARow, in_a_row
from benchmarks.parts.on_spark import COLUMNS, SETTINGS, Cost, Meter
from benchmarks.workloads.harness import show
from benchmarks.workloads.tpch_orders import PLAIN, VIEWS, Changes, declare, define, name_of, write_tables
from nestling.engine.spark import limits

#: Both sides are warmed up at this scale, and by changes of so many orders.
WARM, WARM_CHANGES = 0.01, (1, 2000)
#: From so many changed orders on a change is measured once.
ONCE = 10_000
#: The orders of a batch, of those in a row.
BATCH = 1000


@dataclass
class Found:
    """What was measured, by what was done; and how many orders there are."""

    orders: int = 0
    load: dict[str, tuple[Cost, Cost]] = field(default_factory=dict)
    backfill: dict[str, tuple[Cost, Cost]] = field(default_factory=dict)
    read: dict[str, tuple[Cost, Cost]] = field(default_factory=dict)
    anew: Cost = field(default_factory=lambda: Cost(0, 0))
    changes: dict[str, Cost] = field(default_factory=dict)
    bytes: tuple[int, int] = (0, 0)
    row: InARow | None = None


@dataclass(frozen=True)
class Asked:
    """What is measured: changes of so many orders, small ones so often; a sync; batches in a row; of which views."""

    sizes: Sequence[int]
    repeat: int = 1
    sync: int = 0
    batches: int = 0
    views: Sequence[str] = VIEWS
    #: Whether nested views are written out.
    reading: bool = True


def run(spark: Any, scale: float, folder: Path, asked: Asked) -> Found:
    """Everything once at one scale."""
    write_tables(spark, scale, folder)
    meter, changes, found = Meter(spark), Changes(spark, folder), Found()
    found.orders = len(changes.keys)
    tables = {name: spark.read.parquet(str(folder / name)) for name in ("customers", "orders")}
    for name, frame in tables.items():
        frame.createOrReplaceTempView(name)
    with nl.Database(spark=spark, path=folder / "lake") as db:
        declare(db)
        for name, frame in tables.items():
            plain = meter.of(_sorted, frame, folder / f"sorted {name}")
            found.load[name] = (meter.of(db.insert, name, frame), plain)
            _say(f"load of {name}", *found.load[name])
        for view in asked.views:
            plain = meter.of(_plain, spark, [view], folder)
            found.backfill[view] = (meter.of(define, db, view), plain)
            _say(f"definition of {view}", *found.backfill[view])
        for view in [view for view in asked.views if asked.reading and view in ("nested", "top 3")]:
            plain = meter.of(_plain, spark, [view], folder)
            found.read[view] = (meter.of(_read, db, view, folder / f"read {view}"), plain)
            _say(f"view_df of {view}", *found.read[view])
        found.anew = _median([meter.of(_plain, spark, asked.views, folder) for _ in range(asked.repeat)])
        found.bytes = (_bytes(folder / "lake"), sum(_bytes(folder / name) for name in tables))
        for size in asked.sizes:
            often = asked.repeat if size < ONCE else 1
            if size * often > len(changes.keys):
                continue
            some = [changes.next(size) for _ in range(often)]
            found.changes[f"{size:,} orders"] = _median([meter.of(db.apply, {"orders": b}) for b in some])
            _say(f"change of {size:,}", found.changes[f"{size:,} orders"], found.anew)
        if sync := asked.sync:
            snapshot = changes.snapshot(db.table("orders").df, sync)
            found.changes[f"sync, {sync:,} differ"] = meter.of(db.sync, "orders", snapshot)
            _say(f"sync, {sync:,} differ", found.changes[f"sync, {sync:,} differ"], found.anew)
        if batches := min(asked.batches, len(changes.keys) // BATCH):
            found.row = in_a_row(meter, db, folder / "lake", changes.many(batches, BATCH))
            print(f"  {_told(found.row)}", flush=True)
        with by_spark():  # the reference would go through all pairs of orders and customers
            db.verify()
    return found


def _sorted(frame: Any, place: Path) -> None:
    frame.sort(frame.columns[0]).write.mode("overwrite").parquet(str(place))


def _read(db: Any, view: str, place: Path) -> None:
    db.view_df(name_of(view)).write.mode("overwrite").parquet(str(place))


def _plain(spark: Any, views: Sequence[str], folder: Path) -> None:
    for view in views:
        spark.sql(PLAIN[view]).write.mode("overwrite").parquet(str(folder / f"plain {view}"))


def _median(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def _say(what: str, ours: Cost, plain: Cost) -> None:
    line = ", ".join(f"{value} {unit}" for value, unit in zip(ours.row(), COLUMNS, strict=True))
    print(f"  {what}: {line}; plain Spark {plain.cpu:.2f} CPU s, {plain.wall:.2f} wall s", flush=True)


def _told(row: InARow) -> str:
    cpu, wall = (lambda cost: cost.cpu), (lambda cost: cost.wall)
    return (
        f"{len(row.costs)} batches of {BATCH:,}: CPU s median {row.at(0.5, cpu):.2f}, 99th percentile"
        f" {row.at(0.99, cpu):.2f}; wall s {row.at(0.5, wall):.2f}, {row.at(0.99, wall):.2f}; merging"
        f" {row.share_of_merging:.1%} of all CPU; {row.came / 1e6:.1f} MB came, {row.written / 1e6:.1f} MB written"
    )


def goals(found: Found) -> list[Goal]:
    """What is to hold, beside what was measured."""
    told = [
        Goal(f"load of {n}: ours / a plain sorted write", o.cpu / p.cpu, 3, unit="×")
        for n, (o, p) in found.load.items()
    ]
    told += [
        Goal(f"{n}: definition / a plain job", o.cpu / p.cpu, 3, unit="×")
        for n, (o, p) in found.backfill.items()
    ]
    told += [
        Goal(f"{n}: view_df / a plain job", o.cpu / p.cpu, 1.5, unit="×") for n, (o, p) in found.read.items()
    ]
    told.append(
        Goal("stored bytes / those of the Parquet that came", found.bytes[0] / found.bytes[1], 3, unit="×")
    )
    for what, cost in found.changes.items():
        ratio = found.anew.cpu / max(cost.cpu, 0.01)
        share = int(what.partition(" ")[0].replace(",", "")) / found.orders if what[0].isdigit() else 1.0
        bound = 10 if share <= 0.001 else 3 if share <= 0.011 else 1 / 1.2
        told.append(
            Goal(f"{what}: five anew / change", ratio, bound, at_least=True, unit="×", remark=f"{share:.2%}")
        )
    if found.row is not None:
        told.append(Goal("bytes written per byte that came", found.row.amplification, 8, unit="×"))
    one = found.changes.get("1 orders")
    if one is not None:
        told.append(Goal("one order for five views, by the wall", one.wall, 0.2, unit=" s"))
        told.append(Goal("one order for five views, jobs", one.jobs, 0))
    return told


def report(found: Found, scale: float) -> None:
    """Print the tables."""
    rows = [[f"load of {n}", *o.row(), f"{p.cpu:,.2f}"] for n, (o, p) in found.load.items()]
    rows += [[f"definition: {n}", *o.row(), f"{p.cpu:,.2f}"] for n, (o, p) in found.backfill.items()]
    rows += [[f"view_df: {n}", *o.row(), f"{p.cpu:,.2f}"] for n, (o, p) in found.read.items()]
    rows += [[what, *cost.row(), f"{found.anew.cpu:,.2f}"] for what, cost in found.changes.items()]
    show(
        f"Five views, TPC-H at scale {scale:g}: {found.orders:,} orders",
        ["what", *COLUMNS, "plain CPU s"],
        rows,
        plain=True,
    )
    if found.row is not None:
        print(_told(found.row))
    show_goals(goals(found))


@contextmanager
def by_spark() -> Iterator[None]:
    """A block in which Spark does what the driver would do by itself, since there is little."""
    names = ("MAX_DRIVER_ROWS", "MAX_TRANSACTION_ROWS")
    before = [getattr(limits, name) for name in names]
    try:
        limits.MAX_DRIVER_ROWS, limits.MAX_TRANSACTION_ROWS = 0, 500
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(limits, name, value)


def main() -> None:
    """Warm up, measure, report."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--changes", default="1,100,1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sync", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument(
        "--cold", action="store_true", help="do not warm up: figures have Java's compiler in them"
    )
    parser.add_argument("--unread", action="store_true", help="write no view out")
    args = parser.parse_args()
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    sizes = list(map(int, args.changes.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        for place in ("warm", "measured"):
            (Path(folder) / place).mkdir()
        if not args.cold:
            print("warming up", flush=True)
            with by_spark():
                run(spark, WARM, Path(folder) / "warm", Asked(WARM_CHANGES, sync=args.sync // 10))
        print(f"scale {args.scale:g}", flush=True)
        asked = Asked(sizes, args.repeat, args.sync, args.batches, reading=not args.unread)
        found = run(spark, args.scale, Path(folder) / "measured", asked)
    report(found, args.scale)


if __name__ == "__main__":
    main()
