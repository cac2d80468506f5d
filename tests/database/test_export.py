"""Tables and views as files of other programs, and back."""

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nestling as nl
from tests.database.habits import ROWS, shop


@dataclass
class Rec:
    u: str


SCHEMA: dict[str, Any] = {
    "id": int, "ok": bool, "x": float, "d": Decimal, "s": str, "b": bytes, "day": date, "at": datetime,
    "took": timedelta, "maybe": int | None, "inner": {"a": int, "tags": list[str]}, "bags": list[list[int]],
    "words": dict[str, int], "numbers": dict[int, str], "some": list[int] | None, "rec": Rec | None,
}  # fmt: skip
VALUES: list[Any] = [
    (
        1, True, 0.1, Decimal("1.50"), "it's \u2028 \"x\"\n", b"\x00\xff", date(2024, 2, 29),
        datetime(2024, 2, 29, 1, 2, 3, 4), timedelta(days=-1, microseconds=3), None, (1, ["a", "a"]), [[1, 2], []],
        {"": 1, "k": 2}, {7: "x"}, None, None,
    ),
    (
        2, False, -1e300, Decimal(0), "", b"", date(1, 1, 1), datetime(9999, 12, 31), timedelta(0), 1 << 60,
        (0, []), [], {}, {}, [], ("y",),
    ),
]  # fmt: skip


def filled() -> nl.Database:
    db = nl.Database()
    db.table("t", SCHEMA, key="id").insert(VALUES)
    db.view("v", "SELECT * FROM t WHERE id > 0")
    return db


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@pytest.mark.parametrize("name", ["t", "v"])
def test_a_file_holds_what_was_written(suffix, name, tmp_path):
    db = filled()
    path = tmp_path / f"rows{suffix}"
    path.write_text("something else")
    assert db.export(name, path) == 2
    other = nl.Database()
    table = other.table("copy", SCHEMA, key="id")
    assert other.load("copy", path).version == 1
    assert sorted(table, key=lambda row: row.id) == sorted(db.table("t"), key=lambda row: row.id)
    assert [file.name for file in tmp_path.iterdir()] == [path.name], "nothing is left beside it"


@pytest.mark.parametrize("folder", ["feed", "feed.jsonl"])
@pytest.mark.parametrize("name", ["orders", "spend"])
def test_a_folder_of_changes_adds_up_to_what_there_is(folder, name, tmp_path):
    path, feed = tmp_path / "shop.nest", tmp_path / folder
    with nl.Database(path) as db:
        shop(db)
        assert db.export(name, feed, mode="changes") == 2
        assert db.export(name, feed, mode="changes") == 0
        db.table("orders").at(2).items.insert([(9, 9)])
        db.delete("orders", key=1)
    with nl.Database(path) as db:
        assert db.export(name, feed, mode="changes") == 3, "a row that goes, and one in the place of another"
        db.insert("orders", ROWS[:1])
        db.export(db.tables.get(name) or db.views[name], feed, mode="changes")
        assert len(list(feed.iterdir())) == 3
        other = nl.Database()
        schema = (db.tables.get(name) or db.views[name]).schema
        copy = other.table("copy", schema)
        other.load(copy, feed, mode="changes")
        assert sorted(copy) == sorted(db.tables.get(name) or db.views[name])


def test_others_read_the_files(tmp_path):
    db = nl.Database()
    shop(db)
    db.view("names", "[o.customer for o in orders]", language="python")
    db.view("last", "SELECT id, customer FROM orders ORDER BY id DESC")
    for name in ("orders", "names", "last"):
        db.export(name, tmp_path / f"{name}.parquet")
        db.export(name, tmp_path / f"{name}.jsonl")
    first = {"id": 1, "customer": "ann", "items": [{"pid": 1, "qty": 2}]}
    assert pq.read_table(tmp_path / "orders.parquet").to_pylist()[0] == first
    assert json.loads((tmp_path / "orders.jsonl").read_text().splitlines()[0]) == first
    assert pq.read_table(tmp_path / "names.parquet").column_names == ["value"]
    assert pq.read_table(tmp_path / "last.parquet")["id"].to_pylist() == [2, 1], "in the order of the view"
    # And files of others are loaded, also folders of them.
    (tmp_path / "parts").mkdir()
    for number in range(2):
        table = pa.table(
            {"id": [10 + number], "customer": ["x"], "items": pa.array([[]], pa.list_(pa.null()))}
        )
        pq.write_table(table, tmp_path / "parts" / f"part-{number}.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    assert db.load("orders", tmp_path / "parts").events == 2
    db.verify()


def test_what_makes_no_file_is_refused(tmp_path, monkeypatch):
    db = filled()
    db.table("feed", {"_change_type": str})
    (tmp_path / "bad.jsonl").write_text('{"id": 1}\n{"id": \n')
    (tmp_path / "bad.parquet").write_text("no parquet")
    (tmp_path / "empty").mkdir()
    mode: Any = "all"
    refused = [
        (lambda: db.export("nothing", tmp_path / "x.jsonl"), "there is no table or view 'nothing'"),
        (lambda: db.export("§o", tmp_path / "x.jsonl"), "there is no table or view"),
        (lambda: db.export(7, tmp_path / "x.jsonl"), "the name of a view is a str"),
        (lambda: db.export("t", tmp_path / "x.csv"), "x.csv does not say what it holds"),
        (lambda: db.export("t", tmp_path / "no" / "x.jsonl"), "cannot be written"),
        (lambda: db.export("t", tmp_path / "x.jsonl", mode=mode), "mode is not 'all'"),
        (lambda: db.export("t", tmp_path / "bad.jsonl", mode="changes"), "is a file"),
        (
            lambda: db.export("feed", tmp_path / "feed", mode="changes"),
            "has a column _change_type of its own",
        ),
        (lambda: db.load("nothing", tmp_path / "bad.jsonl"), "there is no table 'nothing'"),
        (lambda: db.load("t", tmp_path / "nothing.jsonl"), "there is no file"),
        (lambda: db.load("t", tmp_path / "empty"), "has no file of rows"),
        (lambda: db.load("t", tmp_path / "bad.jsonl"), "not JSON"),
        (lambda: db.load("t", tmp_path / "bad.parquet"), "bad.parquet"),
    ]
    for act, message in refused:
        with pytest.raises(nl.NestlingError, match=message) as error:
            act()
        assert "\nhint: " in str(error.value)
    db.export("t", tmp_path / "t.parquet")
    with pytest.raises(nl.ChangeError, match="already has a row with key"):
        db.load("t", tmp_path / "t.parquet")
    assert len(db.table("t")) == 2
    (tmp_path / "mine").mkdir()
    db.export("v", tmp_path / "mine" / "a.jsonl")
    with pytest.raises(nl.StoreError, match="is no file of changes"):
        db.export("v", tmp_path / "mine", mode="changes")


def test_an_interrupt_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    db = filled()
    path = tmp_path / "t.jsonl"
    db.export("t", path)
    before = path.read_bytes()
    db.delete("t", key=1)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nestling.database.files.write_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.export("t", path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]
