"""What a full disk, an interrupt or a kill cuts short is there whole or not at all; the store knows which."""

from random import Random

import pytest

from nestling.storage.file import FileStore
from tests.storage.stores import contents, filled, image, lay_out, run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.nest"


def test_a_kill_in_a_snapshot_leaves_the_one_before(path):
    store = filled(path)
    before, images, random = contents(store), [], Random(7)

    def rows():
        for number in range(40_000):  # more than SQLite's cache holds: it writes before the end
            yield f"key {number}", random.randbytes(100).hex()  # of which packing makes a half
            if number % 5_000 == 0:
                images.append(image(path))

    store.write_snapshot(50, [("m", rows())])
    store.close()
    assert len({len(files["-wal"]) for files in images}) > 3
    for files in images:
        lay_out(files, path)
        with FileStore.open(path) as again:
            assert contents(again) == before


def test_a_full_disk_loses_nothing(path):
    script = f"""
import random
import resource
from nestling.errors import StoreError
from nestling.storage.file import FileStore
with FileStore.open({str(path)!r}) as store:
    store.append("first")
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    for attempt in (
        lambda: store.append(random.randbytes(300_000).hex()),
        lambda: store.write_snapshot(1, [("m", ((str(n), random.randbytes(50).hex()) for n in range(10_000)))]),
    ):
        try:
            store.atomically(lambda: (store.put_definition("view", "v", "x"), attempt()))
        except StoreError as error:
            assert "was not changed" in str(error), error
        else:
            raise AssertionError
        assert (store.definitions(), list(store.read_log(0))) == ([], [(1, "first")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.append("second")
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
    with FileStore.open(path) as store:
        assert contents(store) == ([], 0, [], [(1, "first"), (2, "second")])


class Interrupting:
    """Raises KeyboardInterrupt before or after the statements that begin with ``start``, ``times`` in all."""

    def __init__(self, store, start, after, times=1):
        self.execute, self.start, self.after, self.times = store._execute, start, after, times

    def __call__(self, statement, values=()):
        now = self.times > 0 and statement.startswith(self.start)
        self.times -= now
        if now and not self.after:
            raise KeyboardInterrupt
        cursor = self.execute(statement, values)
        if now:
            raise KeyboardInterrupt
        return cursor


@pytest.mark.parametrize("start", ["INSERT INTO log", "SAVEPOINT", "INSERT INTO snapshot", "RELEASE"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_interrupt_leaves_a_store_that_knows_what_it_holds(path, monkeypatch, start, after):
    store = filled(path)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, "_execute", Interrupting(store, start, after))
        store.append("interrupted")
        store.write_snapshot(45, [("m", [("k", "p")])])
    store.append("next")
    held, stats = contents(store), store.stats()
    store.close()
    with FileStore.open(path) as again:
        assert contents(again) == held
        assert (again.stats().log_bytes, again.stats().snapshot_bytes) == (
            stats.log_bytes,
            stats.snapshot_bytes,
        )


def test_an_interrupt_in_undoing_is_undone_by_the_next_call(path, monkeypatch):
    store = filled(path)
    before = contents(store)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, "_execute", Interrupting(store, "R", after=False, times=2))
        store.put_definition("view", "late", "other text")
    assert store.stored_version() == 60
    assert contents(store) == before
    store.append("next")
    store.close()
    with FileStore.open(path) as again:
        assert contents(again) == (*before[:3], [*before[3], (61, "next")])
