"""A file has one user, for as long as that lives, and its forked children are none."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from nestling.errors import StoreError
from nestling.storage import connect, format
from nestling.storage.file import FileStore
from tests.storage.stores import ENVIRONMENT, filled, run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.nest"


OPEN = """
import sys
from nestling.storage.file import FileStore
with FileStore.open(sys.argv[1]) as store:
    sys.stdout.write("open\\n")
    sys.stdout.flush()
    sys.stdin.readline()
"""


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_file_has_one_user_while_that_lives(path, end):
    command = [sys.executable, "-c", OPEN, str(path)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdin=-1, stdout=-1, text=True) as child:
        assert child.stdin and child.stdout
        assert child.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"in use by process {child.pid}\n"):
            FileStore.open(path)
        if end == "killed":
            child.kill()
        else:
            child.stdin.close()
        child.wait()
        with FileStore.open(path) as store:
            store.append("mine")


def test_a_process_opens_a_file_once(path):
    with FileStore.open(path) as store:
        with pytest.raises(StoreError, match="in use by this process"):
            FileStore.open(path)
        link = path.with_name("link.nest")
        link.symlink_to(path)
        with pytest.raises(StoreError, match="in use by this process"):
            FileStore.open(link)
        shutil.copy(path, path.with_name("copy"))  # closes a handle of the file, which drops SQLite's locks
        assert (
            "in use"
            in run(f"from nestling.storage.file import FileStore; FileStore.open({str(path)!r})").stderr
        )
        store.append("still mine")
    FileStore.open(path).close()


def test_a_store_that_is_forgotten_is_closed(path):
    FileStore.open(path).append("kept")
    assert os.listdir(path.parent) == ["shop.nest"]
    with FileStore.open(path) as store:
        assert list(store.read_log(0)) == [(1, "kept")]


@pytest.mark.parametrize("leave", ["sys.exit()", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_forked_child_leaves_the_file_alone(path, leave):
    script = f"""
import os, sys
from nestling.errors import StoreError
from nestling.storage.file import FileStore
store = FileStore.open({str(path)!r})
store.append("before")
if os.fork() == 0:
    try:
        store.append("child")
    except StoreError as error:
        assert "fork" in str(error)
        store.close()
        {leave}
    os._exit(1)
assert os.wait()[1] in (0, 9)
assert all(os.path.exists({str(path)!r} + suffix) for suffix in ("-wal", "-lock"))
store.append("after")
os.kill(os.getpid(), 9)
"""
    assert run(script).returncode == -9
    with FileStore.open(path) as store:
        assert list(store.read_log(0)) == [(1, "before"), (2, "after")]


def test_another_program_is_waited_for_then_named(path, monkeypatch):
    monkeypatch.setattr(connect, "PATIENCE", 0.01)
    with filled(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another program"):
            store.append("x")
        other.execute(f"INSERT INTO log VALUES (61, x'', {format.checksum(b'', 'log', 61, None)})")
        other.execute("COMMIT")
        with pytest.raises(StoreError, match="is not as it was left"):
            store.append("x")
