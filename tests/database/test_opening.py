"""Where a database is kept."""

import os

import nestling as nl


def test_memory_is_no_file(tmp_path, monkeypatch):
    """SQLite's name for a database without a file is ours too."""
    monkeypatch.chdir(tmp_path)
    with nl.Database(":memory:") as db, nl.Database(":memory:") as other:
        db.table("T", {"a": int})
        db.insert("T", [(1,)])
        assert not other.tables
    assert os.listdir(tmp_path) == []
