"""kill -9 of the driver and its JVM in the middle of batches: what was acknowledged is there, once, and no more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import nestling as nl

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[3]

WRITER = """
import sys
import nestling as nl
import nestling.engine.spark.durable as durable
from tests.engines.spark.session import session

durable.EPOCHS, durable.FILES = 3, 2
db = nl.Database(spark=session(), path=sys.argv[1])
db.table("M", {"name": str, "gen": str}, key="name")
db.view("same", "[(m.name, n.name) for m in M for n in M if m.gen == n.gen]", language="python")
db.view("often", "[(g, sum(1 for m in M if m.gen == g)) for g in {m.gen for m in M}]", language="python")
print("ready", flush=True)
while True:
    n = db.version
    with db.transaction() as change:
        change.insert("M", [(f"a{n}", f"g{n % 3}"), (f"b{n}", f"g{n % 2}")])
        if n % 4 == 3:
            change.delete("M", key=f"a{n - 1}")
    print(db.version, flush=True)
"""


def killed(path: Path, wait: float) -> int:
    """Run the writer, kill it some time after its first batch, and tell what it acknowledged."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment, start_new_session=True,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        first = writer.stdout.readline()
        time.sleep(wait)
        os.killpg(writer.pid, signal.SIGKILL)
        return int([first, *writer.stdout.readlines()][-1])


def rows_after(version: int) -> set[tuple[str, str]]:
    """What the writer's table holds at a version."""
    found: set[tuple[str, str]] = set()
    for n in range(version):
        found |= {(f"a{n}", f"g{n % 3}"), (f"b{n}", f"g{n % 2}")}
        if n % 4 == 3:
            found.discard((f"a{n - 1}", f"g{(n - 1) % 3}"))
    return found


def survives(spark: Any, path: Path, kills: int) -> None:
    random = Random(0)
    for _ in range(kills):
        acknowledged = killed(path, random.random() * 3)
        db = nl.Database(spark=spark, path=path)

        assert acknowledged <= db.version <= acknowledged + 1
        assert {tuple(row) for row in db.table("M")} == rows_after(db.version)
        db.verify()
        db.close()


def test_a_killed_driver_loses_nothing(spark, tmp_path):
    survives(spark, tmp_path / "lake", 1)


@pytest.mark.soak
def test_many_killed_drivers_lose_nothing(spark, tmp_path):
    survives(spark, tmp_path / "lake", 30)
