"""Arrays in order on Spark: fed by rows and by frames, read by rows and as a frame, reopened."""

from collections import Counter
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from tests.frontends.sql.judge import exact
from tests.frontends.sql.worlds import TABLES

pytestmark = pytest.mark.xdist_group("spark")

VIEWS = {
    "whole": "SELECT * FROM l",
    "places": "SELECT id, p, t FROM l LATERAL VIEW posexplode_outer(tags) e AS p, t",
    "parts": "SELECT id, items[0] AS i, element_at(nums, -1) AS n, reverse(tags) AS r, grid[0] AS g FROM l",
    "kept": "SELECT id, filter(nums, (x, i) -> i <> 1) AS f, concat(nums, array(9)) AS c FROM l",
    "groups": "SELECT nums, tags, count(*) AS n FROM l GROUP BY nums, tags",
    "same": "SELECT a.id, b.id AS j FROM l a JOIN l b ON a.nums = b.nums",
}
ROWS: list[tuple[Any, ...]] = [
    (1, None, None, [], []),
    (2, ["b", None, "a", "b"], [(1, 2), None, (None, None)], [3, 1, 2], [[2, 1], []]),
    (3, [], [], [2, 1], [[]]),
    (4, ["b", None, "a", "b"], [None, None], [3, 1, 2], []),
    (5, ["a", "b"], None, [1, 2], [[1, 2, 3]]),
]


def rows_of(found: Any) -> Counter[Any]:
    return Counter(exact(tuple(row), in_order=True) for row in found)


@pytest.mark.parametrize("large", [False, True], ids=["few", "many"])
def test_arrays_in_order(spark, tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    ours: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    theirs = nl.Database()
    for db in (ours, theirs):
        db.table("l", TABLES["l"].ours, key="id", ordered=TABLES["l"].ordered)
        for name, query in VIEWS.items():
            db.view(name, query, strict=False)
    frame = spark.createDataFrame(ROWS[1:], TABLES["l"].spark)
    for db, some in ((ours, frame), (theirs, ROWS[1:])):
        db.insert("l", ROWS[:1])
        db.insert("l", some)
        db.delete("l", ROWS[3:4])
        db.update("l", key=5, set={"nums": [2, 1], "tags": ["b", "a"]})
    for name in VIEWS:
        expected = rows_of(theirs.views[name].rows())
        assert rows_of(ours.views[name].rows()) == expected, name
        assert rows_of(ours.view_df(name).collect()) == expected, name
    ours.verify()
    ours.close()

    with nl.Database(spark=spark, path=tmp_path / "lake") as again:
        assert rows_of(again.views["whole"].rows()) == rows_of(theirs.views["whole"].rows())
