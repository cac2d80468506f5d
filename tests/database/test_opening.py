"""Where a database is kept; what cannot be one is refused with advice, and is left as it was."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

import nestling as nl
from tests.storage.stores import QUICK, run


def test_memory_is_no_file(tmp_path, monkeypatch):
    """SQLite's name for a database without a file is ours too."""
    monkeypatch.chdir(tmp_path)
    with nl.Database(":memory:") as db, nl.Database(":memory:") as other:
        db.table("T", {"a": int})
        db.insert("T", [(1,)])
        assert not other.tables
    assert os.listdir(tmp_path) == []


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("INSERT INTO mine VALUES (1)")


def newer(path: Path) -> None:
    nl.Database(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")


REFUSED = {
    "is empty": Path.touch,
    "is not a Nestling file: it is no database": lambda path: path.write_text("id,name\n1,a\n" * 20),
    "is not a Nestling file: it is an SQLite database": foreign,
    "was written by a newer Nestling": newer,
    "is a directory": lambda path: (path.mkdir(), (path / "mine").write_text("x")),
}


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if not file.is_dir()
    }


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_ours_is_left_alone(tmp_path, why):
    """Byte for byte, and with nothing beside it."""
    path = tmp_path / "shop.nest"
    REFUSED[why](path)
    before = everything(tmp_path)
    with pytest.raises(nl.StoreError, match=why) as caught:
        nl.Database(path)
    assert caught.value.hint
    assert everything(tmp_path) == before


DENIED = """
import os, pathlib, sys
import nestling as nl
os.chmod({folder!r}, {mode})
os.setuid(65534)
try:
    nl.Database({path!r})
except nl.StoreError as error:
    assert error.hint
    sys.exit(str(error))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone can become nobody")
@pytest.mark.parametrize(
    ("file", "folder", "why"),
    [
        (0o444, 0o777, "may not be read and written"),
        (0o000, 0o777, "may not be read and written"),
        (0o666, 0o555, "its directory cannot be written"),
    ],
)
def test_a_file_that_may_not_be_written(file, folder, why):
    with tempfile.TemporaryDirectory(dir=QUICK) as place:  # pytest's own folder is closed to others
        path = Path(place, "shop.nest")
        nl.Database(path).close()
        path.chmod(file)
        before = path.read_bytes()
        done = run(DENIED.format(folder=place, path=str(path), mode=folder))
        assert why in done.stderr, done.stderr
        assert path.read_bytes() == before
        assert os.listdir(place) == ["shop.nest"]


FULL = """
import random
import resource
import nestling as nl
long = random.Random(1).randbytes(400_000).hex()  # nothing makes it small
db = nl.Database({path!r})
db.table("T", {{"a": int, "b": list[str]}}, key="a")
view = db.view("v", "SELECT a FROM T")
db.insert("T", [(1, ["x"])])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
for attempt in (
    lambda: db.insert("T", [(2, [long])]),
    lambda: db.view("w", "[(t.a, '" + long + "') for t in T]", language="python"),
):
    try:
        attempt()
    except nl.StoreError as error:
        assert "was not changed" in str(error) and error.hint, error
    else:
        raise AssertionError
    assert (view.rows(), set(db.tables), set(db.views), db.version) == ([(1,)], {{"T"}}, {{"v"}}, 1)
    db.verify(maps=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
db.insert("T", [(2, [long])])
db.close()
"""


def test_a_full_disk(tmp_path):
    path = tmp_path / "shop.nest"
    done = run(FULL.format(path=str(path)))
    assert done.returncode == 0, done.stderr
    with nl.Database(path) as db:
        assert sorted(db.views["v"].rows()) == [(1,), (2,)]
        db.verify(maps=True)


def test_a_log_left_behind_is_no_part_of_a_new_file(tmp_path):
    """Where a file was removed and its write-ahead log was not, a new one would begin with the old one's changes."""
    path = tmp_path / "shop.nest"
    Path(f"{path}-wal").write_bytes(b"something")
    with pytest.raises(nl.StoreError, match=r"its write-ahead log shop\.nest-wal does"):
        nl.Database(path)
    assert everything(tmp_path) == {"shop.nest-wal": b"something"}
