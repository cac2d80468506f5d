"""A driver on a cluster of two executors, with a lake behind ``viewfs:``: ``test_on_cluster`` runs it in a process.

``cases``: the tables, views and changes that every engine runs, each in a database, beside the embedded one.
``killed``: executors die in the middle of batches, and tasks are run twice by speculation.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import nestling as nl
from nestling.engine.spark import limits
from tests.engines.spark.mounted import mounted
from tests.engines.spark.session import CLUSTER, EXECUTORS, SETTINGS
from tests.engines.suite.cases import CASES
from tests.engines.suite.test_engines import alike


def said(*what: object) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(" ".join(map(str, what)) + "\n")
    sys.stdout.flush()


def cluster_session(**more: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(CLUSTER)
    for name, value in {**SETTINGS, **EXECUTORS, **more}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_cases(spark: Any, address: str, names: list[str]) -> None:
    """Every answer is the embedded one's, by the driver and by Spark's jobs; also when it is opened again."""
    for name in names:
        case, path = CASES[name], f"{address}/{name.replace(' ', '_')}"
        embedded = nl.Database()
        for db in (embedded, nl.Database(spark=spark, path=path)):
            for table, (schema, key) in case.tables.items():
                db.table(table, schema, key=key)
            for view, text in case.views.items():
                db.view(view, text, language="python", strict=False)
            if db is not embedded:
                db.close()
        for number, move in enumerate(case.moves):
            db = nl.Database(spark=spark, path=path)
            for each in (embedded, db):
                with each.transaction() as change:
                    move(change)
            if number % 2 or number + 1 == len(case.moves):
                for view in case.views:
                    assert alike(db._read(view), embedded._read(view)), (name, view)
            db.close()
        with nl.Database(spark=spark, path=path, readonly=True) as db:
            # Not by verify: it compares quotients of decimals to the last digit, and Spark rounds them to 18 places.
            assert all(alike(db._read(view), embedded._read(view)) for view in case.views)
        said("ran", name)


def executors() -> list[int]:
    """The processes of executors that this one started."""
    found, mine = [], {os.getpid()}
    entries = sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    for pid in entries:
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if parent in mine:
            mine.add(pid)
            if b"CoarseGrainedExecutorBackend" in command:
                found.append(pid)
    return found


def run_killed(spark: Any, address: str, kills: int) -> None:
    """Large changes while executors are killed one after the other: each is there once, or was refused and is not."""
    limits.MAX_MERGED_ROWS, limits.MAX_ARROW_ROWS, limits.TIER_RUNS, limits.MIN_COMPACTED_ROWS = 0, 0, 2, 100
    db: Any = nl.Database(spark=spark, path=f"{address}/killed")
    db.table("T", "id BIGINT, g BIGINT", key="id")
    db.view("often", "SELECT g, count(*) AS n FROM T GROUP BY g")
    done, over, there = [0], threading.Event(), set[int]()

    def kill() -> None:
        while done[0] < kills and not over.is_set():
            if alive := executors():
                os.kill(alive[done[0] % len(alive)], signal.SIGKILL)
                done[0] += 1
            over.wait(1.5)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    batch = refused = 0
    while done[0] < kills or batch < 3:
        frame = spark.range(batch * 12_000, (batch + 1) * 12_000, 1, 4).selectExpr("id", "id % 5 AS g")
        before = db.version
        try:
            db.insert("T", frame)
        except Exception as error:  # noqa: BLE001 - Spark gives up on a job whose executors die again and again
            refused += 1
            said("refused", type(error).__name__)
        assert db.version in (before, before + 1)
        there |= {batch} if db.version > before else set()
        batch += 1
    over.set()
    killer.join()
    db.verify()
    assert len(db.table("T")) == 12_000 * len(there)
    assert sorted(map(tuple, db.views["often"])) == [(g, 2_400 * len(there)) for g in range(5)]
    db.close()
    with nl.Database(spark=spark, path=f"{address}/killed") as again:
        assert len(again.table("T")) == 12_000 * len(there)
        again.verify()
    said("killed", done[0], "batches", batch, "stored", len(there), "refused", refused)


if __name__ == "__main__":
    what, folder, *rest = sys.argv[1:]
    began = time.time()
    extra = {"spark.speculation": "true", "spark.speculation.multiplier": "1.1", "spark.speculation.quantile": "0.1",
             "spark.speculation.interval": "10ms", "spark.deploy.maxExecutorRetries": "-1",
             "spark.excludeOnFailure.enabled": "false", "spark.task.maxFailures": "50"}  # fmt: skip
    session = cluster_session(**(extra if what == "killed" else {}))
    where = mounted(session, Path(folder))
    if what == "cases":
        run_cases(session, where, rest or list(CASES))
    else:
        run_killed(session, where, int(rest[0]))
    session.stop()
    said(f"whole in {time.time() - began:.0f} s")
