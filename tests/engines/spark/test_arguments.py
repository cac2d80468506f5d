"""What is refused on Spark before anything runs there: as embedded, and nothing is changed."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.values.bag import ZBag

pytestmark = pytest.mark.xdist_group("spark")


def contents(db):
    return {name: sorted(table.rows()) for name, table in db.tables.items()}, db.version, list(db.views)


CHANGES = [
    (lambda db: db.insert("T", None), "rows are not None"),
    (lambda db: db.insert("T", "ab"), "rows are not 'ab'"),
    (lambda db: db.insert("T", {"a": 1}), "one row is a list of one"),
    (lambda db: db.insert("T", ZBag.of((5, None))), "a Z-bag is given to db.apply"),
    (lambda db: db.insert([], []), r"there is no table \[\]"),
    (lambda db: db.insert("T", [(2, datetime(2024, 5, 1))]), "'b' takes int"),
    (lambda db: db.sync("T", None), "rows are not None"),
    (lambda db: db.sync(5, []), "there is no table 5"),
    (lambda db: db.apply([]), "changes come by table"),
    (lambda db: db.apply({"T": 5}), "a change is a Z-bag or rows"),
    (lambda db: db.apply({"T": {(2, 2): 1.5}}), "a whole number of times"),
    (lambda db: db.apply({"T": {(2, 2): True}}), "a whole number of times"),
    (lambda db: db.apply({"T": {(2, 2): 10**30}}), "so many times"),
    (lambda db: db.apply({"T": {(2, 2): np.float64(1)}}), "a whole number of times"),
    (lambda db: db.delete("T"), "exactly one of rows, where and key"),
    (lambda db: db.delete("T", [], key=1), "exactly one of rows, where and key"),
    (lambda db: db.delete("T", where="a = 1", key=1), "exactly one of rows, where and key"),
    (lambda db: db.delete("T", key=None), "T has no row with key None"),
    (lambda db: db.update("T", key=1, set=5), "new values come by column"),
    (lambda db: db.table(5, {"a": int}), "is a str, not 5"),
    (lambda db: db.view(5, "SELECT a FROM T"), "is a str, not 5"),
    (lambda db: db.view("x", 5), "a query is a function or a text, not 5"),
    (lambda db: db.constraint(5, "SELECT a FROM T"), "is a str, not 5"),
    (lambda db: db.sql(5), "SQL is a str, not 5"),
    (lambda db: db.drop(5), "is a str, not 5"),
    (
        lambda db: db.view("x", "SELECT " + "(" * 1_000 + "a" + ")" * 1_000 + " AS x FROM T"),
        "nested too deeply",
    ),
]


AFTERWARDS = [
    lambda db: db.insert("T", []),
    lambda db: db.delete("T", where="a = 1"),
    lambda db: db.apply({}),
    lambda db: db.sync("T", []),
    lambda db: db.sql("SELECT a FROM T"),
    lambda db: db.table("T"),
    lambda db: db.views,
    lambda db: db.view_df("T"),
    lambda db: db.publish(),
    lambda db: db.stats(),
    lambda db: db.verify(),
]


def test_wrong_arguments_are_refused_and_a_closed_database_says_so(opened):
    db = opened()
    table = db.table("T", {"a": int, "b": int | None}, key="a")
    db.insert("T", pd.DataFrame({"a": [1, 2], "b": [5, None]}))
    before = contents(db)
    assert before[0] == {"T": [(1, 5), (2, None)]}
    for wrong, message in CHANGES:
        with pytest.raises(nl.NestlingError, match=message):
            wrong(db)
    with pytest.raises(nl.ChangeError, match="no row with key None"), db.transaction() as change:
        change.delete("T", key=None)
    assert contents(db) == before

    db.close()
    for use in (*(lambda act=act: act(db) for act in AFTERWARDS), table.rows, table.df, lambda: len(table)):
        with pytest.raises(nl.NestlingError, match="closed"):
            use()
    db.close()


@pytest.mark.parametrize("large", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_moment_is_taken_in_utc(opened, session, monkeypatch, zone, large):
    """of a frame whatever the zone of its session is; one that has no zone stays as it is"""
    if large:
        monkeypatch.setattr(limits, "MAX_TRANSACTION_ROWS", 0)
    theirs = session.newSession()
    theirs.conf.set("spark.sql.session.timeZone", zone)
    db = opened()
    db.table("T", {"n": int, "at": datetime, "all": [datetime]}, key="n")
    view = db.view("v", "SELECT n, at, hour(at) AS h FROM T")
    aware, plain = datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=2))), datetime(2024, 5, 1, 10)
    stamp = pd.Timestamp("2024-05-01 10:00", tz="Europe/Berlin")
    db.insert(
        "T", theirs.sql("SELECT 1 AS n, timestamp_seconds(0) AS at, array(timestamp_seconds(0)) AS all")
    )
    db.insert("T", theirs.createDataFrame([(2, aware, [aware])], "n INT, at TIMESTAMP, all ARRAY<TIMESTAMP>"))
    db.insert(
        "T",
        theirs.createDataFrame([(3, plain, [plain])], "n INT, at TIMESTAMP_NTZ, all ARRAY<TIMESTAMP_NTZ>"),
    )
    db.insert("T", [(4, aware, [aware]), (5, stamp, [stamp]), (6, plain, [plain])])
    db.insert("T", pd.DataFrame({"n": [7], "at": [stamp], "all": [[stamp]]}))

    epoch, early = datetime(1970, 1, 1), datetime(2024, 5, 1, 8)
    stored = {1: epoch, 2: early, 3: plain, 4: early, 5: early, 6: plain, 7: early}
    assert sorted(db.table("T")) == [(n, at, [at]) for n, at in stored.items()]
    assert sorted(view.rows()) == [(n, at, at.hour) for n, at in stored.items()]
    assert sorted(map(tuple, db.view_df("v").collect())) == [(n, at, at.hour) for n, at in stored.items()]
    assert sorted(map(tuple, opened().table("T"))) == [(n, at, [at]) for n, at in stored.items()]
