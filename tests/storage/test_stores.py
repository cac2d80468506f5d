"""Every store keeps the contract; a lake over any of them loses nothing, whatever fails, and whoever else writes."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="a lake keeps Arrow tables: pip install nestling[spark]")

import pyarrow.parquet as pq  # noqa: E402 - after the skip

from nestling.errors import StoreError  # noqa: E402 - after the skip
from nestling.storage.lake import Lake, RelationFiles  # noqa: E402 - after the skip
from nestling.storage.lake.fsspec_store import FsspecStore  # noqa: E402 - after the skip
from nestling.storage.lake.local import LocalStore  # noqa: E402 - after the skip
from nestling.storage.lake.store import BlobStore  # noqa: E402 - after the skip
from tests.storage.blobs import FaultyStore, MemoryStore  # noqa: E402 - after the skip
from tests.storage.contract import CONTRACT  # noqa: E402 - after the skip
from tests.storage.s3 import missing, s3_store  # noqa: E402 - after the skip

MAKERS: dict[str, Callable[[Any], BlobStore]] = {
    "local": LocalStore,
    "memory": lambda path: MemoryStore(),
    "fsspec": lambda path: FsspecStore(f"memory://{path}"),
    "s3": s3_store,
}
KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(kind == "s3" and bool(missing()), reason=missing()))
    for kind in MAKERS
]


@pytest.mark.parametrize("law", CONTRACT, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_every_store_keeps_the_contract(tmp_path, kind, law):
    law(MAKERS[kind](tmp_path / "lake"))


# -- a lake over a store


def change(*numbers: int) -> Any:
    return pa.table({"k0": pa.array(numbers, pa.int64()), "m0": pa.array([1] * len(numbers), pa.int64())})


class Unlocked:
    """A store that keeps nobody out: of a folder that two machines see."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def hold(self) -> None: ...
    def release(self, withdrawn: bool = False) -> None: ...


class Writer:
    """Who adds numbers to a relation, and flushes them to files now and then; what was acknowledged is in ``done``."""

    def __init__(self, store: Any) -> None:
        self.store, self.done = store, list[int]()
        self.lake: Any = None

    def add(self, number: int, flush: bool) -> None:
        if self.lake is None or self.lake.is_ahead:
            self.lake = Lake(self.store)
            self.rows = rows_of(self.lake)
            self.lake.claim()
        lake = self.lake
        lake.append({"version": len(self.rows) + 1}, {"a": change(number)})
        self.done.append(number)
        self.rows.append(number)
        if flush:
            file = lake.write_changes("a", change(*self.rows))
            lake.commit({"a": RelationFiles((), (file,))}, (), {"version": len(self.rows)})


def rows_of(lake: Lake) -> list[int]:
    found = [
        number
        for relation in lake.manifest.relations.values()
        for name in relation.names
        for number in pq.read_table(lake.store.open(name))["k0"].to_pylist()
    ]
    for epoch in lake.replay():
        found += epoch.changes["a"]["k0"].to_pylist()
    return found


