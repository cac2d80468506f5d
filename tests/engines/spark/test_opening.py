"""Opening a database on Spark: the database, or an error that says why not, before anything is touched."""

import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest

import nestling as nl
from nestling.engine.spark import limits
from nestling.errors import NestlingError, QueryError, StoreError
from tests.storage.test_lake_folder import MINE, OLD, contents, mutants, put

pytestmark = pytest.mark.xdist_group("spark")


def old(path: Path) -> Path:
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(path)
    return path


def opened(spark: Any, path: Path) -> Any:
    return nl.Database(spark=spark, path=path)


# -- folders


def test_a_lake_of_format_1_opens_and_goes_on(spark, tmp_path):
    path = old(tmp_path / "lake")
    for number in range(2):
        with opened(spark, path) as db:
            assert db.version == 4 + number
            assert sorted(tuple(row) for row in db.table("docs"))[0] == (1, "Ada", ["x", "y", "y"])
            assert list(db.views["longest"]) == [("Ada", 2 + number)]
            assert list(db.views["lazy"]) == [(3,), (4,)][: 1 + number]
            assert db.view_df("longest", changes_since=2).count() == 3 + 2 * number
            db.verify()
            if not number:
                db.insert("docs", [(4, "Ada", [])])


def test_a_folder_of_the_user_is_left_alone(spark, tmp_path):
    put(tmp_path / "theirs", ("data/mine.parquet", "data/below/mine.parquet"))
    before = contents(tmp_path / "theirs")
    with pytest.raises(StoreError, match="not empty"):
        nl.Database(spark=spark, path=tmp_path / "theirs")
    with pytest.raises(StoreError, match="s3a"):
        nl.Database(spark=spark, path="s3a://bucket/shop")
    assert contents(tmp_path / "theirs") == before


def test_files_of_the_user_in_our_folder_stay(spark, tmp_path, monkeypatch):
    """when changes leave the log, files are summed, a feed is trimmed, and the folder is opened again"""
    monkeypatch.setattr(limits, "MAX_LOG_EPOCHS", 1)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 0)
    for number in range(2):
        with opened(spark, tmp_path / "lake") as db:
            put(tmp_path / "lake", MINE)
            db.table("T", {"a": int})
            db.view("v", "SELECT a, count(*) AS n FROM T GROUP BY a")
            db.keep_changes("v", versions=1)
            for n in range(2 - number):
                db.insert("T", [(n,), (number,)])
            db.verify()
            there = contents(tmp_path / "lake")
            assert [name for name in MINE if there.get(name) != name.encode()] == []


def test_a_stream_stays_in_its_folder(spark, tmp_path):
    with opened(spark, tmp_path / "lake") as db:
        db.table("T", {"value": int})
        source = spark.readStream.format("rate").load().select("value")
        for name in ("", "..", "../../outside", "a/b", "a\\b", "a\0b"):
            with pytest.raises(QueryError, match="name"):
                db.stream({"T": source}, name=name)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]


# -- sessions


def of_kind(module: str, **attributes: Any) -> Any:
    return type("SparkSession", (), {"__module__": module, **attributes})()


def like(spark: Any, **attributes: Any) -> Any:
    """A session like ``spark``, but for some attributes."""
    found: Any = object.__new__(type("Other", (type(spark),), attributes))
    vars(found).update({**vars(spark), **attributes})  # some are computed once and kept there
    return found


SESSIONS: dict[str, Callable[[Any], Any]] = {
    "no SparkSession": lambda spark: "local[2]",
    "'x' is no SparkSession": lambda spark: "x",
    "4.3 over Connect": lambda spark: of_kind(
        "pyspark.sql.connect.session", version="4.2.0", is_stopped=False
    ),
    "3.5.4": lambda spark: like(spark, version="3.5.4"),
    "runs on Spark 4.2 or 4.3": lambda spark: like(spark, version="4.4.0"),
    "stopped": lambda spark: like(spark, sparkContext=of_kind("x", _jsc=None)),
    "has been stopped": lambda spark: like(spark, sparkContext=None),
}


@pytest.mark.parametrize("what", SESSIONS)
def test_a_session_that_cannot_work_is_refused_before_a_folder_is_made(spark, tmp_path, what):
    with pytest.raises(QueryError) as error:
        nl.Database(spark=SESSIONS[what](spark), path=tmp_path / "lake")
    assert what in error.value.what
    assert error.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_database_on_spark_has_a_folder(spark):
    for path in (None, 5, b"lake"):
        with pytest.raises(QueryError, match="folder"):
            nl.Database(spark=spark, path=path)  # type: ignore[arg-type]


# -- what a lake says


