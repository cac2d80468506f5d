"""Times of the day in tables: taken, refused, kept in files, given to Arrow."""

from datetime import UTC, time

import pytest

import nestling as nl


def test_times_are_values_like_others(tmp_path):
    with nl.Database(tmp_path / "a.nest") as db:
        db.table("t", {"k": int, "since": time, "till": time | None}, key="k")
        view = db.view("v", "SELECT since, count(till) AS n FROM t GROUP BY since")
        db.insert("t", [(1, time(9, 30), None), (2, time(9, 30), time(10, 0, 0, 5))])
        assert list(map(tuple, view)) == [(time(9, 30), 1)]
    with nl.Database(tmp_path / "a.nest") as db:
        assert db.table("t")[2] == (2, time(9, 30), time(10, 0, 0, 5))
        assert str(db.table("t").to_arrow().schema.field("since").type) == "time64[us]"
        assert [row.k for row in db.view("late", lambda t: [r for r in t if r.since > time(9, 0)])] == [1, 2]
        with pytest.raises(nl.ChangeError, match="time zone"):
            db.insert("t", [(3, time(9, 30, tzinfo=UTC), None)])
        with pytest.raises(nl.ChangeError, match="takes time"):
            db.insert("t", [(3, "09:30", None)])
        db.verify()


def test_a_time_beyond_midnight_is_refused():
    db = nl.Database()
    db.sql("CREATE TABLE t (till TIME NOT NULL)")
    db.view("later", "SELECT till + INTERVAL '1' HOUR AS x FROM t")
    db.insert("t", [(time(22, 0),)])
    with pytest.raises(nl.ChangeError):
        db.insert("t", [(time(23, 30),)])
    assert [tuple(row) for row in db.views["later"]] == [(time(23, 0),)]
