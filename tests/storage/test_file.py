"""The store of one file equals a plain model of it, whatever is done, undone, refused or cut short."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from random import randbytes

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nestling.errors import StoreError
from nestling.storage import format
from nestling.storage.file import FileStore
from tests.storage.stores import QUICK, contents, filled, image, lay_out, run

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters=format.SEPARATOR), max_size=40)
NAMES = st.sampled_from("ABC")
MAPS = st.lists(st.tuples(NAMES, st.lists(st.tuples(TEXTS, TEXTS), max_size=5)), max_size=4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.nest"


def rows_of(maps):
    return [(name, key, payload) for name, rows in maps for key, payload in rows]


class Boom(Exception):
    pass


class StoreMachine(RuleBasedStateMachine):
    """Law: after any sequence of calls, and reopened at any time, a store equals a plain model of it."""

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(dir=QUICK)
        self.path = Path(self.directory.name, "shop.nest")
        self.known, self.at, self.rows, self.log = {}, 0, [], []

    @initialize()
    def start(self):
        self.store = FileStore.open(self.path)

    @rule(text=TEXTS)
    def append(self, text):
        self.log.append((self.at + len(self.log) + 1, text))
        assert self.store.append(text) == self.log[-1][0]

    @rule(kind=st.sampled_from(["table", "view"]), name=NAMES, text=TEXTS)
    def put(self, kind, name, text):
        self.known[kind, name] = text
        self.store.put_definition(kind, name, text)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def drop(self, data):
        key = data.draw(st.sampled_from(sorted(self.known)))
        del self.known[key]
        self.store.drop_definition(*key)

    @rule(text=TEXTS, name=NAMES)
    def together(self, text, name):
        def both():
            self.put("view", name, text)
            self.append(text)

        self.store.atomically(both)

    @rule(text=TEXTS, name=NAMES, inner=st.booleans())
    def undone(self, text, name, inner):
        def fail():
            if inner:
                self.store.atomically(lambda: self.append(text))
            self.put("view", name, text)
            raise Boom

        before = dict(self.known), list(self.log)
        with suppress(Boom):
            self.store.atomically(fail)
        self.known, self.log = before

    @rule(text=TEXTS)
    def half_undone(self, text):
        def fail():
            self.store.append(text)
            raise Boom

        def half():
            with suppress(Boom):
                self.store.atomically(fail)
            self.append(text)

        self.store.atomically(half)

    @rule(maps=MAPS, data=st.data())
    def snapshot(self, maps, data):
        kept = data.draw(st.integers(0, len(self.log)))
        at = self.at + len(self.log) - kept
        self.store.write_snapshot(at, ((name, iter(rows)) for name, rows in maps))
        self.at, self.rows, self.log = at, rows_of(maps), self.log[len(self.log) - kept :]

    @rule(maps=MAPS)
    def failed_snapshot(self, maps):
        def broken():
            yield from maps
            raise Boom

        with suppress(Boom):
            self.store.write_snapshot(self.at, broken())

    @rule(durability=st.sampled_from(["full", "process"]))
    def reopen(self, durability):
        self.store.close()
        assert os.listdir(self.directory.name) == ["shop.nest"]
        self.store = FileStore.open(self.path, create=False, durability=durability)

    @rule()
    def reopen_after_kill(self):
        """What is on disk at this moment is what a kill would leave."""
        copied = self.path.with_name("copied.nest")
        lay_out(image(self.path), copied)
        with FileStore.open(copied) as store:
            assert contents(store) == self.model()
        copied.unlink()

    def model(self):
        known = [(kind, name, text) for (kind, name), text in self.known.items()]
        return known, self.at, self.rows, self.log

    @invariant()
    def equals_the_model(self):
        assert contents(self.store) == self.model()
        assert self.store.stored_version() == self.at + len(self.log)
        stats = self.store.stats()
        assert stats.log_entries == len(self.log)
        assert stats.log_bytes == sum(len(text.encode()) for _, text in self.log)

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
        self.directory.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(stateful_step_count=25)


def test_a_new_store_is_empty_and_one_file(path):
    with FileStore.open(path) as store:
        assert contents(store) == ([], 0, [], [])
    assert os.listdir(path.parent) == ["shop.nest"]


def test_looking_changes_nothing(path):
    filled(path).close()
    before = path.read_bytes()
    with FileStore.open(path) as store:
        contents(store)
    assert path.read_bytes() == before


def test_a_snapshot_streams(path):
    """Memory is that of a chunk, however many rows there are."""
    script = f"""
