"""The life of a change on Spark: the modules that the page names run."""

import pytest

from nestling.engine.spark import limits
from tests.architecture.test_pages import LIFE, entered, insertion, shop, steps


@pytest.mark.xdist_group("spark")
def test_the_life_of_a_change_on_spark(spark, tmp_path, monkeypatch):
    with shop(spark=spark, path=tmp_path / "lake") as db:
        db.view(
            "totals",
            "SELECT o.id, sum(i.qty * p.price) AS cents FROM orders o LATERAL VIEW explode(o.items) t AS i"
            " JOIN products p ON p.pid = i.pid GROUP BY o.id",
        )
        on_driver = entered(insertion(db))
        monkeypatch.setattr(limits, "MAX_DRIVER_VALUES", -1)
        by_job = entered(insertion(db))

    assert steps(LIFE, "On Spark: the same insert, on the driver") - on_driver == set()
    assert steps(LIFE, "On Spark: the same insert, by a job") - by_job == set()
