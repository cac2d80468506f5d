"""Reading a file that another process writes."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import nestling as nl
from nestling.storage import connect

WRITER = """
import sys
import nestling as nl
db = None
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Writer:
    """Another process, which does what it is told, line by line."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *lines: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n", line


@pytest.fixture(scope="module")
def process() -> Iterator[Writer]:
    writer = Writer()
    yield writer
    writer.process.communicate()


@pytest.fixture
def writer(process: Writer, tmp_path: Path) -> Iterator[Writer]:
    path = str(tmp_path / "shop.nest")
    process(
        f"path = {path!r}; db = nl.Database(path)",
        "orders = db.table('orders', 'id INT, customer STRING, items ARRAY<STRUCT<pid: INT, qty: INT>>', key='id')",
        "_ = db.view('spend', '[(o.customer, sum(i.qty for i in o.items)) for o in orders]', language='python')",
        "_ = orders.insert([(1, 'ann', [(1, 2)]), (2, 'bob', [])])",
    )
    yield process
    process("db.close()")


def read(path: Path) -> Any:
    return nl.Database(path / "shop.nest", readonly=True)


def test_it_follows_the_writer(writer, tmp_path):
    with read(tmp_path) as db:
        spend, orders = db.views["spend"], db.table("orders")
        assert sorted(spend) == [("ann", 2), ("bob", 0)]
        seen = []
        spend.subscribe(lambda change: seen.append((change.version, change.inserted, change.deleted)))
        writer("_ = orders.at(2).items.insert([(5, 7)])", "_ = orders.delete(key=1)")
        assert spend["bob"]._1 == 7
        assert sorted(orders) == [(2, "bob", [(5, 7)])]
        assert [version for version, *_ in seen] == [2, 3], "each change by itself"
        assert db.version == 3
        writer("t = db.transaction(); u = t.__enter__(); u.insert('orders', [(9, 'z', [])])")
        assert len(orders) == 1, "what is not committed is not there"
        writer("_ = t.__exit__(None, None, None)")
        assert len(orders) == 2
        db.verify(maps=True)
        assert db.sql("SELECT count(*) AS n FROM orders") == [(2,)]


def test_definitions_are_followed_and_snapshots(writer, tmp_path):
    with read(tmp_path) as db:
        told = []
        db.views["spend"].subscribe(lambda change: told.append(change.version))
        writer(
            "_ = db.view('many', 'SELECT count(*) AS n FROM orders')",
            "orders.add_column('note', str, 'x')",
            "db.rename('orders', 'sales')",
        )
        assert db.views["many"].rows() == [(2,)]
        assert list(db.tables) == ["sales"]
        assert db.table("sales").columns == ["id", "customer", "items", "note"]
        writer("_ = db.insert('sales', [(7, 'eve', [(1, 1)], 'y')])")
        assert db.follow() == db.version
        assert told[-1:] == [db.version], "who subscribed goes on"
        writer("_ = db.drop('spend')", "_ = db.insert('sales', [(8, 'flo', [], 'y')])")
        assert list(db.views) == ["many"]
        assert db.views["many"].rows() == [(4,)]
        with pytest.raises(nl.QueryError, match="spend was dropped"):
            nl.View(db, "spend").rows()
        # As many changes as bring the log into a snapshot.
        writer("for i in range(100, 400): db.insert('sales', [(i, 'x' * 9000, [], 'y')])\n"[:-1])
        assert db.views["many"].rows() == [(304,)]
        db.verify(maps=True)


def test_the_writer_may_go_and_come(writer, tmp_path):
    writer("db.close()")
    with read(tmp_path) as db:
        assert len(db.table("orders")) == 2
        writer("db = nl.Database(path); orders = db.table('orders'); _ = orders.delete(key=1)")
        assert len(db.table("orders")) == 1
        writer("db.close()")
        assert len(db.table("orders")) == 1
        (tmp_path / "shop.nest").read_bytes()  # which drops the locks of this process
        writer("db = nl.Database(path); _ = db.insert('orders', [(3, 'c', [])])")
        assert len(db.table("orders")) == 2
        (tmp_path / "shop.nest").read_bytes()
        writer("db.close()")
        writer("db = nl.Database(path); _ = db.insert('orders', [(4, 'd', [])])")
        assert len(db.table("orders")) == 3
    writer("db.close(); db = nl.Database(path); assert len(db.table('orders')) == 3")


def test_a_file_that_is_replaced_is_read_anew(writer, tmp_path):
    writer("db.close()", "import shutil; shutil.copy(path, path + '.old')", "db = nl.Database(path)")
    writer("_ = db.insert('orders', [(3, 'c', [])])", "db.close()")
    with read(tmp_path) as db:
        assert len(db.table("orders")) == 3
        os.replace(tmp_path / "shop.nest.old", tmp_path / "shop.nest")
        for beside in ("shop.nest-wal", "shop.nest-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
        assert len(db.table("orders")) == 2
        (tmp_path / "shop.nest").rename(tmp_path / "gone.nest")
        with pytest.raises(nl.StoreError, match="was deleted"):
            len(db.table("orders"))
        (tmp_path / "gone.nest").rename(tmp_path / "shop.nest")
    writer("db = nl.Database(path)")


def test_nothing_is_written(writer, tmp_path):
    with read(tmp_path) as db:
        changes = [
            lambda: db.insert("orders", [(4, "x", [])]),
            lambda: db.insert("orders", [(4, "x", []), (5, "x", [])]),
            lambda: db.delete("orders", key=1),
            lambda: db.table("orders").at(1).items.insert([(1, 1)]),
            lambda: db.apply({"orders": {(4, "x", ()): 1}}),
            lambda: db.apply({"orders": {}}, once=("a", 1)),
            lambda: db.merge("orders", [(4, "x", [])]),
            lambda: db.sync("orders", []),
            lambda: db.sql("DELETE FROM orders"),
            lambda: db.transaction().__enter__(),
            lambda: db.drop("spend"),
            lambda: db.rename("orders", "sales"),
            lambda: db.table("orders").add_column("x", int, 1),
            lambda: db.table("t", {"a": int}),
            lambda: db.view("v", "SELECT id FROM orders"),
            lambda: db.constraint("c", "SELECT id FROM orders WHERE id < 0"),
            lambda: db.sql("CREATE TABLE t (a INT)"),
        ]
        for change in changes:
            with pytest.raises(nl.NestlingError, match="is open for reading only") as error:
                change()
            assert "\nhint: " in str(error.value)
        again = db.view(
            "spend", "[(o.customer, sum(i.qty for i in o.items)) for o in orders]", language="python"
        )
        assert len(again) == 2, "what is there may be declared again"
        db.backup(tmp_path / "copy.nest")
    with nl.Database(tmp_path / "copy.nest") as db:
        assert len(db.views["spend"]) == 2
    writer("_ = orders.insert([(6, 'ok', [])])")


def test_plain_rows_are_not_written_either(tmp_path):
    """They come through the door of their table, where no transaction begins."""
    with nl.Database(tmp_path / "shop.nest") as db:
        db.table("flat", {"a": int, "b": int}, key="a").insert([(1, 1)])
        db.table("nested", "a INT NOT NULL, xs ARRAY<INT NOT NULL> NOT NULL", key="a")
    with read(tmp_path) as db:
        changes = [
            lambda: db.insert("flat", [(2, 2)]),
            lambda: db.insert("flat", [(2, 2), (3, 3)]),
            lambda: db.delete("flat", [(1, 1)]),
            lambda: db.delete("flat", key=1),
            lambda: db.apply({"flat": {(2, 2): 1}}),
            lambda: db.insert("nested", [(1, [1])]),
        ]
        for change in changes:
            with pytest.raises(nl.NestlingError, match="is open for reading only"):
                change()
        assert (db.table("flat").rows(), len(db.table("nested"))) == ([(1, 1)], 0)


def test_what_cannot_be_followed_is_refused(tmp_path):
    with pytest.raises(nl.StoreError, match="does not exist"):
        read(tmp_path)
    with pytest.raises(nl.StoreError, match="in memory has no file"):
        nl.Database(readonly=True)
    word: Any = "yes"
    with pytest.raises(nl.QueryError, match="readonly is True or False"):
        nl.Database(tmp_path / "shop.nest", readonly=word)
    (tmp_path / "shop.nest").write_bytes(b"no database at all" * 100)
    with pytest.raises(nl.StoreError, match="is not a Nestling file"):
        read(tmp_path)
    (tmp_path / "shop.nest").unlink()
    assert list(tmp_path.iterdir()) == []
    with nl.Database(tmp_path / "shop.nest") as db:
        with pytest.raises(nl.StoreError, match="in use by this process"):
            read(tmp_path)
        db.table("t", {"a": int})
    with read(tmp_path) as db:
        with pytest.raises(nl.StoreError, match="in use by this process, for reading"):
            nl.Database(tmp_path / "shop.nest")
        with pytest.raises(nl.StoreError, match="in use by this process"):
            read(tmp_path)
        assert list(db.tables) == ["t"]
    with pytest.raises(nl.NestlingError, match="closed"):
        db.tables  # noqa: B018
    with nl.Database(tmp_path / "shop.nest") as db:
        db.insert("t", [(1,)])


def test_a_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    """There SQLite finds no place beside the file; as root, who writes everywhere, that is said for it."""
    with nl.Database(tmp_path / "shop.nest") as db:
        db.table("t", {"a": int}).insert([(1,)])
    connection = connect._connection

    def no_place(path, mode):
        return sqlite3.connect(":memory:") if mode == "mode=ro" else connection(path, mode)

    monkeypatch.setattr(connect, "_connection", no_place)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    with read(tmp_path) as db:
        assert db.table("t").rows() == [(1,)]
        assert len(db.table("t")) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["shop.nest"]


def test_threads_read_while_it_is_written(writer, tmp_path):
    """Whatever is read is the state after one change: each inserts two rows."""
    with read(tmp_path) as db:
        odd = []

        def reads() -> None:
            for _ in range(40):
                if len(db.table("orders")) % 2 or sum(1 for _ in db.views["spend"]) % 2:
                    odd.append(db.version)

        threads = [Thread(target=reads) for _ in range(3)]
        for thread in threads:
            thread.start()
        writer("for i in range(10, 210, 2): db.insert('orders', [(i, str(i), []), (i + 1, str(i + 1), [])])")
        for thread in threads:
            thread.join()
        assert odd == []
        assert len(db.table("orders")) == 202


def test_a_writer_that_is_killed_leaves_what_it_acknowledged(tmp_path):
    other = Writer()
    other(
        f"db = nl.Database({str(tmp_path / 'shop.nest')!r}); t = db.table('t', {{'a': int}})",
        "_ = t.insert([(1,)])",
    )
    with read(tmp_path) as db:
        assert len(db.table("t")) == 1
        other("_ = t.insert([(2,)])")
        other.process.kill()
        other.process.communicate()
        assert len(db.table("t")) == 2
    with nl.Database(tmp_path / "shop.nest") as db:
        assert len(db.table("t")) == 2
