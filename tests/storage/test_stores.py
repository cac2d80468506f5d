"""Every store keeps the contract; a lake over any of them loses nothing, whatever fails, and whoever else writes."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="a lake keeps Arrow tables: pip install nestling[spark]")

from nestling.errors import StoreError  # noqa: E402 - after the skip
from nestling.storage.lake import Lake, RelationFiles  # noqa: E402 - after the skip
from nestling.storage.lake.fsspec_store import FsspecStore  # noqa: E402 - after the skip
from nestling.storage.lake.local import LocalStore  # noqa: E402 - after the skip
from nestling.storage.lake.store import BlobStore  # noqa: E402 - after the skip
from tests.storage.blobs import FaultyStore, MemoryStore  # noqa: E402 - after the skip
from tests.storage.contract import CONTRACT  # noqa: E402 - after the skip

MAKERS: dict[str, Callable[[Any], BlobStore]] = {
    "local": LocalStore,
    "memory": lambda path: MemoryStore(),
    "fsspec": lambda path: FsspecStore(f"memory://{path}"),
}


@pytest.mark.parametrize("law", CONTRACT, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", MAKERS)
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
    import pyarrow.parquet as pq

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


@pytest.mark.parametrize("kind", MAKERS)
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


@pytest.mark.parametrize("kind", MAKERS)
def test_who_opens_later_keeps_out_who_opened_before(tmp_path, kind):
    """however much later the other comes back, and whatever was removed meanwhile"""
    base = Unlocked(MAKERS[kind](tmp_path / "lake"))
    first, second = Writer(base), Writer(base)
    first.add(1, False)
    second.add(2, False)
    for number in range(3, 30):
        second.add(number, number % 5 == 0)
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
    second.add(30, True)
    assert stored(base) == [*before, 30]


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
