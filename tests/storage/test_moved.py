"""Law: a file that is moved, replaced or deleted while it is open loses nothing that was acknowledged."""

import os
import shutil

import pytest

import nestling as nl
from nestling.errors import StoreError
from nestling.storage.file import FileStore
from tests.storage.stores import run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.nest"


def texts(path):
    with FileStore.open(path) as store:
        return [text for _, text in store.read_log(0)]


ATTEMPTS = {
    "append": lambda store: store.append("lost?"),
    "definition": lambda store: store.put_definition("view", "v", "lost?"),
    "snapshot": lambda store: store.write_snapshot(1, []),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("durability", ["full", "process"])
def test_a_file_that_is_moved_takes_what_was_acknowledged_along(path, tmp_path, attempt, durability):
    moved = tmp_path / "moved.nest"
    with FileStore.open(path, durability=durability) as store:
        store.append("first")
        path.rename(moved)
        with pytest.raises(StoreError, match=f"was moved to {moved} while it was open, and was not changed"):
            ATTEMPTS[attempt](store)
        assert list(store.read_log(0)) == [(1, "first")]
    assert texts(moved) == ["first"]
    assert not path.exists()


def test_a_file_that_is_moved_and_closed(path, tmp_path):
    """Without another change nobody notices, but for the store itself when it is closed."""
    with FileStore.open(path) as store:
        store.append("first")
        path.rename(tmp_path / "moved.nest")
    assert texts(tmp_path / "moved.nest") == ["first"]


def test_a_file_that_is_moved_back_goes_on(path, tmp_path):
    with FileStore.open(path) as store:
        store.append("first")
        path.rename(tmp_path / "moved.nest")
        with pytest.raises(StoreError, match="was moved"):
            store.append("refused")
        (tmp_path / "moved.nest").rename(path)
        assert store.append("second") == 2
    assert texts(path) == ["first", "second"]


def test_a_folder_that_is_renamed(tmp_path):
    (tmp_path / "old").mkdir()
    with FileStore.open(tmp_path / "old" / "shop.nest") as store:
        store.append("first")
        (tmp_path / "old").rename(tmp_path / "new")
        with pytest.raises(StoreError, match="was moved"):
            store.append("refused")
    assert texts(tmp_path / "new" / "shop.nest") == ["first"]


def test_a_file_that_is_deleted(path):
    with FileStore.open(path) as store:
        store.append("first")
        path.unlink()
        with pytest.raises(StoreError, match="was deleted"):
            store.append("refused")
        assert list(store.read_log(0)) == [(1, "first")]
    with FileStore.open(path) as store:  # a new one, and nothing of the old one comes to it
        assert store.append("new") == 1
    assert texts(path) == ["new"]


def test_a_file_that_is_replaced(path, tmp_path):
    with FileStore.open(tmp_path / "other.nest") as other:
        other.append("of the other")
    with FileStore.open(path) as store:
        store.append("first")
        os.link(path, tmp_path / "kept.nest")
        (tmp_path / "other.nest").replace(path)
        with pytest.raises(StoreError, match="was moved"):
            store.append("refused")
    assert texts(path) == ["of the other"]
    assert texts(tmp_path / "kept.nest") == ["first"]


def test_one_file_under_two_names(path, tmp_path):
    """Two stores of one file would each have a write-ahead log."""
    link = tmp_path / "link.nest"
    with FileStore.open(path) as store:
        os.link(path, link)
        with pytest.raises(StoreError, match="in use by this process, under another name"):
            FileStore.open(link)
        script = f"from nestling.storage.file import FileStore; FileStore.open({str(link)!r})"
        assert "in use by another process, under another name" in run(script).stderr
        store.append("still mine")
    assert sorted(os.listdir(tmp_path)) == ["link.nest", "shop.nest"]
    assert texts(link) == texts(path) == ["still mine"]


def test_a_moved_file_cannot_be_opened_while_it_is_in_use(path, tmp_path):
    with FileStore.open(path) as store:
        store.append("first")
        path.rename(tmp_path / "moved.nest")
        script = (
            f"from nestling.storage.file import FileStore; FileStore.open({str(tmp_path / 'moved.nest')!r})"
        )
        assert "in use by another process, under another name" in run(script).stderr
    assert texts(tmp_path / "moved.nest") == ["first"]


def test_other_paths_to_one_file(path, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder", target_is_directory=True)
    monkeypatch.chdir(tmp_path / "folder")
    with FileStore.open("shop.nest") as store:
        store.append("first")
        for other in ("./shop.nest", "../folder/shop.nest", tmp_path / "link" / "shop.nest"):
            with pytest.raises(StoreError, match="in use by this process"):
                FileStore.open(other)
        monkeypatch.chdir(tmp_path)  # a name is what it was when it was opened
        store.append("second")
    assert texts(tmp_path / "link" / "shop.nest") == ["first", "second"]


def test_a_link_that_is_bent_while_the_file_is_open(tmp_path):
    link, file = tmp_path / "link.nest", tmp_path / "file.nest"
    FileStore.open(file).close()
    link.symlink_to(file)
    with FileStore.open(link) as store:
        link.unlink()
        link.symlink_to(tmp_path / "elsewhere.nest")
        store.append("first")  # into the file that was opened
    assert texts(file) == ["first"]


def test_a_copy_made_while_it_is_open(path, tmp_path):
    """Closing the handle of a copy drops our locks of the file, and the store goes on."""
    with FileStore.open(path) as store:
        store.append("first")
        shutil.copy(path, tmp_path / "copy.nest")
        store.append("second")
    assert texts(path) == ["first", "second"]


@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_a_database_refuses_a_change_and_keeps_its_state(tmp_path, how):
    path = tmp_path / "shop.nest"
    with nl.Database(path) as db:
        db.table("T", {"a": int, "b": list[int]}, key="a")
        view = db.view("v", lambda T: [(t.a, sum(t.b)) for t in T])
        db.insert("T", [(1, [1, 2])])
        path.unlink() if how == "deleted" else path.rename(tmp_path / "moved.nest")
        for attempt in (
            lambda: db.insert("T", [(2, [3])]),
            lambda: db.view("w", "SELECT a FROM T"),
            lambda: db.drop("v"),
        ):
            with pytest.raises(nl.StoreError, match=f"was {how}"):
                attempt()
        assert view.rows() == [(1, 3)]
        assert (db.version, set(db.views)) == (1, {"v"})
        db.verify(maps=True)
    if how == "moved":
        with nl.Database(tmp_path / "moved.nest") as db:
            assert db.table("T").rows() == [(1, [1, 2])]
            assert db.views["v"].rows() == [(1, 3)]


def test_nothing_is_left_behind(path, tmp_path):
    with FileStore.open(path) as store:
        store.append("first")
        path.rename(tmp_path / "moved.nest")
    assert os.listdir(tmp_path) == ["moved.nest"]
