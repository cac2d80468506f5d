"""Streams: every micro-batch is applied once, across stops and restarts; a bad one stops it and changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

import nestling as nl
from nestling.errors import ChangeError, QueryError

pytestmark = pytest.mark.xdist_group("spark")

MOVIES = "name STRING, gen STRING"
ORDERS = "id BIGINT, movie STRING, seats ARRAY<STRUCT<row: BIGINT, n: BIGINT>>, _change_type STRING"


def arrive(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """A file that a stream has not seen, there at once."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / f"{name}.json")


def source(spark: Any, folder: Path, schema: str) -> Any:
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def opened(spark: Any, path: Path) -> Any:
    db = nl.Database(spark=spark, path=path / "lake")
    db.table("M", {"name": str, "gen": str}, key="name")
    db.table("orders", "id INT, movie STRING, seats ARRAY<STRUCT<row: INT, n: INT>>", key="id",
             references={"movie": "M"})  # fmt: skip
    db.view("seats", "[(m.gen, sum(s.n for o in orders if o.movie == m.name for s in o.seats)) for m in M]",
            language="python")  # fmt: skip
    return db


def failing() -> bool:
    raise RuntimeError("after the commit")


def test_batches_are_applied_once_across_restarts(spark, tmp_path, monkeypatch):
    """two tables, one a change feed; stopped, failed after it was stored, reopened, and run again as after a crash"""
    db = opened(spark, tmp_path)
    sources = {
        "orders": source(spark, tmp_path / "orders", ORDERS),
        "M": source(spark, tmp_path / "movies", MOVIES),
    }
    arrive(tmp_path / "movies", "1", [{"name": "Rush", "gen": "Action"}, {"name": "Ali", "gen": "Drama"}])
    arrive(tmp_path / "orders", "1", [
        {"id": 1, "movie": "Rush", "seats": [{"row": 1, "n": 2}, {"row": 2, "n": 1}], "_change_type": "insert"},
    ])  # fmt: skip
    stream = db.stream(sources)
    stream.processAllAvailable()
    assert db.version == 1
    assert stream.isActive
    assert stream.exception() is None
    assert sorted(db.views["seats"]) == [("Action", 3), ("Drama", 0)]
    with pytest.raises(QueryError, match="is running"):
        db.stream(sources)
    with pytest.raises(QueryError, match="in use by this process"):
        db.stream(sources, name="other", checkpoint=tmp_path / "lake" / "streams" / "stream")
    stream.stop()
    assert not stream.isActive
    arrive(tmp_path / "orders", "2", [
        {"id": 1, "movie": "Rush", "seats": [{"row": 2, "n": 1}, {"row": 1, "n": 2}],
         "_change_type": "update_preimage"},
        {"id": 1, "movie": "Ali", "seats": [{"row": 1, "n": 2}], "_change_type": "update_postimage"},
    ])  # fmt: skip
    monkeypatch.setattr(db._state.running, "tidy", failing)
    with pytest.raises(Exception, match="after the commit"):
        db.stream(sources).processAllAvailable()
    monkeypatch.undo()
    assert db.version == 2
    stream = db.stream(sources)
    stream.processAllAvailable()
    answer = [("Action", 0), ("Drama", 2)]
    assert sorted(db.views["seats"]) == answer
    db.close()

    # As if Spark had not heard of the last batch.
    (tmp_path / "lake" / "streams" / "stream" / "commits" / "1").unlink()
    (tmp_path / "lake" / "streams" / "stream" / "commits" / ".1.crc").unlink()
    db = opened(spark, tmp_path)
    stream = db.stream(sources)
    stream.processAllAvailable()
    assert db.version == 2
    assert sorted(db.views["seats"]) == answer
    db.close()


def test_what_is_refused_stops_the_stream(spark, tmp_path):
    """and changes nothing; a checkpoint that is not the stream's own is refused too"""
    db = opened(spark, tmp_path)
    movies = {"M": source(spark, tmp_path / "movies", MOVIES)}
    arrive(tmp_path / "movies", "1", [{"name": "Rush", "gen": "Action"}])
    stream = db.stream(movies, trigger={"availableNow": True})
    assert stream.awaitTermination()
    arrive(tmp_path / "movies", "2", [{"name": "Ali", "gen": "Drama"}, {"name": "Rush", "gen": "Drama"}])
    stream = db.stream(movies)
    with pytest.raises(ChangeError, match="M already has a row with key 'Rush'"):
        stream.processAllAvailable()
    assert isinstance(stream.exception(), ChangeError)
    assert not stream.isActive
    assert db.version == 1
    assert list(db.table("M")) == [("Rush", "Action")]

    with pytest.raises(ChangeError, match="another checkpoint"):
        db.stream(movies, checkpoint=tmp_path / "elsewhere")
    with pytest.raises(QueryError, match="no streaming DataFrame"):
        db.stream({"M": spark.createDataFrame([("a", "b")], MOVIES)})
    with pytest.raises(QueryError, match="no table 'N'"):
        db.stream({"N": movies["M"]})
    db.close()


