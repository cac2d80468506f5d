"""What is not a sound store of this version is refused, says why, and is left byte for byte as it was."""

import os
import random
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.errors import StoreError
from nestling.storage import connect, format
from nestling.storage.file import FileStore
from tests.storage.stores import QUICK, contents, filled, image, lay_out


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.nest"


@pytest.fixture(scope="module")
def images():
    """A store closed, the same killed, and its contents."""
    with tempfile.TemporaryDirectory(dir=QUICK) as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "CHUNK", 400)
        path = Path(directory, "shop.nest")
        store = filled(path)
        killed, wanted = image(path), contents(store)
        store.close()
        yield {"closed": image(path), "killed": killed}, wanted


def check_damaged(files, wanted, directory):
    """Law: contents are right, also when more is written, or there is a StoreError and all bytes are left."""
    path = Path(directory, "damaged.nest")
    lay_out(files, path)
    try:
        with FileStore.open(path) as store:
            assert contents(store) == wanted
            seq = store.append("one more")
        with FileStore.open(path) as store:
            assert contents(store) == (*wanted[:3], [*wanted[3], (seq, "one more")])
    except StoreError as error:
        assert error.hint
        files.pop("-lock", None)
        assert image(path).items() >= files.items()


@pytest.mark.parametrize(("state", "suffix"), [("closed", ""), ("killed", ""), ("killed", "-wal")])
@given(place=st.floats(0, 1, exclude_max=True), header=st.booleans(), flip=st.integers(0, 255))
def test_damage_is_found_or_harmless(images, state, suffix, place, header, flip):
    """One byte is changed, or, where ``flip`` is 0, all from there on is cut off."""
    files, wanted = images
    bad = bytearray(files[state][suffix])
    at = int(place * (110 if header else len(bad)))
    bad[at] ^= flip
    if not flip:
        del bad[at:]
    with tempfile.TemporaryDirectory(dir=QUICK) as directory:
        check_damaged({**files[state], suffix: bytes(bad)}, wanted, directory)


@pytest.mark.soak
@pytest.mark.parametrize(("state", "suffix"), [("closed", ""), ("killed", ""), ("killed", "-wal")])
def test_a_flip_anywhere_is_found_or_harmless(images, state, suffix, tmp_path):
    files, wanted = images
    draw = random.Random(1)
    for at in range(0, len(files[state][suffix]), 7):
        bad = bytearray(files[state][suffix])
        bad[at] ^= draw.randrange(1, 256)
        check_damaged({**files[state], suffix: bytes(bad)}, wanted, tmp_path)


def test_a_damaged_list_of_free_pages_is_found_before_it_does_harm(path):
    """All rows are sound, but the next change would overwrite some of them."""
    with filled(path) as store:
        store.write_snapshot(60, [])
    bad = bytearray(path.read_bytes())
    trunk = 4096 * (int.from_bytes(bad[32:36], "big") - 1)
    assert trunk > 0
    bad[trunk + 8 : trunk + 12] = (2).to_bytes(4, "big")  # the first free page is now one that is in use
    path.write_bytes(bad)
    with pytest.raises(StoreError, match="is damaged"):
        FileStore.open(path)
    assert path.read_bytes() == bad


def test_a_lost_write_ahead_log_is_missed(images, path):
    """SQLite would open the file as it was at the last checkpoint, and say nothing."""
    files, _ = images
    lay_out({suffix: data for suffix, data in files["killed"].items() if suffix != "-wal"}, path)
    with pytest.raises(StoreError, match="lacks changes: 70 were acknowledged, and 49 are there") as caught:
        FileStore.open(path)
    assert "delete shop.nest-lock" in caught.value.hint
    Path(f"{path}-lock").unlink()
    with FileStore.open(path) as store:
        assert store.append("goes on") == 41


def test_any_beginning_of_the_write_ahead_log_is_an_earlier_state(images, path):
    """What a loss of power may leave of changes that were not acknowledged."""
    files, wanted = images
    seen = set()
    for end in range(0, len(files["killed"]["-wal"]), 1501):
        lay_out({"": files["killed"][""], "-wal": files["killed"]["-wal"][:end]}, path)
        with FileStore.open(path) as store:
            found = contents(store)
        assert found[1:3] == wanted[1:3]
        assert found[3] == wanted[3][: len(found[3])]
        seen.add(len(found[3]))
    assert len(seen) > 10