def stored(store: Any) -> list[int]:
    return rows_of(Lake(store, readonly=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lag", [0, 3])
def test_writers_that_take_a_lake_from_each_other_over_a_store_that_fails(tmp_path, kind, lag):
    """whatever was acknowledged is there once, in the order of its writer; nothing else but what was cut off"""
    random = Random(lag)
    for seed in range(3):
        base = Unlocked(MAKERS[kind](tmp_path / f"lake{seed}"))
        writers = [Writer(FaultyStore(base, random, 0.03, lag)) for _ in range(3)]
        tried: list[set[int]] = [set() for _ in writers]
        for number in range(60):
            who = random.randrange(3)
            writer = writers[who]
            tried[who].add(number)
            with suppress(StoreError, OSError):
                try:
                    writer.add(number, random.random() < 0.2)
                except BaseException:
                    writer.lake = None
                    raise
        there = stored(base)
        assert len(there) == len(set(there))
        acknowledged = [number for writer in writers for number in writer.done]
        assert len(acknowledged) > 15
        assert set(acknowledged) <= set(there) <= set(range(60))
        for writer in writers:
            assert [n for n in there if n in set(writer.done)] == writer.done


@pytest.mark.parametrize("kind", KINDS)
def test_who_opens_later_keeps_out_who_opened_before(tmp_path, kind):
    """however much later the other comes back, and whatever was removed meanwhile"""
    base = Unlocked(MAKERS[kind](tmp_path / "lake"))
    first, second, third = Writer(base), Writer(base), Writer(base)
    first.add(1, False)
    second.add(2, False)
    for number in range(3, 29):
        second.add(number, number % 5 == 0)
    third.add(29, True)
    before = stored(base)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"taken over by process \d+ on .*: this process can only read"):
            first.lake.append({"version": 2}, {"a": change(99)})
    with pytest.raises(StoreError, match="taken over"):
        first.lake.commit({}, (), {})
    assert stored(base) == before == [*range(1, 30)]
    first.lake.reload()
    assert rows_of(first.lake) == before
    with pytest.raises(StoreError, match="taken over"):
        first.lake.append({"version": 2}, {"a": change(99)})
    with pytest.raises(StoreError, match="taken over"):
        second.add(30, False)
    third.add(30, True)
    assert stored(base) == [*before, 30]


@pytest.mark.parametrize("keep", [0, 1, 7, 100])
def test_versions_that_are_kept_are_read_as_they_were(keep):
    """through flushes, merges of files, and owners that come and go; what is not kept is refused, and its files go"""
    base, random, history = MemoryStore(), Random(keep), [list[int]()]
    lake = Lake(base)
    lake.keep = keep
    lake.commit({}, (), {"version": 0})
    oldest = 0
    for number in range(1, 60):
        lake.append({"version": number}, {"a": change(number)})
        history.append([*history[-1], number])
        fate = random.random()
        if fate < 0.25:  # what is in the log goes to a file of its own
            before = lake.manifest.relations.get("a", RelationFiles())
            there = {n for name in before.names for n in pq.read_table(base.open(name))["k0"].to_pylist()}
            file = lake.write_changes("a", change(*(n for n in history[-1] if n not in there)))
            lake.commit({"a": RelationFiles(before.base, (*before.changes, file))}, (), {"version": number})
        elif fate < 0.4 and "a" in lake.manifest.relations:  # files are merged, the log stays
            names = lake.manifest.relations["a"].names
            rows = [n for name in names for n in pq.read_table(base.open(name))["k0"].to_pylist()]
            run = lake.write_run(lake.fresh("a"), change(*rows), 10)
            lake.exchange({"a": RelationFiles(run)})
        elif fate < 0.5:
            lake.close()
            lake = Lake(base)
            assert lake.keep == keep
            list(lake.replay())
            lake.claim()
        for version in {max(0, number - keep), number, random.randrange(number + 1)}:
            try:
                found = rows_of(Lake(base, readonly=True, version=version))
            except StoreError as error:
                assert version < number - keep, error
                assert "is not kept" in str(error)
                oldest = max(oldest, version)
            else:
                assert sorted(found) == history[version]
    assert oldest > 0 or keep == 100
    lake.keep = 0
    for _ in range(3):
        lake.commit(lake.manifest.relations, (), {"version": 59})
    lake.sweep()
    named = {name for name in base.blobs if name.startswith("data/")}
    assert named == lake.manifest.files
    assert len(base.blobs) < 60


def test_a_reader_follows_a_writer_and_writes_nothing():
    base = MemoryStore()
    writer = Writer(base)
    writer.add(1, False)
    reader = Lake(base, readonly=True)
    assert rows_of(reader) == [1]
    before = dict(base.blobs)
    for act in (
        reader.claim,
        lambda: reader.append({}, {}),
        lambda: reader.commit({}, (), {}),
        lambda: reader.fresh("a"),
    ):
        with pytest.raises(StoreError, match="reading only"):
            act()
    assert base.blobs == before
    assert not reader.has_moved()
    for number in range(2, 90):
        writer.add(number, number % 7 == 0)
        if number % 11 == 0:
            assert reader.has_moved()
            reader.reload()
            assert rows_of(reader) == [*range(1, number + 1)]
            assert not reader.has_moved()
    with pytest.raises(StoreError, match="there is no lake"):
        Lake(MemoryStore(), readonly=True)


def test_what_a_listing_lacks_is_found():
    """records and files that were put a moment ago"""
    late = FaultyStore(MemoryStore(), Random(0), 0, lag=3)
    writer = Writer(late)
    for number in range(40):
        writer.add(number, number % 3 == 0)
        assert stored(late) == [*range(number + 1)]


def test_who_reads_again_what_another_took_over_stays_out():
    """its own put failed, and meanwhile somebody else came: it does not write behind the other's records"""
    base = MemoryStore()
    first, second = Writer(base), Writer(base)
    first.add(1, False)
    second.add(2, False)
    first.lake.reload()
    assert rows_of(first.lake) == [1, 2]
    with pytest.raises(StoreError, match="taken over"):
        first.lake.append({"version": 3}, {"a": change(3)})
    second.add(4, False)
    assert stored(base) == [1, 2, 4]


def test_who_is_overtaken_while_it_opens_is_told(tmp_path):
    base = MemoryStore()
    Writer(base).add(1, False)
    late = Lake(base)
    Writer(base).add(2, False)
    with pytest.raises(StoreError, match="while it was opened"):
        late.claim()
    assert stored(base) == [1, 2]


def test_a_put_that_was_carried_out_twice_is_one(tmp_path):
    """its first answer was lost: the storage tried again by itself, and found the name taken"""

    class Twice(MemoryStore):
        def put_new(self, name: str, data: bytes) -> None:
            super().put_new(name, data)
            super().put_new(name, data)

    base = Twice()
    writer = Writer(base)
    writer.add(1, False)
    writer.add(2, False)
    assert stored(base) == [1, 2]


def test_what_a_writer_wrote_that_was_overtaken_is_removed_and_never_named(tmp_path):
    """files that it wrote for a large change go when the other opens, and its commit is refused"""
    base = MemoryStore()
    first, second = Writer(base), Writer(base)
    first.add(1, True)
    file = first.lake.write_changes("a", change(7))
    second.add(2, False)
    assert file.name not in base.blobs
    with pytest.raises(StoreError, match="taken over"):
        first.lake.commit({"a": RelationFiles((), (file,))}, (), {})
    assert stored(base) == [1, 2]
