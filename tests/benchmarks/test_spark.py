"""The benchmark of views on Spark, where it says nothing but that it runs, and that the views are right."""

import pytest

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


def test_goals_of_nothing_are_about_bytes_alone():
    found = Found(orders=10, bytes=(6, 2))
    assert [(goal.measured, goal.met) for goal in goals(found)] == [(3.0, True)]


def test_cpu_of_this_process_grows():
    before = cpu_seconds()
    sum(i * i for i in range(2_000_000))
    assert cpu_seconds() > before
