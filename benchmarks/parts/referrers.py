"""One object with a million referrers on Spark: what its rename shuffles, at once and where it waits for a reading."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nestling as nl
from benchmarks.parts.goals import Goal
from benchmarks.parts.on_spark import COLUMNS, SETTINGS, Cost, Meter
from benchmarks.workloads.harness import show

REFERRERS, OTHERS = 1_000_000, 200_000
TEXT = "select struct(no: o.no, name: o.customer.name) from o in orders"
#: Updates of one attribute between two readings.
UPDATES = 10
#: Where they wait for a reading.
WAITING = ("lazy", "hybrid")


def renames(quick: bool) -> list[Goal]:
    """The rename of an object that a million others refer to; ten of them before a reading."""
    referrers, others = (2_000, 500) if quick else (REFERRERS, OTHERS)
    spark = _session()
    found: dict[str, Cost] = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for refresh, store in (
                ("eager", "full"),
                ("eager", "auto"),
                ("lazy", "full"),
                ("hybrid", "full"),
            ):
                place = Path(folder) / f"{refresh} {store}"
                found |= _measured(spark, place, referrers, others, refresh, store)
                print(f"{refresh}, {store}: done", flush=True)
    finally:
        spark.stop()
    rows = [[what, *cost.row(), f"{cost.rows:,}"] for what, cost in found.items()]
    title = f"An object with {referrers:,} referrers, and {others:,} rows that refer to another one"
    show(title, ["what", *COLUMNS, "rows shuffled"], rows, plain=True)
    share = found["rename, eager, full"].rows / (2 * referrers)
    waiting = {refresh: found[f"{UPDATES} renames, {refresh}, full"] for refresh in WAITING}
    return [
        Goal("rename on Spark: rows shuffled / rows that go and come", share, 1.01, unit="×"),
        *(
            Goal(f"{refresh} on Spark: rows shuffled by {UPDATES} renames", cost.rows, 0)
            for refresh, cost in waiting.items()
        ),
    ]


def _session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in (SETTINGS | {"spark.driver.memory": "3g"}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _measured(
    spark: Any, place: Path, referrers: int, others: int, refresh: str, store: str
) -> dict[str, Cost]:
    """Rename the object once, and where updates wait ten times; what a reading costs after each."""
    way, meter = f"{refresh}, {store}", Meter(spark)
    with nl.Database(place, spark=spark) as db:
        db.table("customers", {"id": int, "name": str}, key="id")
        db.table("orders", {"no": int, "customer": int}, key="no", references={"customer": "customers"})
        db.insert("customers", [(1, "Ada"), (2, "Bo")])
        numbers = spark.range(referrers + others)
        db.insert("orders", numbers.selectExpr("id AS no", f"IF(id < {referrers}, 1, 2) AS customer"))
        db.view("names", TEXT, language="oql", refresh=refresh, store=store)

        def read() -> None:
            found = db.view_df("names").groupBy("name").count().collect()
            assert {row["count"] for row in found} == {referrers, others}, found

        def rename(*names: str) -> None:
            for name in names:
                db.update("customers", key=1, set={"name": name})

        read()
        found = {
            f"rename, {way}": meter.of(rename, "Eve"),
            f"reading after one rename, {way}": meter.of(read),
        }
        if refresh in WAITING:
            names = [f"name {i}" for i in range(UPDATES)]
            found[f"{UPDATES} renames, {way}"] = meter.of(rename, *names)
            found[f"reading after {UPDATES} renames, {way}"] = meter.of(read)
        return found
