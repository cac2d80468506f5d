"""kill -9 of the driver and its JVM in the middle of batches, of compaction and of streams.

What was acknowledged is there, once, and no more.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from re import findall
from typing import Any

import pytest

import nestling as nl
from tests.engines.spark.mounted import BEHIND, place

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[3]

APPLIES = """
import sys
import nestling as nl
import nestling.engine.spark.limits as limits
from tests.engines.spark.mounted import place
from tests.engines.spark.session import session

# Every so many epochs changes leave the log. All files are merged then, by so many rows at a time here, and the others
# beside the changes: 1, 0 does nothing else for most of the time.
limits.MAX_LOG_EPOCHS, limits.MAX_MERGED_ROWS = int(sys.argv[2]), int(sys.argv[3])
limits.TIER_RUNS, limits.MIN_COMPACTED_ROWS, limits.MAX_ARROW_ROWS = 2, 20, 60
db = nl.Database(spark=session(), path=place(session(), sys.argv[1]))
db.table("M", {"name": str, "gen": str}, key="name")
db.view("same", "[(m.name, n.name) for m in M for n in M if m.gen == n.gen]", language="python")
db.view("often", "[(g, sum(1 for m in M if m.gen == g)) for g in {m.gen for m in M}]", language="python")
if "d" not in db.documents:
    db.document("d", "<s><log/></s>")
db.view("late", "<r>{for $e in /s/log/e where $e/@n > 2 return $e}</r>", language="xquery")
print("ready", flush=True)
while True:
    n = db.version
    with db.transaction() as change:
        change.document("d").at("/s/log").insert(f'<e n="{n}">{"x" * 40}<f/></e>', "first" if n % 5 else "last")
        change.insert("M", [(f"a{n}", f"g{n % 3}"), (f"b{n}", f"g{n % 2}")])
        if n % 4 == 3:
            change.delete("M", key=f"a{n - 1}")
    print(db.version, flush=True)
"""

STREAMS = """
import sys, time
import nestling as nl
import nestling.engine.spark.limits as limits
from tests.engines.spark.session import session

limits.MAX_LOG_EPOCHS, limits.TIER_RUNS, limits.MIN_COMPACTED_ROWS, limits.MAX_MERGED_ROWS = 3, 2, 30, 20
spark = session()
db = nl.Database(spark=spark, path=sys.argv[1])
db.table("S", {"n": int, "gen": str})
db.view("often", "[(g, sum(1 for s in S if s.gen == g)) for g in {s.gen for s in S}]", language="python")
rows = spark.readStream.schema("n BIGINT, gen STRING").option("maxFilesPerTrigger", 1).json(sys.argv[2])
print("ready", flush=True)
found = db.version
stream = db.stream({"S": rows})
while stream.isActive:
    if db.version > found:
        found = db.version
        print(found, flush=True)
    time.sleep(0.02)
"""


def killed(wait: float, *command: str) -> int:
    """Run a writer, kill it some time after its first batch, and tell what it acknowledged."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with subprocess.Popen(
        [sys.executable, "-c", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment, start_new_session=True,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        first = writer.stdout.readline()
        time.sleep(wait)
        os.killpg(writer.pid, signal.SIGKILL)
        whole = [line for line in (first, *writer.stdout.readlines()) if line.endswith("\n")]
        return int(whole[-1])


def rows_after(version: int) -> set[tuple[str, str]]:
    """What the table of a writer that applies holds at a version."""
    found: set[tuple[str, str]] = set()
    for n in range(version):
        found |= {(f"a{n}", f"g{n % 3}"), (f"b{n}", f"g{n % 2}")}
        if n % 4 == 3:
            found.discard((f"a{n - 1}", f"g{(n - 1) % 3}"))
    return found


def survives(spark: Any, path: Path | str, wait: float, epochs: int, merged: int) -> None:
    acknowledged = killed(wait, APPLIES, str(path), str(epochs), str(merged))
    db = nl.Database(spark=spark, path=place(spark, path))

    assert acknowledged <= db.version <= acknowledged + 1
    assert {tuple(row) for row in db.table("M")} == rows_after(db.version)
    edits = db.document("d").at("/s/log").xml()
    assert sorted(map(int, findall('n="([0-9]+)"', edits))) == [*range(db.version)]
    db.verify()
    db.close()


def arrive(folder: Path, files: int) -> None:
    """Files of three rows each, the last two alike: a micro-batch each."""
    folder.mkdir()
    for n in range(files):
        rows = [{"n": n, "gen": f"g{n % 3}"}, {"n": n, "gen": "g"}, {"n": n, "gen": "g"}]
        (folder / f"{n:06d}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def files_of(checkpoint: Path, batches: int) -> set[int]:
    """The files that Spark took for the first batches: one each, or two where it was killed while it planned one."""
    last = json.loads((checkpoint / "offsets" / str(batches - 1)).read_text().splitlines()[-1])["logOffset"]
    entries = [
        json.loads(line)
        for log in (checkpoint / "sources" / "0").iterdir()
        if not log.name.startswith(".")
        for line in log.read_text().splitlines()[1:]
    ]
    return {int(Path(entry["path"]).stem) for entry in entries if entry["batchId"] <= last}


def streamed(spark: Any, path: Path, files: Path, wait: float) -> None:
    """A version is a batch, and the rows are those of Spark's batches, each once."""
    acknowledged = killed(wait, STREAMS, str(path), str(files))
    db = nl.Database(spark=spark, path=path)

    found = Counter(tuple(row) for row in db.table("S"))
    seen = files_of(path / "streams" / "stream", db.version)
    assert acknowledged <= db.version
    assert found == Counter({(n, f"g{n % 3}"): 1 for n in seen} | {(n, "g"): 2 for n in seen})
    db.verify()
    db.close()


def test_a_killed_driver_loses_nothing(spark, tmp_path):
    survives(spark, tmp_path / "lake", 1, 3, 20)


@pytest.mark.soak
def test_many_killed_drivers_lose_nothing(spark, tmp_path):
    """batches, compaction and streams in turn; what is left of the stream comes at the end"""
    random = Random(0)
    files = tmp_path / "files"
    arrive(files, 400)
    for _ in range(10):
        survives(spark, tmp_path / "lake", random.random() * 3, 3, 20)
        survives(spark, tmp_path / "lake", random.random() * 3, 1, 0)
        streamed(spark, tmp_path / "streamed", files, random.random() * 3)
    db: Any = nl.Database(spark=spark, path=tmp_path / "streamed")
    rows = spark.readStream.schema("n BIGINT, gen STRING").json(str(files))
    db.stream({"S": rows}, trigger={"availableNow": True}).awaitTermination()
    assert len(db.table("S")) == 3 * 400
    assert dict(db.views["often"].rows())["g"] == 2 * 400
    db.close()


@pytest.mark.soak
def test_killed_drivers_behind_a_scheme_lose_nothing(spark, tmp_path):
    """whoever comes next takes over from who was killed, without a lock"""
    random = Random(1)
    for _ in range(10):
        survives(spark, f"{BEHIND}{tmp_path}", random.random() * 3, 3, 20)
        survives(spark, f"{BEHIND}{tmp_path}", random.random() * 3, 1, 0)