import random
import resource
from nestling.storage.file import FileStore
with FileStore.open({str(path)!r}, durability="process") as store:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store.write_snapshot(0, [("m", ((str(n), random.randbytes(70).hex()) for n in range(400_000)))])
    assert store.stats().snapshot_bytes > 25_000_000
    assert sum(1 for _ in store.read_snapshot()[1]) == 400_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
"""
    assert run(script).returncode == 0


def test_a_path_may_have_any_characters(tmp_path):
    path = tmp_path / "a ?b#c%20é.nest"
    with FileStore.open(path) as store:
        store.append("x")
    assert os.listdir(tmp_path) == [path.name]


def test_a_kill_in_creation_is_no_hindrance(path):
    Path(f"{path}-new").write_bytes(b"half")
    Path(f"{path}-new-wal").write_bytes(b"half")
    FileStore.open(path).close()
    assert os.listdir(path.parent) == ["shop.nest"]


def test_misuse_is_refused_and_changes_nothing(path):
    store = filled(path)
    before = contents(store)
    for misuse in (
        lambda: store.write_snapshot(29, []),
        lambda: store.write_snapshot(61, []),
        lambda: store.write_snapshot(40, [("m", [("a\x1eb", "")])]),
        lambda: store.write_snapshot(40, [("m", [("a", "\ud800")])]),
        lambda: store.append("\ud800"),
        lambda: store.put_definition("view", "\ud800", ""),
        lambda: store.drop_definition("view", "none"),
        lambda: store.read_log(29),
    ):
        with pytest.raises(StoreError) as caught:
            misuse()
        assert caught.value.hint
        assert contents(store) == before
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.append("late")
    with pytest.raises(StoreError, match="durability"):
        FileStore.open(path, durability="none")  # type: ignore[arg-type]


def test_what_is_too_long_is_refused(path, monkeypatch):
    monkeypatch.setattr(format, "LONGEST", 1000)
    with FileStore.open(path) as store, pytest.raises(StoreError, match="1,001 bytes are too long"):
        store.append("x" * 1001)


def test_a_snapshot_replaced_while_it_is_read_says_so(path):
    with filled(path) as store:
        _, rows = store.read_snapshot()
        next(rows)
        store.write_snapshot(30, [])
        with pytest.raises(StoreError, match="replaced while it was read"):
            list(rows)


def test_a_log_may_grow_while_it_is_read(path):
    with FileStore.open(path, durability="process") as store:
        for number in range(600):
            store.append(str(number))
        for seq, _ in store.read_log(0):
            if seq <= 600:
                store.append("more")
        assert len(list(store.read_log(0))) == 1200


def test_stats_say_when_a_snapshot_is_due(path):
    with FileStore.open(path, durability="process") as store:
        assert not store.stats().snapshot_due
        texts = [randbytes(100_000).hex() for _ in range(12)]
        seq = [store.append(text) for text in texts][-1]
        assert store.stats().snapshot_due
        assert store.stats().file_bytes > 1_200_000
        store.write_snapshot(seq, [("m", [(str(number), text) for number, text in enumerate(texts)])])
        assert not store.stats().snapshot_due
        assert (store.stats().log_entries, store.stats().log_bytes) == (0, 0)
        assert store.stats().snapshot_bytes > 1_200_000


@pytest.mark.parametrize("body", [b"", b"x" * 512, b"x" * 513, "ü\x1e{[".encode() * 1000])
def test_what_is_packed_is_unpacked(body):
    assert format.unpacked(format.packed(body)) == body
    assert len(format.packed(body)) <= len(body)


@pytest.mark.parametrize(
    "body", [b"\xff", b"\xffno", format.packed(b"x" * 999)[:-1], format.packed(b"x" * 999) + b"y"]
)
def test_what_was_not_packed_so_is_refused(body):
    with pytest.raises(ValueError, match="packed"):
        format.unpacked(body)
