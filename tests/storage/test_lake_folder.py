"""Which folders a lake takes, what it removes there, and what it makes of files that say something senseless."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

pa = pytest.importorskip("pyarrow", reason="a lake keeps Arrow tables: pip install nestling[spark]")

import pyarrow.parquet as pq  # noqa: E402 - after the skip

from nestling.errors import StoreError  # noqa: E402 - after the skip
from nestling.storage.lake import Lake, RelationFiles  # noqa: E402 - after the skip
from nestling.storage.lake.local import LocalStore  # noqa: E402 - after the skip
from tests.storage.lakes import of_kind, read, write  # noqa: E402 - after the skip

OLD = Path(__file__).parent / "fixtures" / "lake_1.zip"


def change(*numbers: int) -> Any:
    return pa.table({"k0": list(numbers), "m0": [1] * len(numbers)})


def contents(folder: Path) -> dict[str, Any]:
    """All that is in a folder: files with their bytes, links with their targets, folders."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def made(folder: Path) -> Path:
    """A lake with two relations in files, and two epochs in its log."""
    lake = Lake(folder)
    files = {name: lake.write_changes(name, change(1, 2)) for name in ("a", "b")}
    relations = {name: RelationFiles((), (file,)) for name, file in files.items()}
    lake.commit(relations, (("table", "t", "{}"),), {"version": 1})
    lake.append({"version": 2}, {"a": change(3)})
    lake.append({"version": 3}, {"b": change(4)}, emptied=["a"])
    lake.close()
    return folder


def opened(folder: Path) -> None:
    lake = Lake(folder)
    try:
        list(lake.replay())
    finally:
        lake.close()


# -- folders that are not ours

FOREIGN: dict[str, Callable[[Path], object]] = {
    "a folder data with files": lambda f: put(f, ("data/mine.parquet", "data/below/mine.parquet")),
    "an empty folder data": lambda f: (f / "data").mkdir(),
    "a folder log": lambda f: put(f, ("log/000000000001.changes",)),
    "one file": lambda f: (f / "notes.txt").write_text("x"),
    "a hidden file": lambda f: (f / ".keep").write_text(""),
    "a file called CURRENT": lambda f: (f / "CURRENT").write_text("MANIFEST-000001\n"),
    "JSON of others": lambda f: (f / "CURRENT").write_text('{"version": 3, "data": "data"}'),
    "JSON of others with a format": lambda f: (f / "CURRENT").write_text('{"format": 1, "files": []}'),
    "JSON that is no object": lambda f: (f / "CURRENT").write_text('["format", 1]'),
    "JSON that never ends": lambda f: (f / "CURRENT").write_text("[" * 100_000),
    "an empty CURRENT": lambda f: (f / "CURRENT").write_text(""),
    "bytes": lambda f: (f / "CURRENT").write_bytes(bytes(range(256))),
    "a folder CURRENT": lambda f: (f / "CURRENT").mkdir(),
    "a record of others": lambda f: put(f, ("log/000000000001.record",)),
    "a temporary without a lock": lambda f: (f / "CURRENT.tmp").write_text("x"),
    "a manifest of tomorrow": lambda f: (f / "CURRENT").write_text('{"lake": "nestling", "format": 4, "all": "new"}'),
    "a manifest of another lake": lambda f: (f / "CURRENT").write_text('{"lake": "delta", "format": 2}'),
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_a_folder_that_is_not_ours_is_refused_and_stays_as_it_is(tmp_path, what):
    folder = tmp_path / "theirs"
    folder.mkdir()
    FOREIGN[what](folder)
    (folder / "more").mkdir()
    before = contents(folder)
    with pytest.raises(StoreError):
        Lake(folder)
    assert contents(folder) == before


def test_a_manifest_without_its_files_removes_nothing(tmp_path):
    """somebody's own data beside a manifest that was copied there"""
    made(tmp_path / "lake")
    folder = tmp_path / "theirs"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "mine.parquet").write_text("x")
    shutil.copytree(tmp_path / "lake" / "log", folder / "log")
    before = contents(folder)
    with pytest.raises(StoreError, match="missing"):
        Lake(folder)
    assert contents(folder) == before


def test_a_lake_that_another_has_is_said_to_be_in_use(tmp_path):
    """also while files that its manifest named a moment ago go"""
    folder = made(tmp_path / "lake")
    lake = Lake(folder)
    for file in lake.manifest.files:
        (folder / file).unlink()
    with pytest.raises(StoreError, match="in use"):
        Lake(folder)
    lake.close()


