"""A lake behind a scheme of Hadoop's that is no local path: all that a database does, done there."""

from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.engine.spark.hadoop import HadoopStore
from nestling.engine.spark.stores import store_of
from nestling.errors import StoreError
from nestling.storage.lake import Lake
from tests.engines.spark.mounted import mounted
from tests.storage.contract import CONTRACT
from tests.storage.test_stores import Writer, change, stored

SALES = "id INT, region STRING, items ARRAY<STRUCT<what: STRING, n: INT>>"
pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def address(spark: Any, tmp_path: Path) -> str:
    return mounted(spark, tmp_path / "mount")


@pytest.mark.parametrize("law", CONTRACT, ids=lambda law: law.__name__)
def test_the_store_of_hadoop_keeps_the_contract(spark, address, law):
    law(HadoopStore(f"{address}/lake", spark))


def test_who_opens_later_keeps_out_who_opened_before(spark, address):
    store = HadoopStore(f"{address}/lake", spark)
    first, second = Writer(store), Writer(store)
    first.add(1, True)
    for number in range(2, 30):
        second.add(number, number % 5 == 0)
    with pytest.raises(StoreError, match="taken over"):
        first.lake.append({"version": 2}, {"a": change(99)})
    assert stored(store) == [*range(1, 30)]


def shop(spark: Any, path: str) -> Any:
    db = nl.Database(spark=spark, path=path)
    db.table("sales", {"id": int, "region": str, "items": [{"what": str, "n": int}]}, key="id")
    db.view("sold", "SELECT region, count(*) AS n FROM sales GROUP BY region")
    db.view("nested", "[(s.region, [i.what for i in s.items if i.n > 1]) for s in sales]", language="python")
    db.view("late", "SELECT id FROM sales WHERE region = 'r1'", refresh="lazy")
    return db


def test_a_database_behind_a_scheme(spark, address, tmp_path, monkeypatch):
    """small and large changes, looked up by the driver and by Spark, flushed, merged, streamed, fed; opened again"""
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 3)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 10)
    monkeypatch.setattr(limits, "TIER_RUNS", 2)
    path = f"{address}/team/shop"
    monkeypatch.chdir(tmp_path)
    db = shop(spark, path)
    assert db.folder == path
    frame = spark.range(12_000).selectExpr(
        "id", "concat('r', id % 3) AS region", "array(struct('a' AS what, id % 4 AS n)) AS items"
    )
    db.insert("sales", frame)
    db.keep_changes("sold")
    for number in range(8):
        db.insert("sales", [(20_000 + number, "r1", [("b", 2)])])
        db.delete("sales", key=number)
    db.delete("sales", where="id % 100 = 7")
    db.publish("sold")
    expected = sorted(map(tuple, db.views["sold"]))
    assert sorted(map(tuple, spark.table("sold").collect())) == expected
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    (arriving / "1.json").write_text('{"id": 30000, "region": "r2", "items": []}\n')
    source = spark.readStream.schema("id BIGINT, region STRING, items ARRAY<STRUCT<what: STRING, n: BIGINT>>")
    stream = db.stream({"sales": source.json(str(arriving))}, trigger={"availableNow": True})
    stream.awaitTermination()
    db.verify()
    rows, late = sorted(map(tuple, db.views["sold"])), len(db.views["late"])
    version = db.version
    db.close()
    with shop(spark, path) as again:
        assert again.version == version
        assert sorted(map(tuple, again.views["sold"])) == rows
        assert len(again.views["late"]) == late
        assert again.view_df("sold", changes_since=1).count() > 0
        again.verify()
    assert not (tmp_path / "viewfs:").exists()
    assert {entry.name for entry in store_of(path, spark).list()} == {"data", "log", "streams"}


