"""Law: an interrupt at whatever moment leaves a store that is as before or as after, knows which, and goes on."""

import tempfile
from pathlib import Path

import pytest

from nestling.storage.file import FileStore
from tests.storage.interrupts import everywhere
from tests.storage.stores import QUICK, contents, image, lay_out

MAPS = [("m", [("k", "p"), ("l", "q")]), ("n", [("a", "b")])]
ACTIONS = {
    "append": lambda store: store.append("interrupted"),
    "put_definition": lambda store: store.put_definition("view", "v", "other"),
    "drop_definition": lambda store: store.drop_definition("view", "v"),
    "write_snapshot": lambda store: store.write_snapshot(2, MAPS),
    "both": lambda store: store.atomically(
        lambda: (store.put_definition("view", "w", "x"), store.write_snapshot(3, MAPS))
    ),
}


@pytest.fixture(scope="module")
def small():
    """A store with a bit of everything, and a folder to lay it out in."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder, "small.nest")
        with FileStore.open(path) as store:
            store.put_definition("view", "v", "text")
            for number in range(3):
                store.append(f"entry {number}")
            store.write_snapshot(1, MAPS[:1])
        yield path, image(path)


@pytest.mark.parametrize("name", ACTIONS)
def test_an_interrupt_anywhere(small, name):
    path, files = small
    act = ACTIONS[name]

    def prepare():
        lay_out(files, path)
        return FileStore.open(path, durability="process")

    with prepare() as store:
        before = contents(store)
        act(store)
        after = contents(store)
    seen = [
        check(store, (before, after), where)
        for store, where in everywhere(prepare, act, "/nestling/storage/")
    ]
    assert len(seen) > 10
    assert set(seen) == {0, 1}


def check(store, states, where):
    """Which of two states the store is in: it says so itself, goes on, and so says the file."""
    last = store.stored_version()  # after an interrupt ``where`` it happened
    held = contents(store)
    assert last == held[1] + len(held[3])
    assert store.append("next") == last + 1
    store.close()
    with FileStore.open(store.path) as again:
        assert contents(again) == (*held[:3], [*held[3], (last + 1, "next")])
    assert held in states, where
    return states.index(held)
