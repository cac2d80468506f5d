"""Folders of relations: what was appended is there after reopening, whatever happened in between."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="a lake keeps Arrow tables: pip install nestling[spark]")

import pyarrow.parquet as pq  # noqa: E402 - after the skip

from nestling.errors import StoreError  # noqa: E402 - after the skip
from nestling.storage.lake import DataFile, Lake, RelationFiles  # noqa: E402 - after the skip
from tests.storage.lakes import records  # noqa: E402 - after the skip

KILLS = 8


def change(*numbers: int) -> Any:
    return pa.table({"k0": list(numbers), "m0": [1] * len(numbers)})


def everything(lake: Lake) -> dict[str, list[int]]:
    """All rows of all relations."""
    found: dict[str, list[int]] = {}
    for name, relation in lake.manifest.relations.items():
        for file in relation.names:
            found.setdefault(name, []).extend(pq.read_table(lake.store.open(file))["k0"].to_pylist())
    for epoch in lake.replay():
        found |= {name: [] for name in epoch.emptied}
        for name, table in epoch.changes.items():
            found.setdefault(name, []).extend(table["k0"].to_pylist())
    return found


def test_what_was_appended_is_there_again(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.append({"batch": 1}, {"a": change(1, 2), "b": change(3)})
    lake.append({"batch": 2}, {"a": change(4)})
    lake.close()
    again = Lake(tmp_path / "lake")

    assert [epoch.note for epoch in again.replay()] == [{"batch": 1}, {"batch": 2}]
    assert again.epoch == 2
    again.close()


def test_the_log_moves_to_files(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.append({}, {"a": change(1, 2)})
    file = lake.write_changes("a", change(1, 2))
    lake.commit({"a": RelationFiles((), (file,))}, (("view", "v", "text"),), {"batch": 1})
    lake.append({}, {"a": change(3)})
    lake.close()
    again = Lake(tmp_path / "lake")

    assert again.manifest.definitions == (("view", "v", "text"),)
    assert again.manifest.note == {"batch": 1}
    assert everything(again) == {"a": [1, 2, 3]}
    assert again.logged == 1
    again.close()


def test_a_relation_is_emptied_with_what_is_added_to_others(tmp_path):
    """what is in files and what is in the log; what the same epoch adds to it is there"""
    lake = Lake(tmp_path / "lake")
    file = lake.write_changes("a", change(1))
    lake.commit({"a": RelationFiles((), (file,))}, (), {})
    lake.append({}, {"a": change(2)})
    lake.append({}, {"a": change(3), "b": change(4)}, emptied=["a"])
    lake.close()
    again = Lake(tmp_path / "lake")

    assert everything(again) == {"a": [3], "b": [4]}
    again.close()


def test_two_commits_at_one_epoch(tmp_path):
    """a change that is in files already has no epoch of its own"""
    lake = Lake(tmp_path / "lake")
    files: tuple[DataFile, ...] = ()
    for number in (1, 2):
        files = (*files, lake.write_changes("a", change(number)))
        lake.commit({"a": RelationFiles((), files)}, (), {})

    assert everything(lake) == {"a": [1, 2]}
    lake.close()


def test_leftovers_are_removed(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.append({}, {"a": change(1)})
    lake.write_changes("a", change(9))
    (tmp_path / "lake" / "log" / ".000000000004.record.0123456789abcdef.tmp").write_bytes(b"half")
    lake.close()
    again = Lake(tmp_path / "lake")

    assert everything(again) == {"a": [1]}
    assert list((tmp_path / "lake" / "data").rglob("*.parquet"))  # whoever wrote it may name it yet
    again.claim()
    assert not list((tmp_path / "lake" / "data").rglob("*.parquet"))
    assert not list((tmp_path / "lake" / "log").glob(".*"))
    again.close()


def test_files_stay_for_those_who_read_them(tmp_path):
    """until the next commit but one; with a definition they go at once"""
    lake = Lake(tmp_path / "lake")
    names = []
    for number in range(3):
        lake.append({}, {"a": change(number)})
        names.append(lake.write_changes("a", change(number)))
        lake.commit({"a": RelationFiles((), (names[-1],))}, (), {})
        left = sorted(entry.name for entry in lake.store.list("data", deep=True) if entry.kind == "file")
        assert left == sorted(file.name for file in names[-2:])
    lake.commit({"a": RelationFiles((), (names[-1],))}, (("view", "v", ""),), {})
    assert [e.name for e in lake.store.list("data", deep=True) if e.kind == "file"] == [names[-1].name]
    lake.close()


def test_one_process_has_it(tmp_path):
    lake = Lake(tmp_path / "lake")
    with pytest.raises(StoreError):
        Lake(tmp_path / "lake")
    lake.close()
    Lake(tmp_path / "lake").close()


@pytest.mark.parametrize("at", [0, 5, 60, -3])
def test_damage_is_found(tmp_path, at):
    lake = Lake(tmp_path / "lake")
    lake.append({}, {"a": change(1, 2)})
    lake.close()
    file = records(tmp_path / "lake")[-1]
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)

    with pytest.raises(StoreError, match="damaged"), closing(Lake(tmp_path / "lake")) as again:
        list(again.replay())


def test_a_missing_epoch_is_found(tmp_path):
    lake = Lake(tmp_path / "lake")
    for i in range(3):
        lake.append({}, {"a": change(i)})
    lake.close()
    records(tmp_path / "lake")[-2].unlink()

    with pytest.raises(StoreError, match=r"000000000004\.record .* is missing"):
        Lake(tmp_path / "lake")


WRITER = """
import sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from nestling.storage.lake import Lake, RelationFiles
lake = Lake(sys.argv[1])
rows = [n for r in lake.manifest.relations.get("a", RelationFiles()).names
        for n in pq.read_table(lake.store.open(r))["k0"].to_pylist()]
for _, changes, _ in lake.replay():
    rows += changes["a"]["k0"].to_pylist()
while True:
    table = pa.table({"k0": [lake.epoch], "m0": [1]})
    lake.append({"batch": lake.epoch}, {"a": table, "b": table})
    rows.append(lake.epoch - 1)
    print(lake.epoch, flush=True)
    if lake.epoch % 7 == 0:
        whole = pa.table({"k0": rows, "m0": [1] * len(rows)})
        files = {n: lake.write_changes(n, whole) for n in "ab"}
        lake.commit({n: RelationFiles((), (f,)) for n, f in files.items()}, (), {})
"""


def test_a_killed_writer_loses_nothing(tmp_path):
    """after kill -9 at any moment: every acknowledged epoch is there, once, in both relations"""
    path = tmp_path / "lake"
    for number in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        ) as writer:  # fmt: skip
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(0.013 * number)
            writer.send_signal(signal.SIGKILL)
            acknowledged = int(([first, *writer.stdout.readlines()])[-1])
        lake = Lake(path)
        found = everything(lake)

        assert acknowledged <= lake.epoch <= acknowledged + 1
        assert found["a"] == found["b"] == list(range(lake.epoch))
        lake.close()
