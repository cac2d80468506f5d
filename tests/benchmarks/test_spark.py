"""The benchmark of views on Spark, where it says nothing but that it runs, and that the views are right."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nestling as nl
from benchmarks.parts.agreeing import counted, disagreeing
from benchmarks.parts.on_spark import cpu_seconds
from benchmarks.spark import Asked, Found, goals, run
from benchmarks.workloads.tpch_files import is_there


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.skipif(not is_there(), reason="tpchgen-cli is not installed")
def test_every_part_is_measured(spark, tmp_path):
    views = ["group-join", "nested"]
    asked = Asked([1, 20], sync=10, batches=1, views=views)
    found = run(spark, 0.001, tmp_path, asked)

    assert found.orders == 1500
    assert [*found.load] == ["customers", "orders"]
    assert [*found.backfill] == views
    assert [*found.read] == ["nested"]
    assert [*found.changes] == ["1 orders", "20 orders", "sync, 10 differ"]
    assert all(cost.cpu >= 0 and cost.wall > 0 for cost in found.changes.values())
    assert found.row is not None
    assert len(found.row.costs) == 1
    assert found.row.came > 0
    assert found.row.written > 0
    assert len(goals(found)) == 2 + 2 + 1 + 1 + 3 + 1 + 2

    db: Any
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        assert disagreeing(spark, db, views) == []
        assert counted(db.table("orders").df().collect()) == _expected(spark, tmp_path)
        less = SimpleNamespace(table=db.table, view_df=lambda name: db.view_df(name).limit(3))
        assert disagreeing(spark, less, views) == views


#: What a row of a change does to the table.
SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


def _expected(spark: Any, folder: Path) -> Counter[Any]:
    """The orders of the snapshot that the table was synchronised with, after the batch that came last."""
    (snapshot,) = folder.glob("snapshot *")
    last = max(folder.glob("change *"), key=lambda path: int(path.name.partition(" ")[2]))
    found = counted(spark.read.parquet(str(snapshot)).collect())
    for row in spark.read.parquet(str(last / "batch=0")).collect():
        (order,) = counted([tuple(row[:-1])])
        found[order] += SIGNS[row._change_type]
    return +found


def test_goals_of_nothing_are_about_bytes_alone():
    found = Found(orders=10, bytes=(6, 2))
    assert [(goal.measured, goal.met) for goal in goals(found)] == [(3.0, True)]


def test_cpu_of_this_process_grows():
    before = cpu_seconds()
    sum(i * i for i in range(2_000_000))
    assert cpu_seconds() > before
