"""Files are merged by tiers: what is written in all, how many there are, and what is cut short; without Spark."""

import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="files are Parquet: pip install nestling[spark]")

import pyarrow.parquet as pq  # noqa: E402 - after the skip

from nestling.calculus.types import FLOAT, INT, STR, Scalar  # noqa: E402 - after the skip
from nestling.engine.spark import durable, limits  # noqa: E402 - after the skip
from nestling.engine.spark.columns import Layout  # noqa: E402 - after the skip
from nestling.engine.spark.compaction import chosen, runs  # noqa: E402 - after the skip
from nestling.engine.spark.durable import EngineLake  # noqa: E402 - after the skip
from nestling.engine.spark.merging import summed_here  # noqa: E402 - after the skip
from nestling.engine.spark.state import LakeState, SourceRows, TempView  # noqa: E402 - after the skip
from nestling.engine.spark.types import arrow_table  # noqa: E402 - after the skip
from nestling.storage.lake import DataFile, Lake, RelationFiles  # noqa: E402 - after the skip
from tests.storage.interrupts import everywhere  # noqa: E402 - after the skip

BYTES = 10  # of a row


def run_of(number: int, rows: int, files: int = 1) -> tuple[DataFile, ...]:
    name = f"data/{'0' * 24}/rows-{number:032x}/part-"
    return tuple(DataFile(f"{name}{i}.parquet", rows // files, rows * BYTES // files) for i in range(files))


@pytest.mark.parametrize("base", [0, 100_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("batch", [100, 1_000, 20_000, 100_000, 1_000_000])
def test_a_row_is_written_ten_times_at_most(base, batch):
    """and there are never many runs; 20 tasks write 20 files at once, which are one run"""
    files = RelationFiles(run_of(0, base) if base else ())
    came, wrote, most = 0, 0, 0
    for number in range(1, 400):
        came, wrote = came + batch, wrote + batch
        files = RelationFiles(
            files.base, (*files.changes, *run_of(number, batch, 20 if batch > 20_000 else 1))
        )
        while (merge := chosen("s", files)) is not None:
            wrote += merge.rows
            found = merge.replaced(files, run_of(1000 + wrote, merge.rows))
            assert found is not None
            assert found.rows == files.rows
            files = found
        most = max(most, len(runs(files.changes)))
    assert files.rows == base + came
    assert most <= 5 * limits.TIER_RUNS
    # What was there has to be written once before what comes pays for it.
    assert wrote <= 10 * came + base + limits.MIN_COMPACTED_ROWS


def test_merging_here_sums_what_arrow_can():
    decimals = Layout((STR,), (INT, Scalar("decimal")))
    rows = [("a", 1, 5), ("b", 2, 1), ("a", -1, -5), (None, 1, 0)]
    assert sorted(summed_here(arrow_table(decimals.columns, rows), decimals)["m0"].to_pylist()) == [1, 2]
    # Sums that do not fit are left to those who have all of them: both rows stay.
    most = arrow_table([("k0", STR), ("m0", INT)], [("a", 2**63 - 1), ("a", 2**63 - 1)])
    assert summed_here(most, Layout((STR,))).num_rows == 2
    floats = Layout((FLOAT,))
    assert summed_here(arrow_table(floats.columns, [(0.0, 1), (1.5, 1), (1.5, 1)]), floats).num_rows == 2


# -- a lake whose files are merged

LAYOUT = Layout((INT, STR), order=(1, 0))


class Source:
    """A source "s" in a lake, without Spark: its rows are known from its files alone."""

    def __init__(self, folder: Path) -> None:
        self.lake = Lake(folder)
        self.folder = folder
        session: Any = SimpleNamespace(sparkContext=None)
        self.durable = EngineLake(self.lake, session, {"s": LAYOUT}, {"s": "table s"})
        self.durable.parts = lambda name, relation: (TempView("", relation.rows, relation.names),)  # type: ignore[method-assign]
        self.moment = LakeState(session, {"s": LAYOUT}, {"s": SourceRows()}, None)  # type: ignore[arg-type]
        self.moment.stored |= self.durable.load()
        self.lake.claim()

    def add(self, *numbers: int) -> None:
        moment = self.moment.next()
        moment.add("s", arrow_table(LAYOUT.columns, [(n, f"w{n % 3}", 1) for n in numbers]))
        self.durable.append({}, moment)
        self.moment = self.durable.tidy(moment)

    def compact(self) -> None:
        self.moment = self.durable.compacted(self.moment) or self.moment

    @property
    def files(self) -> RelationFiles:
        return self.lake.manifest.relations["table s"]

    def rows(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for name in self.files.names:
            table = pq.read_table(self.folder / name)
            for key, n in zip(table["k0"].to_pylist(), table["m0"].to_pylist(), strict=True):
                found[key] += n
        return found


@pytest.fixture
def based() -> None:
    """The first rows of a table are its base, as they are outside of these tests."""


@pytest.fixture(autouse=True)
def first_rows_are_changes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is merged are changes: without a base the first of them is one too."""
    if "based" not in request.fixturenames:
        monkeypatch.setattr(durable, "has_keys_once", lambda rows, layout: False)


@pytest.mark.usefixtures("based")
def test_the_first_rows_of_a_table_are_its_base(tmp_path):
    source = Source(tmp_path / "lake")
    source.add(1, 2)
    source.add(3)
    assert (len(source.files.base), len(source.files.changes)) == (1, 1)
    assert source.rows() == Counter([1, 2, 3])
    source.lake.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TIER_RUNS", 2)
    monkeypatch.setattr(limits, "MIN_COMPACTED_ROWS", 6)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("most", [0, 1_000], ids=["beside", "here"])
def test_what_is_merged_holds_the_same_rows(tmp_path, monkeypatch, most):
    """here or beside the changes, with changes that come meanwhile; opened again, and nothing left over"""
    monkeypatch.setattr(limits, "MAX_MERGED_ROWS", most)
    source = Source(tmp_path / "lake")
    for number in range(12):
        source.add(number, number + 100)
        source.compact()
        if not most and number % 3 == 2 and source.lake.beside.is_busy:
            source.lake.beside._thread.join()  # type: ignore[union-attr]
        assert source.rows() == Counter(n + extra for n in range(number + 1) for extra in (0, 100))
    while source.lake.beside.is_busy:
        time.sleep(0.001)
        source.compact()
    held = source.rows()
    assert len(source.files.files) < 8
    assert source.files.base
    source.lake.close()
    again = Source(tmp_path / "lake")
    assert again.rows() == held
    there = {path.relative_to(again.folder).as_posix() for path in (again.folder / "data").rglob("*.parquet")}
    assert there == again.lake.manifest.files
    again.lake.close()


@pytest.mark.usefixtures("small")
def test_a_merge_whose_files_are_gone_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_MERGED_ROWS", 0)
    source = Source(tmp_path / "lake")
    source.add(1)
    source.add(2)
    source.compact()
    assert source.lake.beside.is_busy
    moment = source.moment.next()
    moment.empty("s")
    moment.add("s", arrow_table(LAYOUT.columns, [(9, "x", 1)]))
    source.moment = source.durable.tidy(moment)
    source.lake.beside._thread.join()  # type: ignore[union-attr]
    source.compact()
    assert source.rows() == Counter([9])
    source.add(10)
    assert source.rows() == Counter([9, 10])
    source.lake.close()


@pytest.mark.usefixtures("small")
def test_a_merge_that_fails_is_told_and_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_MERGED_ROWS", 0)
    source = Source(tmp_path / "lake")
    source.add(1)
    source.add(2)
    with monkeypatch.context() as patch:
        patch.setattr("nestling.engine.spark.compactor.merged_here", lambda *_: 1 / 0)
        source.compact()
        source.lake.beside._thread.join()  # type: ignore[union-attr]
        with pytest.warns(RuntimeWarning, match="files of s were not merged: division by zero"):
            source.compact()
    assert source.rows() == Counter([1, 2])
    source.compact()
    assert not source.lake.beside.is_busy  # the same is not tried again at once
    source.add(3)
    source.compact()
    source.lake.beside._thread.join()  # type: ignore[union-attr]
    source.compact()
    assert len(source.files.files) == 1
    assert source.rows() == Counter([1, 2, 3])
    source.lake.close()


@pytest.mark.usefixtures("small")
def test_closing_ends_what_runs_beside(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_MERGED_ROWS", 0)
    source = Source(tmp_path / "lake")
    source.add(1)
    source.add(2)
    source.compact()
    source.lake.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nestling")]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("what", ["flush", "merge"])
def test_an_interrupt_anywhere_leaves_all_rows(tmp_path, what):
    """while changes leave the log, and while files are merged: the folder holds what was acknowledged, once"""
    number = 0

    def prepare() -> Source:
        nonlocal number
        number += 1
        source = Source(tmp_path / str(number))
        source.add(1, 2)
        if what == "merge":
            source.add(3, 4, 5, 6, 7)
            source.add(8)
        else:
            moment = source.moment.next()
            moment.add("s", arrow_table(LAYOUT.columns, [(n, "x", 1) for n in (3, 4)]))
            source.durable.append({}, moment)
            source.moment = moment
        return source

    def act(source: Source) -> None:
        if what == "merge":
            source.compact()
        else:
            source.moment = source.durable.tidy(source.moment)

    wanted = Counter(range(1, 9 if what == "merge" else 5))
    places = set()
    for source, where in everywhere(prepare, act, "/nestling/storage/lake/lake.py"):
        places.add(where)
        source.lake.close()
        again = Source(source.folder)
        found = again.rows()
        if again.moment.stored["s"].recent_rows:
            found.update(again.moment.stored["s"].recent["k0"].to_pylist())
        assert found == wanted, where
        again.add(99)
        assert again.rows()[99] == 1
        again.lake.close()
    assert len(places) >= 15
