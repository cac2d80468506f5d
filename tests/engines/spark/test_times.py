"""Times of the day on Spark: fed by rows and by frames, as keys, read by rows and as a frame, reopened."""

from datetime import time
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

ROWS = [(time(9, 30), 1, time(10, 0)), (time(12, 0, 0, 250_000), 2, None), (time(23, 59, 59), 1, time(10, 0))]


@pytest.mark.parametrize("large", [False, True], ids=["few", "many"])
def test_times_of_the_day(spark, tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    session = spark.newSession()
    session.conf.set("spark.sql.timeType.enabled", "true")
    ours: Any = nl.Database(spark=session, path=tmp_path / "lake")
    ours.table("t", "since TIME, n INT, till TIME NULL", key="since")
    view = ours.view("v", "SELECT till, count(*) AS n, max(since) AS m, hour(till) AS h FROM t GROUP BY till")
    ours.insert("t", ROWS[:1])
    ours.insert("t", session.createDataFrame(ROWS[1:], "since TIME, n INT, till TIME"))
    expected = {(time(10, 0), 2, time(23, 59, 59), 10), (None, 1, time(12, 0, 0, 250_000), None)}

    assert set(map(tuple, view.rows())) == expected
    assert set(map(tuple, ours.view_df("v").collect())) == expected
    ours.delete("t", key=time(23, 59, 59))
    assert (time(10, 0), 1, time(9, 30), 10) in set(map(tuple, view.rows()))
    ours.verify()
    ours.close()
    with nl.Database(spark=session, path=tmp_path / "lake") as again:
        assert again.table("t")[time(9, 30)] == ROWS[0]