def test_a_place_that_is_not_ours_is_refused_and_stays_as_it_is(spark, address, tmp_path):
    (tmp_path / "mount" / "theirs").mkdir()
    (tmp_path / "mount" / "theirs" / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"not empty.*notes\.txt"):
        nl.Database(spark=spark, path=f"{address}/theirs")
    assert [path.name for path in (tmp_path / "mount" / "theirs").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("s3a://bucket/shop", "s3a"),
        ("nowhere://bucket/shop", "nowhere"),
        ("viewfs://nothing/shop", "viewfs"),
        ("hdfs:", "names no folder"),
        ("hdfs://127.0.0.1:1/shop", "127.0.0.1:1"),
    ],
)
def test_what_spark_cannot_reach_is_refused_by_name(spark, tmp_path, monkeypatch, path, said):
    monkeypatch.chdir(tmp_path)
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    for name in ("ipc.client.connect.max.retries", "ipc.client.connect.max.retries.on.timeouts"):
        settings.set(name, "0")
    with pytest.raises(StoreError, match=said) as error:
        nl.Database(spark=spark, path=path)
    assert error.value.hint
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_a_local_folder_is_that_folder(spark, tmp_path):
    shop(spark, (tmp_path / "my lake").as_uri()).close()
    assert [path.name for path in (tmp_path / "my lake").iterdir()] == ["log"]
    Lake(tmp_path / "my lake").close()


# -- readers


def test_a_reader_follows_and_an_older_version_is_read(spark, address, monkeypatch):
    """in another database object, without a lock; lazy and hybrid views are read, and nothing is written"""
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 2)
    path = f"{address}/shop"
    db = shop(spark, path)
    db.view("waits", "SELECT region, sum(id) AS s FROM sales GROUP BY region", refresh="hybrid")
    db.vacuum(keep=4)
    expected = {}
    reader: Any = nl.Database(spark=spark, path=path, readonly=True)
    assert list(reader.views["sold"]) == []
    for number in range(1, 9):
        db.insert("sales", [(number, f"r{number % 2}", [("b", number)])])
        expected[number] = sorted(map(tuple, db.views["sold"]))
    store = store_of(path, spark)
    before = store.list(deep=True)
    assert list(reader.views["sold"]) == []
    assert reader.follow() == 8 == reader.follow()
    assert sorted(map(tuple, reader.views["sold"])) == expected[8]
    assert sorted(reader.views["late"].rows()) == [(1,), (3,), (5,), (7,)]
    assert sorted(map(tuple, reader.views["waits"])) == [("r0", 20), ("r1", 16)]
    assert reader.view_df("nested").count() == 8
    reader.verify()
    refused = (
        lambda: reader.insert("sales", [(99, "r", [])]),
        lambda: reader.insert("sales", spark.createDataFrame([], SALES)),
        lambda: reader.delete("sales", where="id > 3"),
        lambda: reader.table("more", {"a": int}),
        lambda: reader.view("more", "SELECT id FROM sales"),
        lambda: reader.drop("sold"),
        lambda: reader.keep_changes("sold"),
        reader.vacuum,
        lambda: reader.stream({"sales": None}),
    )
    for act in refused:
        with pytest.raises(nl.NestlingError, match="open for reading only"):
            act()
    for version in range(4, 9):
        with db.as_of(version) as then:
            assert (then.version, sorted(map(tuple, then.views["sold"]))) == (version, expected[version])
            assert len(then.table("sales")) == version
            assert then.follow() == version
    assert store.list(deep=True) == before
    reader.close()
    db.vacuum(keep=0)
    with pytest.raises(StoreError, match=r"version 99 .* is not kept"):
        db.as_of(99).close()
    db.verify()
    db.close()


def test_two_databases_at_one_lake(spark, address):
    """who opens later takes over; who was there before is told by whom, reads on, and loses nothing"""
    path = f"{address}/shop"
    first = shop(spark, path)
    first.insert("sales", [(1, "r1", [])])
    second = shop(spark, path)
    second.insert("sales", [(2, "r1", [])])
    changes: list[Any] = [[(3, "r1", [])], spark.createDataFrame([(4, "r1", [])], SALES)]
    for rows in changes:
        with pytest.raises(StoreError, match=r"taken over by process \d+"):
            first.insert("sales", rows)
    assert sorted(row.id for row in first.table("sales")) == [1, 2]
    second.insert("sales", [(5, "r1", [])])
    second.verify()
    second.close()
    first.close()
    with shop(spark, path) as db:
        assert sorted(row.id for row in db.table("sales")) == [1, 2, 5]
        db.verify()
