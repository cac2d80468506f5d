"""What is refused on Spark before anything runs there: as embedded, and nothing is changed."""

from datetime import datetime

import numpy as np
import pandas as pd
import pytest

import nestling as nl
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


def test_a_moment_of_a_dataframe_is_taken_in_utc(opened, session):
    db = opened()
    db.table("T", {"at": datetime})
    frame = session.sql("SELECT timestamp_seconds(0) AS at")
    db.insert("T", frame)
    db.insert("T", session.sql("SELECT TIMESTAMP_NTZ'2024-05-01 10:00:00' AS at"))
    with pytest.raises(nl.ChangeError, match="takes datetime"):
        db.insert("T", [(pd.Timestamp(0, tz="UTC"),)])

    assert sorted(db.table("T")) == [(datetime(1970, 1, 1),), (datetime(2024, 5, 1, 10),)]