@pytest.mark.parametrize("name", ["log", "data"])
def test_a_link_in_place_of_a_part_is_refused(tmp_path, name):
    folder = made(tmp_path / "lake")
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    before = contents(folder)
    with pytest.raises(StoreError, match="link to the whole folder"):
        Lake(folder)
    assert contents(folder) == before


def test_a_link_to_the_whole_folder_is_the_folder(tmp_path):
    made(tmp_path / "lake")
    (tmp_path / "link").symlink_to(tmp_path / "lake", target_is_directory=True)
    opened(tmp_path / "link")
    lake = Lake(tmp_path / "link")
    with pytest.raises(StoreError, match="in use"):
        Lake(tmp_path / "lake")
    lake.close()


def test_who_dies_while_a_lake_is_made_can_make_it_again(tmp_path):
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "CURRENT-lock").write_bytes(b"process        1234\n")
    (folder / "CURRENT.tmp").write_bytes(b"{")
    (folder / "log").mkdir()
    (folder / "log" / ".000000000001.record.0123456789abcdef.tmp").write_bytes(b"{")
    opened(folder)
    opened(folder)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "lake").write_text("x")
    for path in (tmp_path / "lake", tmp_path / "lake" / "below"):
        with pytest.raises(StoreError):
            Lake(path)
    assert (tmp_path / "lake").read_text() == "x"


def test_a_lake_that_could_not_be_used_leaves_nothing(tmp_path):
    Lake(tmp_path / "a" / "lake").withdraw()
    assert list(tmp_path.iterdir()) == []
    made(tmp_path / "lake")
    before = contents(tmp_path / "lake")
    Lake(tmp_path / "lake").withdraw()
    assert contents(tmp_path / "lake") == before