def rewritten(path: Path, change: Callable[[Any], Any]) -> Path:
    """An old lake whose manifest says something else, with a valid checksum."""
    old(path)
    stored = json.loads((path / "CURRENT").read_text())
    del stored["format"]
    body = change(stored) or stored
    for epoch in (path / "log").iterdir():
        epoch.unlink()
    whole = {"lake": "nestling", "format": 2, "id": "0" * 32, "layout": "log data"}
    check = crc32(json.dumps(body, sort_keys=True).encode())
    (path / "CURRENT").write_text(json.dumps({**whole, "check": check, "body": body}))
    return path


def text_of(name: str, **parts: Any) -> Callable[[Any], None]:
    """Other parts for a definition."""

    def change(body: Any) -> None:
        for definition in body["definitions"]:
            if definition[:2] in (["table", name], ["view", name]):
                definition[2] = json.dumps(json.loads(definition[2]) | parts)

    return change


def swapped(body: Any) -> None:
    """Each of two tables has the files of the other."""
    relations = body["relations"]
    relations["table authors"], relations["table docs"] = relations["table docs"], relations["table authors"]


SENSELESS: dict[str, Callable[[Any], Any]] = {
    "a kind": lambda b: b["definitions"].append(["macro", "m", "{}"]),
    "a table twice": lambda b: b["definitions"].append(b["definitions"][0]),
    "a table after its references": lambda b: b["definitions"].reverse(),
    "a refresh": text_of("longest", refresh="sometimes"),
    "a store": text_of("longest", store="everywhere"),
    "a query": text_of("longest", query="for x in"),
    "a query that is no text": text_of("longest", query=5),
    "a query of no table": text_of("longest", query="for d in nowhere union sng⟨a: d.id⟩"),
    "a query of no column": text_of("longest", query="for d in docs union sng⟨a: d.nowhere⟩"),
    "a type": text_of("authors", record={"record": [["name", "complex"]]}),
    "no columns": text_of("authors", record=[]),
    "a key": text_of("authors", key=["nobody"]),
    "a reference of no column": text_of("docs", references=[[["nothing"], "authors"]]),
    "a feed of no view": lambda b: b["definitions"].append(["feed", "nothing", "[1, null]"]),
    "a feed of no versions": lambda b: b["definitions"][-1].__setitem__(2, '["x", -1]'),
    "a version": lambda b: b["note"].update(version="x"),
    "streams": lambda b: b["note"].update(streams=[1, 2]),
    "a batch": lambda b: b["note"].update(streams={"s": ["q", "first"]}),
    "a table that is stored and not declared": lambda b: b["definitions"].pop(0),
    "an inner bag of another name": text_of(
        "docs", record={"record": [["id", "int(32)"], ["author", "str"], ["w", {"bag": "str"}]]}
    ),
    "files of another table": swapped,
    "rows": lambda b: b["relations"]["table docs"].update(change_rows=7),
}


@pytest.mark.parametrize("what", SENSELESS)
def test_what_makes_no_sense_is_refused(spark, tmp_path, what):
    path = rewritten(tmp_path / "lake", SENSELESS[what])
    before = contents(path)
    with pytest.raises(StoreError) as error:
        nl.Database(spark=spark, path=path)
    assert error.value.hint
    assert contents(path) == before


def sampled(spark: Any, tmp_path: Path, number: int) -> None:
    """Any part of any definition replaced: the database, which can be read, or a StoreError."""
    with zipfile.ZipFile(OLD) as archive:
        definitions = json.loads(archive.read("CURRENT"))["definitions"]
    parsed = [[kind, name, json.loads(text)] for kind, name, text in definitions]
    found = [
        mutant for mutant in mutants(parsed) if isinstance(mutant, list) and all(map(is_definition, mutant))
    ]
    refused = 0
    for i, mutant in enumerate(Random(0).sample(found, number)):
        written = [[kind, name, json.dumps(text)] for kind, name, text in mutant]
        path = rewritten(tmp_path / str(i), partial(with_definitions, written))
        try:
            db = opened(spark, path)
        except StoreError:
            refused += 1
            continue
        with db, suppress(NestlingError):  # the rows that are there may be none of what is declared now
            db.verify()
    assert refused > number / 3


def with_definitions(definitions: Any, body: Any) -> Any:
    return body | {"definitions": definitions}


def is_definition(found: Any) -> bool:
    return isinstance(found, list) and len(found) == 3 and all(isinstance(part, str) for part in found[:2])


def test_some_senseless_definitions(spark, tmp_path):
    sampled(spark, tmp_path, 6)


@pytest.mark.soak
def test_many_senseless_definitions(spark, tmp_path):
    sampled(spark, tmp_path, 300)
