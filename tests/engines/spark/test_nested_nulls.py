"""What is NULL inside rows, and maps, on Spark: fed by rows and by frames, read by rows and as a frame, reopened."""

from collections import Counter
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from tests.frontends.sql.judge import exact
from tests.frontends.sql.worlds import TABLES

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("generated_code")]

VIEWS = {
    "whole": "SELECT * FROM d",
    "elements": "SELECT id, i, i.p FROM d LATERAL VIEW explode_outer(items) e AS i",
    "partners": "SELECT a.id, b.tags, b.loc, b.m FROM d a LEFT JOIN d b ON a.id = b.id + 1",
    "parts": "SELECT id, map_entries(m) AS e, m['a'] AS a, size(tags) AS s, filter(tags, t -> t <> 'a') AS f FROM d",
}
ROWS: list[tuple[Any, ...]] = [
    (1, None, None, None, None, {}),
    (
        2,
        ["a", None, "b"],
        [(1, 2), None, (None, None)],
        (5, ["u"]),
        {"a": 1, "b": None},
        {1: ["x", "y"], 2: []},
    ),
    (3, [], [], (None, None), {}, {0: []}),
    (4, ["a"], [None, None], (7, []), {"b": 2}, {}),
]


def rows_of(found: Any) -> Counter[Any]:
    return Counter(exact(tuple(row)) for row in found)


@pytest.mark.parametrize("large", [False, True], ids=["few", "many"])
def test_nulls_inside_rows_and_maps(spark, tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    ours: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    theirs = nl.Database()
    for db in (ours, theirs):
        db.table("d", TABLES["d"].ours, key="id")
        for name, query in VIEWS.items():
            db.view(name, query, strict=False)
    frame = spark.createDataFrame(ROWS[1:], TABLES["d"].spark)
    for db, some in ((ours, frame), (theirs, ROWS[1:])):
        db.insert("d", ROWS[:1])
        db.insert("d", some)
        db.delete("d", ROWS[3:])
    for name in VIEWS:
        expected = rows_of(theirs.views[name].rows())
        assert rows_of(ours.views[name].rows()) == expected, name
        assert rows_of(ours.view_df(name).collect()) == expected, name
    ours.verify()
    ours.close()

    with nl.Database(spark=spark, path=tmp_path / "lake") as again:
        assert rows_of(again.views["whole"].rows()) == rows_of(theirs.views["whole"].rows())


def test_a_frame_with_a_wrong_map_is_refused(spark, tmp_path):
    with nl.Database(spark=spark, path=tmp_path / "lake") as db:
        db.table("t", "id INT, m MAP<STRING, INT>, s STRUCT<a: INT> NULL", key="id")
        good = "id INT, m MAP<STRING, INT>, s STRUCT<a: INT>"
        with pytest.raises(nl.ChangeError):
            db.insert("t", spark.createDataFrame([(1, {"a": None}, None)], good))
        with pytest.raises(nl.ChangeError):
            db.insert("t", spark.createDataFrame([(1, None, None)], good))
        db.insert("t", spark.createDataFrame([(1, {"a": 1}, None)], good))
        assert [tuple(row) for row in db.table("t")] == [(1, {"a": 1}, None)]