@pytest.mark.parametrize(
    "path",
    ["s3a://bucket/shop", "hdfs://host/shop", "hdfs:///shop", "dbfs:/shop", "gs://b/c", "abfss://c@a.dfs/x",
     "file://host/shop", "viewfs://lake/x", "S3A://b/c", "wasbs://x", "s3:",
     Path("s3a://bucket/shop"), Path("dbfs:/shop"), "", "a\0b"],
)  # fmt: skip
def test_what_is_no_local_folder_is_refused_by_name(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as error:
        Lake(path)
    assert error.value.hint
    assert str(path).partition(":")[0].replace("\0", "\\x00") in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a{b}", "{a,b}", "c[d]", "e*f", "g?h", "i\\j", "x*/lake"])
def test_a_folder_that_spark_takes_for_a_pattern_is_refused(tmp_path, name):
    with pytest.raises(StoreError, match="pattern"):
        Lake(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_local_folder_may_have_almost_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("./s3a:/bucket", "C:", "a:b", "12:/x"):
        Lake(path).close()


# -- the user's files in a folder of ours

MINE = (
    "notes.txt", "data/mine.parquet", "data/part-00000-x.parquet", "data/mine/rows.parquet", "log/notes.txt",
    "log/1.record", "log/abc.record", "log/000000000001.record.gz",
    "log/000000000001.changes", "log/000000000001/x", "streams/s/offsets/0",
    "data/0123456789abcdef01234567/mine.parquet", "data/0123456789abcdef01234567/changes-1.parquet",
    "data/0123456789abcdef01234567/rows-1/part-00000-x-c000.parquet",
    "data/0123456789abcdef01234567/rows-0123456789abcdef0123456789abcdef/mine.parquet",
    "data/0123456789abcdef01234567/rows-0123456789abcdef0123456789abcdef/mine/part-00000-x-c000.parquet",
)  # fmt: skip
OURS = (
    "log/.000000000009.record.0123456789abcdef.tmp",
    "data/0123456789abcdef01234567/.changes-1-0123456789abcdef0123456789abcdef.parquet.0123456789abcdef.tmp",
    "data/0123456789abcdef01234567/changes-1-0123456789abcdef0123456789abcdef.parquet",
    *(f"data/0123456789abcdef01234567/rows-0123456789abcdef0123456789abcdef/{name}" for name in (
        "part-00000-5d5c9e13-0f35-4e00-a20d-80c607aed8e4-c000.snappy.parquet", "_SUCCESS", "._SUCCESS.crc",
        ".part-00000-5d5c9e13-0f35-4e00-a20d-80c607aed8e4-c000.snappy.parquet.crc",
        "_temporary/0/_temporary/attempt_202611172223_0001_m_000000_1/part-00000-5d5c-c000.snappy.parquet",
        "_temporary/0/task_202611172223_0001_m_000000/part-00000-5d5c-c000.zstd.parquet",
    )),
)  # fmt: skip


def put(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def test_the_files_of_a_user_stay_and_ours_go(tmp_path):
    folder = made(tmp_path / "lake")
    put(folder, (*MINE, *OURS))
    outside = tmp_path / "outside"
    put(outside, OURS)
    links = {
        "data/ffffffffffffffffffffffff": outside / "data" / "0123456789abcdef01234567",
        "data/0123456789abcdef01234567/changes-2-0123456789abcdef0123456789abcdef.parquet": outside / OURS[3],
        "data/0123456789abcdef01234567/rows-f123456789abcdef0123456789abcdef": (outside / OURS[4]).parent,
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    elsewhere = contents(outside)
    for _ in range(2):
        lake = Lake(folder)
        list(lake.replay())
        lake.claim()
        lake.commit(lake.manifest.relations, lake.manifest.definitions, {})
        lake.discard()
        lake.close()
        there = contents(folder)
        assert [name for name in MINE if there.get(name) != name.encode()] == []
        assert [name for name in OURS if name in there] == []
        assert [name for name in links if name not in there] == []
        assert contents(outside) == elsewhere


def test_checksums_of_files_that_are_used_stay(tmp_path):
    lake = Lake(tmp_path / "lake")
    name = lake.fresh("a")
    folder = tmp_path / "lake" / name
    put(folder, (".part-00000-a-c000.snappy.parquet.crc", "_SUCCESS"))
    pq.write_table(change(1), folder / "part-00000-a-c000.snappy.parquet")
    lake.commit({"a": RelationFiles(lake.adopt(name))}, (), {})
    assert sorted(path.name for path in folder.iterdir()) == [
        ".part-00000-a-c000.snappy.parquet.crc", "part-00000-a-c000.snappy.parquet",
    ]  # fmt: skip
    lake.close()


# -- files that say something senseless

SENSELESS: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**40, float("nan"), "", "x", "../../secret.parquet", "/etc/passwd",
    "data/../../secret.parquet", [], [None], ["x"], [[]], {}, {"x": 1}, [["table", "t"]], "\ud800", "\0",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def mutants(value: Any) -> Iterator[Any]:
    """``value`` with each part replaced by what makes no sense there, left out, or twice there."""
    for path in places(value):
        for senseless in SENSELESS:
            yield mutated(value, path, partial(replaced, senseless))
        if path:
            yield mutated(value, path, lambda outer, key: outer.__delitem__(key))
            yield mutated(
                value, path, lambda outer, key: outer.append(outer[key]) if isinstance(outer, list) else None
            )


def replaced(other: Any, outer: Any, key: Any) -> None:
    outer[key] = other


def mutated(value: Any, path: tuple[Any, ...], act: Callable[[Any, Any], object]) -> Any:
    whole = [deepcopy(value)]
    outer: Any = whole
    for key in (0, *path)[:-1]:
        outer = outer[key]
    act(outer, (0, *path)[-1])
    return whole[0] if whole else None


def is_refused(folder: Path) -> bool:
    """Whether the folder is refused with a ``StoreError``, the only thing that may be raised."""
    before = set(folder.rglob("*"))
    try:
        opened(folder)
    except StoreError:
        assert before <= set(folder.rglob("*"))
        return True
    return False


def test_senseless_manifests(tmp_path):
    """the database, or a StoreError; files elsewhere stay"""
    put(tmp_path, ("secret.parquet",))
    folder, sound = tmp_path / "lake", made(tmp_path / "sound")
    last = of_kind(sound, "manifest")[-1]
    head, _ = read(last)
    results: list[bool] = []
    for mutant in mutants(head):
        if not results or not results[-1]:
            shutil.copytree(sound, folder, dirs_exist_ok=True)
        write(folder / "log" / last.name, mutant)
        results.append(is_refused(folder))
    assert sum(results) > 0.8 * len(results)
    assert (tmp_path / "secret.parquet").read_text() == "secret.parquet"


@pytest.mark.parametrize("whole", [False, True], ids=["body", "file"])
def test_senseless_manifests_of_former_lakes(tmp_path, whole):
    with zipfile.ZipFile(OLD.with_name("lake_3.zip")) as archive:
        archive.extractall(tmp_path / "lake")
    stored = json.loads((tmp_path / "lake" / "CURRENT").read_text())
    stored["body"]["definitions"], relations = [], stored["body"]["relations"]
    stored["body"]["relations"] = {name: relations[name] for name in sorted(relations)[:2]}
    results: list[bool] = []
    for mutant in mutants(stored if whole else stored["body"]):
        check = crc32(json.dumps(mutant, sort_keys=True).encode())
        (tmp_path / "lake" / "CURRENT").write_text(
            json.dumps(mutant if whole else {**stored, "body": mutant, "check": check})
        )
        results.append(is_refused(tmp_path / "lake"))
    assert sum(results) > 0.7 * len(results)


def test_senseless_epochs(tmp_path):
    folder = made(tmp_path / "lake")
    [first, _] = of_kind(folder, "epoch")
    head, parts = read(first)
    results: list[bool] = []
    for mutant in mutants(head):
        write(first, mutant, parts)
        results.append(is_refused(folder))
    assert sum(results) > 0.8 * len(results)


def test_any_cut_and_any_changed_byte_of_a_manifest_is_found(tmp_path):
    folder = made(tmp_path / "lake")
    last = of_kind(folder, "manifest")[-1]
    data = last.read_bytes()
    for at in range(0, len(data), 7):
        last.write_bytes(data[:at])
        with pytest.raises(StoreError):
            opened(folder)
        other = bytearray(data)
        other[at] ^= 1
        last.write_bytes(other)
        with pytest.raises(StoreError):
            opened(folder)


def test_an_epoch_of_another_lake_is_refused(tmp_path):
    for name in ("one", "other"):
        made(tmp_path / name)
    shutil.copy(of_kind(tmp_path / "one", "epoch")[0], tmp_path / "other" / "log")
    with pytest.raises(StoreError, match="another lake"):
        opened(tmp_path / "other")


@pytest.mark.parametrize(("former", "versions"), [("lake_1", [3, 4, 4]), ("lake_3", [6])])
def test_a_lake_of_a_former_format_opens_and_is_carried_over(tmp_path, former, versions):
    folder = tmp_path / "lake"
    with zipfile.ZipFile(OLD.with_name(f"{former}.zip")) as archive:
        archive.extractall(folder)
    before = contents(folder)
    lake = Lake(folder)
    assert [epoch.note["version"] for epoch in lake.replay()] == versions
    lake.close()
    assert contents(folder) == before  # it was only read
    for number in range(2):
        lake = Lake(folder)
        assert [epoch.note["version"] for epoch in lake.replay()] == [*versions, 7][: len(versions) + number]
        lake.append({"version": 7}, {})
        lake.close()
        assert not (folder / "CURRENT").exists()
        assert not list((folder / "log").glob("*.changes"))
    lake = Lake(folder)
    assert len(list(lake.replay())) == len(versions) + 2
    lake.commit(lake.manifest.relations, lake.manifest.definitions, {})
    lake.append({"version": 8}, {})
    lake.close()
    opened(folder)


@pytest.mark.parametrize("puts", range(6))
def test_a_former_lake_that_was_carried_over_in_part_is_the_former_one(tmp_path, monkeypatch, puts):
    """cut off after any record: nothing lost, nothing doubled"""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path / "lake")
    real, left = LocalStore.put_new, [puts]

    def cut(store: LocalStore, name: str, data: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        real(store, name, data)

    monkeypatch.setattr(LocalStore, "put_new", cut)
    lake = Lake(tmp_path / "lake")
    list(lake.replay())
    with pytest.raises(KeyboardInterrupt):
        lake.append({"version": 5}, {})
    lake.close()
    monkeypatch.undo()
    lake = Lake(tmp_path / "lake")
    assert [epoch.note["version"] for epoch in lake.replay()] == [3, 4, 4]
    lake.append({"version": 5}, {})
    lake.close()
    lake = Lake(tmp_path / "lake")
    assert [epoch.note["version"] for epoch in lake.replay()] == [3, 4, 4, 5]
    lake.close()