def test_bad_rows_go_to_a_table_of_their_own(spark, tmp_path):
    """each with its reason, once; the others are applied; what an update takes away stays with what it puts there"""
    db = opened(spark, tmp_path)
    db.insert("M", [("Heat", "Crime")])
    db.insert("orders", [(1, "Heat", []), (2, "Heat", [])])
    sources = {
        "M": source(spark, tmp_path / "movies", MOVIES),
        "orders": source(spark, tmp_path / "orders", ORDERS),
    }
    arrive(tmp_path / "movies", "1", [
        {"name": "Ali", "gen": "Drama"}, {"name": "Heat", "gen": "Again"}, {"name": "Rush"}, {"gen": "None"},
        {"name": "Ali", "gen": "Twice"},
    ])  # fmt: skip
    arrive(tmp_path / "orders", "1", [
        {"id": 1, "movie": "Heat", "seats": [], "_change_type": "update_preimage"},
        {"id": 1, "movie": "Heat", "seats": [{"row": None, "n": 2}], "_change_type": "update_postimage"},
        {"id": 2, "movie": "Heat", "seats": [], "_change_type": "update_preimage"},
        {"id": 2, "movie": "Ali", "seats": [{"row": 1, "n": 2}], "_change_type": "update_postimage"},
        {"id": 3, "movie": "Ali", "seats": [], "_change_type": "delete"},
    ])  # fmt: skip
    stream = db.stream(sources, trigger={"availableNow": True}, bad_rows="refused")
    assert stream.awaitTermination()
    assert stream.exception() is None
    assert sorted(row.name for row in db.table("M")) == ["Ali", "Heat"]
    assert sorted((row.id, row.movie, len(row.seats)) for row in db.table("orders")) == [
        (1, "Heat", 0),
        (2, "Ali", 1),
    ]
    found = [(row.source, json.loads(row.row), row.times, row.why) for row in db.table("refused")]
    assert sorted((row["name"] or "", times) for source, row, times, _ in found if source == "M") == [
        ("", 1), ("Ali", 1), ("Heat", 1), ("Rush", 1)
    ]  # fmt: skip
    assert sorted((row["id"], times) for source, row, times, _ in found if source == "orders") == [
        (1, -1), (1, 1), (3, -1)
    ]  # fmt: skip
    assert {row.stream for row in db.table("refused")} == {"stream"}
    assert [why for _, row, _, why in found if row.get("name") == "Heat"] == [
        "M already has a row with key 'Heat'"
    ]
    db.verify()
    db.stream(sources, trigger={"availableNow": True}, bad_rows="refused").awaitTermination()
    assert len(db.table("refused")) == len(found)
    db.close()


def test_other_tables_are_refused_before_the_start(spark, tmp_path):
    """one more, or another; in another order they are the same stream"""
    db = opened(spark, tmp_path)
    movies, orders = (
        source(spark, tmp_path / name, s) for name, s in (("movies", MOVIES), ("orders", ORDERS))
    )
    arrive(tmp_path / "movies", "1", [{"name": "Rush", "gen": "Action"}])
    db.stream({"M": movies}, trigger={"availableNow": True}).awaitTermination()
    with pytest.raises(
        QueryError, match=r"began with M, and is to go on with M, orders.*\nhint: .*second stream"
    ):
        db.stream({"M": movies, "orders": orders})
    (tmp_path / "lake" / "streams" / "stream" / "nestling-tables").unlink()
    with pytest.raises(QueryError, match="began with 1 tables"):
        db.stream({"M": movies, "orders": orders})
    db.stream({"M": movies, "orders": orders}, name="both", trigger={"availableNow": True}).stop()

    arrive(tmp_path / "films", "1", [{"name": "Ali", "gen": "Drama"}])
    films = source(spark, tmp_path / "films", MOVIES)
    db.stream({"orders": orders, "M": films}, name="two", trigger={"availableNow": True}).awaitTermination()
    arrive(tmp_path / "films", "2", [{"name": "Heat", "gen": "Crime"}])
    db.stream({"M": films, "orders": orders}, name="two", trigger={"availableNow": True}).awaitTermination()
    assert sorted(row.name for row in db.table("M")) == ["Ali", "Heat", "Rush"]
    db.close()


def test_a_checkpoint_of_another_stream_is_refused_before_the_start(spark, tmp_path):
    """of another name, or of a database that was begun anew"""
    db = opened(spark, tmp_path)
    movies = {"M": source(spark, tmp_path / "movies", MOVIES)}
    arrive(tmp_path / "movies", "1", [{"name": "Rush", "gen": "Action"}])
    stream = db.stream(movies, checkpoint=tmp_path / "place", trigger={"availableNow": True})
    stream.awaitTermination()
    stream.stop()
    with pytest.raises(QueryError, match=r"another stream's.*\nhint: .*of its own"):
        db.stream(movies, name="other", checkpoint=tmp_path / "place")
    with pytest.raises(ChangeError, match="was fed from another checkpoint"):
        db.stream(movies)
    assert db.version == 1
    db.close()
