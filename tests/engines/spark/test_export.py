"""Tables and views on Spark as files, and back."""

import pytest

import nestling as nl
from tests.database.habits import DDL, ROWS, shop

pytestmark = pytest.mark.xdist_group("spark")


def test_files_of_spark_hold_what_was_written(opened, session, tmp_path):
    db = opened()
    orders = shop(db)
    copy = db.table("copy", DDL, key="id")
    for suffix in (".parquet", ".jsonl"):
        assert db.export("orders", tmp_path / f"orders{suffix}") == 2
        db.load(copy, tmp_path / f"orders{suffix}")
        assert sorted(copy) == ROWS
        copy.sync([])
    assert sorted(session.read.parquet(str(tmp_path / "orders.parquet")).columns) == [
        "customer",
        "id",
        "items",
    ]
    embedded = nl.Database()
    embedded.table("orders", DDL, key="id")
    embedded.load("orders", tmp_path / "orders.parquet")
    assert sorted(embedded.table("orders")) == ROWS, "a folder of Spark's is read without it"
    with pytest.raises(nl.QueryError, match="the changes of a table are not kept"):
        db.export("orders", tmp_path / "feed", mode="changes")
    db.keep_changes("spend")
    assert db.export("spend", tmp_path / "feed", mode="changes") == 2
    assert db.export("spend", tmp_path / "feed", mode="changes") == 0
    orders.delete(key=1)
    orders.insert([(3, "cy", [(1, 1)])])
    assert db.export(db.views["spend"], tmp_path / "feed", mode="changes") == 2
    totals = db.table("totals", db.views["spend"].schema)
    db.load(totals, tmp_path / "feed", mode="changes")
    assert sorted(totals) == sorted(db.views["spend"])
    with pytest.raises(nl.StoreError, match="there is no file"):
        db.load("copy", tmp_path / "nowhere.parquet")


def test_an_export_is_a_table_of_the_catalog(opened, session, tmp_path):
    """as the guide says: registered once, and refreshed after an export in its place"""
    db = opened()
    orders = shop(db)
    path = str(tmp_path / "spend.parquet")
    db.export("spend", path)
    session.catalog.createTable("nestling_spend", path, source="parquet")
    try:
        assert sorted(map(tuple, session.table("nestling_spend").collect())) == sorted(db.views["spend"])
        orders.delete(key=1)
        db.export("spend", path)
        session.catalog.refreshTable("nestling_spend")
        assert sorted(map(tuple, session.table("nestling_spend").collect())) == sorted(db.views["spend"])
    finally:
        session.sql("DROP TABLE nestling_spend")
