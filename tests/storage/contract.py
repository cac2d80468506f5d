"""What every store does: the suite that all of them pass."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from nestling.storage.lake.store import BlobStore, NameTaken, temporary


def names(store: BlobStore, folder: str = "", deep: bool = False) -> list[str]:
    return [entry.name for entry in store.list(folder, deep) if entry.kind == "file"]


def a_name_is_given_once(store: BlobStore) -> None:
    store.put_new("log/1", b"one")
    with pytest.raises(NameTaken):
        store.put_new("log/1", b"other")
    assert store.get("log/1") == b"one"
    assert names(store, "log") == ["log/1"]


def of_many_who_put_one_name_one_wins(store: BlobStore, rounds: int = 10, threads: int = 4) -> None:
    for number in range(rounds):
        name, ready = f"log/{number:012d}.record", Barrier(threads)

        def put(who: int, name: str = name, ready: Barrier = ready) -> bool:
            ready.wait()
            try:
                store.put_new(name, bytes([who]) * 10_000)
            except NameTaken:
                return False
            return True

        with ThreadPoolExecutor(threads) as pool:
            won = list(pool.map(put, range(threads)))
        assert sum(won) == 1, won
        assert store.get(name) == bytes([won.index(True)]) * 10_000
    assert names(store, "log") == [f"log/{number:012d}.record" for number in range(rounds)]


def what_was_put_is_listed(store: BlobStore) -> None:
    assert store.list() == store.list("data") == store.list("data", deep=True) == []
    for number, name in enumerate(("data/a/rows-1/part-0.parquet", "data/a/x.parquet", "data/b", "log/1")):
        store.put_new(name, b"x" * number)
        assert name in names(store, name.rpartition("/")[0])
    assert [(entry.name, entry.kind) for entry in store.list()] == [("data", "folder"), ("log", "folder")]
    assert [entry for entry in store.list("data", deep=True) if entry.kind == "file"] == [
        ("data/a/rows-1/part-0.parquet", "file", 0), ("data/a/x.parquet", "file", 1), ("data/b", "file", 2),
    ]  # fmt: skip
    assert names(store, "data") == ["data/b"]
    assert names(store, "data/a") == ["data/a/x.parquet"]


def what_is_removed_is_gone_and_nothing_else(store: BlobStore) -> None:
    for name in ("data/a/1", "data/a/2", "data/b/1", "data/ab"):
        store.put_new(name, b"x")
    store.remove(["data/nothing", "nowhere/at/all", "data/a/1", "data/a"])
    assert names(store, deep=True) == ["data/a/2", "data/ab", "data/b/1"]
    store.remove(["data/a/1", "data/a/2", "data/a"])
    assert names(store, deep=True) == ["data/ab", "data/b/1"]
    with pytest.raises(FileNotFoundError):
        store.get("data/a/1")
    store.put_new("data/a/1", b"again")
    assert store.get("data/a/1") == b"again"


def what_is_not_there_is_not_found(store: BlobStore) -> None:
    with pytest.raises(FileNotFoundError):
        store.get("log/1")
    store.put_new("log/2", b"")
    assert store.get("log/2") == b""
    with pytest.raises(FileNotFoundError):
        store.get("log/1")
    store.remove([])


def parts_of_a_file_are_read(store: BlobStore) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nestling.storage.lake.files import footer, parquet_bytes

    table = pa.table({"k0": range(30_000), "k1": [f"{n * 7919 % 30_011:07d}" for n in range(30_000)]})
    store.put_new("data/a/rows.parquet", parquet_bytes(table, 10_000))
    assert footer(store, "data/a/rows.parquet").num_rows == 30_000
    group = pq.ParquetFile(store.open("data/a/rows.parquet")).read_row_group(1)
    assert group.equals(table.slice(10_000, 10_000))


def nothing_is_half_there(store: BlobStore) -> None:
    """what is put has another name until it is whole, which Spark and we overlook"""
    store.put_new("log/1", b"x" * 3_000_000)
    assert len(store.get("log/1")) == 3_000_000
    assert names(store, deep=True) == ["log/1"]
    assert temporary("log/1", "0" * 16).rpartition("/")[2].startswith(".")


CONTRACT = (
    a_name_is_given_once,
    of_many_who_put_one_name_one_wins,
    what_was_put_is_listed,
    what_is_removed_is_gone_and_nothing_else,
    what_is_not_there_is_not_found,
    parts_of_a_file_are_read,
    nothing_is_half_there,
)