def test_damage_while_open_is_found_by_the_reader(path):
    with filled(path) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE log SET body = x'00' WHERE seq = 35")
            other.execute("UPDATE snapshot SET body = NULL WHERE id = 1")
        with pytest.raises(StoreError, match="row 35 of the log is not what was written"):
            list(store.read_log(30))
        with pytest.raises(StoreError, match="row 1 of the snapshot is not what was written"):
            list(store.read_snapshot()[1])


def make_sqlite(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")


def make_version(version):
    def make(path):
        FileStore.open(path).close()
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {version}")

    return make


def make_trigger(path):
    FileStore.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM definition; END")


REFUSED = {
    "is empty": Path.touch,
    "not a Nestling file: it is no database": lambda path: path.write_bytes(b"id,name\n" * 100),
    "not a Nestling file: it is an SQLite": make_sqlite,
    "is damaged: it ends after 50 bytes": lambda path: path.write_bytes(format.MAGIC + bytes(34)),
    "newer Nestling: it has format 9, and this one knows 2": make_version(9),
    "has format 0, which this Nestling cannot bring to its own, 2": make_version(0),
    "its tables are not those of a store": make_trigger,
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused_says_why_and_is_left_alone(path, why):
    REFUSED[why](path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=why) as caught:
        FileStore.open(path)
    assert caught.value.hint
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["shop.nest"]


def test_paths_that_cannot_be_a_store(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "fifo")
    Path(tmp_path, "lost.nest-wal").write_bytes(b"something")
    for name, why in {
        ".": "is a directory",
        "none/shop.nest": "its directory cannot be written",
        "fifo": "not a regular file",
        "lost.nest": "does not exist, but its write-ahead log lost.nest-wal does",
    }.items():
        with pytest.raises(StoreError, match=why):
            FileStore.open(tmp_path / name)
    Path(tmp_path, "loop").symlink_to(tmp_path / "loop")
    for name in "x" * 300, "a\0b", "loop":
        with pytest.raises(StoreError, match="cannot be"):
            FileStore.open(tmp_path / name)
    Path(tmp_path, "loop").unlink()
    with pytest.raises(StoreError, match="does not exist"):
        FileStore.open(tmp_path / "shop.nest", create=False)
    FileStore.open(tmp_path / "shop.nest").close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="may not be read and written"):
        FileStore.open(tmp_path / "shop.nest")
    assert sorted(os.listdir(tmp_path)) == ["fifo", "lost.nest-wal", "shop.nest"]


def test_an_older_version_is_brought_up(path, monkeypatch):
    filled(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE snapshot RENAME TO old")
    monkeypatch.setattr(format, "VERSION", 3)
    monkeypatch.setattr(connect, "VERSION", 3)
    monkeypatch.setattr(format, "MIGRATIONS", {2: ("ALTER TABLE old RENAME TO later", "SELECT nothing")})
    before = path.read_bytes()
    with pytest.raises(StoreError):
        FileStore.open(path)
    assert path.read_bytes() == before
    monkeypatch.setattr(
        format, "MIGRATIONS", {2: ("DROP TABLE old", format.SCHEMA[2], "UPDATE state SET at = 0")}
    )
    with pytest.raises(StoreError, match="the state is not what was written"):
        FileStore.open(path)
    assert path.read_bytes() == before


def test_a_version_without_changes_of_shape_is_brought_up(path, monkeypatch):
    store = filled(path)
    wanted = contents(store)
    store.close()
    monkeypatch.setattr(format, "VERSION", 3)
    monkeypatch.setattr(connect, "VERSION", 3)
    monkeypatch.setattr(format, "MIGRATIONS", {2: ()})
    for _ in range(2):
        with FileStore.open(path) as store:
            assert contents(store) == wanted
    monkeypatch.undo()
    with pytest.raises(StoreError, match="newer Nestling"):
        FileStore.open(path)
