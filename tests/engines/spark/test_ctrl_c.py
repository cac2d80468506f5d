"""Ctrl-C in the middle of a change on Spark: its jobs are cancelled, and there is the state before or after."""

import gc
import os
import signal
import time
import traceback
from random import Random
from threading import Event, Thread
from typing import Any

import pytest

import nestling as nl

pytestmark = pytest.mark.xdist_group("spark")
ROWS = 20_000


def interrupted(change: Any, delay: float) -> bool:
    """Do a change while somebody types Ctrl-C after so many seconds; whether that came before its end."""
    over = Event()

    def typed() -> None:
        if not over.wait(delay):
            os.kill(os.getpid(), signal.SIGINT)

    hand, was_cut = Thread(target=typed), False
    try:
        hand.start()
        change()
    except KeyboardInterrupt:
        was_cut = True
    except Exception as error:
        was_cut = "KeyboardInterrupt" in "".join(traceback.format_exception(error))
        if not was_cut:
            raise
    try:
        over.set()
        hand.join()
        time.sleep(0.01)  # one that came at the last moment is raised here
    except KeyboardInterrupt:
        pass
    return was_cut


# py4j loses a connection in which it is interrupted; Python tells of its socket when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("times", [4, pytest.param(40, marks=pytest.mark.soak)])
def test_a_change_is_there_or_is_not(spark, tmp_path, times):
    random, cuts = Random(times), 0
    db: Any = nl.Database(spark=spark, path=tmp_path / "lake")
    db.table("t", "id BIGINT, g BIGINT", key="id")
    db.view("often", "SELECT g, count(*) AS n FROM t GROUP BY g")
    version, batches, taken = db.version, 0, 0.0
    for number in range(times + 1):
        rows = spark.range(number * ROWS, (number + 1) * ROWS).selectExpr("id", "id % 5 AS g")
        # The first is left alone and shows how long they take; it grows shorter, and what is cut says nothing of that.
        delay = taken * random.random() / 2 if number else 60.0
        began = time.perf_counter()
        was_cut = interrupted(lambda rows=rows: db.insert("t", rows), delay)
        taken = taken if was_cut else time.perf_counter() - began
        cuts += was_cut
        assert db.version in (version, version + 1)
        batches, version = batches + db.version - version, db.version
        assert len(db.table("t")) == batches * ROWS
    assert cuts
    db.verify()
    db.insert("t", [(-1, 0)])
    db.close()
    with nl.Database(spark=spark, path=tmp_path / "lake") as again:
        assert len(again.table("t")) == batches * ROWS + 1
        again.verify()
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    gc.collect()  # what was lost is told of here, and in no other test
