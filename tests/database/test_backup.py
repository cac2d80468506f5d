"""Copies of a database that is in use."""

import threading

import pytest

import nestling as nl


def shop(path=None):
    db = nl.Database(path)
    orders = db.table("orders", {"id": int, "items": list[int]}, key="id")
    db.view("total", lambda orders: [sum(i for o in orders for i in o.items)])
    db.view("more", "[t + 1 for t in total]", language="python", refresh="lazy")
    db.constraint("few", "SELECT id FROM orders WHERE id > 1000")
    db.document("notes", "<a><b/></a>")
    orders.insert([(1, [2, 3]), (2, [])])
    return db


@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "in a file"])
def test_a_backup_is_a_database(durable, tmp_path):
    with shop(tmp_path / "x.nest" if durable else None) as db:
        db.backup(tmp_path / "copy.nest")
        db.insert("orders", [(3, [9])])
        version = db.version
        with nl.Database(tmp_path / "copy.nest") as copy:
            assert sorted(copy.table("orders")) == [(1, [2, 3]), (2, [])]
            assert (copy.views["total"].rows(), copy.views["more"].rows()) == ([5], [6])
            assert copy.documents["notes"].xml() == db.documents["notes"].xml()
            assert not durable or copy.version == version - 1
            copy.verify(maps=True)
            with pytest.raises(nl.ConstraintError):
                copy.insert("orders", [(1001, [])])
            copy.delete("orders", key=1)
            copy.verify(maps=True)
        with pytest.raises(nl.StoreError, match="is there already"):
            db.backup(tmp_path / "copy.nest")
        with pytest.raises(nl.StoreError):
            db.backup(tmp_path / "no" / "copy.nest")
        with pytest.raises(nl.ChangeError, match="a transaction is open"), db.transaction():
            db.backup(tmp_path / "other.nest")
    names = {path.name for path in tmp_path.iterdir() if not path.name.endswith("lock")}
    assert names <= {"x.nest", "copy.nest"}


def test_a_backup_is_of_one_moment(tmp_path):
    with shop(tmp_path / "x.nest") as db:
        done = threading.Event()

        def write() -> None:
            number = 10
            while not done.is_set():
                number += 1
                with db.transaction() as t:
                    t.upsert("orders", [(3, [number]), (4, [-number])])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for i in range(5):
                db.backup(tmp_path / f"{i}.nest")
        finally:
            done.set()
            writer.join()
        for i in range(5):
            with nl.Database(tmp_path / f"{i}.nest") as copy:
                assert copy.views["total"].rows() == [5]
                copy.verify(maps=True)
