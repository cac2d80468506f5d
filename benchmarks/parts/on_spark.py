"""What Spark did, and what it cost: jobs and bytes from its status store, CPU seconds of all processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1", "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g",
    "spark.log.level": "ERROR", "spark.sql.catalogImplementation": "in-memory", "spark.ui.retainedJobs": "1000",
    "spark.ui.retainedStages": "3000",
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Seconds by the wall and by CPU; jobs, bytes read, shuffled and written by Spark, and rows shuffled."""

    wall: float
    cpu: float
    jobs: int = 0
    read: int = 0
    shuffled: int = 0
    written: int = 0
    rows: int = 0

    def row(self) -> list[str]:
        size = [f"{n / 1e6:,.1f}" for n in (self.read, self.shuffled, self.written)]
        return [f"{self.cpu:,.2f}", f"{self.wall:,.2f}", f"{self.jobs:,}", *size]


COLUMNS = ["CPU s", "wall s", "jobs", "MB read", "MB shuffled", "MB written"]


def cpu_seconds(pid: int | None = None) -> float:
    """What this process and all below it have used, also those that have ended."""
    tick, own = os.sysconf("SC_CLK_TCK"), pid or os.getpid()
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / tick
    below, some = {own}, True
    while some:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        below, some = below | more, bool(more)
    if (
        pid is None
    ):  # of this process time is known closer than to a tick, but for that of its children that ended
        used[own] = process_time() + sum(os.times()[2:4])
    return sum(used[pid] for pid in below if pid in used)


@dataclass
class Meter:
    """Measures what is done inside ``of``."""

    spark: Any
    last: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        context = self.spark.sparkContext._jsc.sc()
        self.bus, self.store = context.listenerBus(), context.statusStore()
        self.bus.waitUntilEmpty()
        jobs = self.store.jobsList(None)
        self.last = max([-1, *(jobs.apply(i).jobId() for i in range(jobs.size()))])

    def of(self, action: Callable[..., object], *args: object) -> Cost:
        """What ``action`` of ``args`` costs."""
        self._new_jobs()
        wall, used = perf_counter(), cpu_seconds()
        action(*args)
        wall, used = perf_counter() - wall, cpu_seconds() - used
        jobs = self._new_jobs()
        # A stage that several jobs name ran once.
        stages = {job.stageIds().apply(i) for job in jobs for i in range(job.stageIds().size())}
        known = [self.store.lastStageAttempt(stage) for stage in stages]
        return Cost(
            wall,
            used,
            len(jobs),
            sum(stage.inputBytes() for stage in known),
            sum(stage.shuffleWriteBytes() for stage in known),
            sum(stage.outputBytes() for stage in known),
            sum(stage.shuffleWriteRecords() for stage in known),
        )

    def _new_jobs(self) -> list[Any]:
        """The jobs since the last look: they are numbered, and each is a call of its own."""
        from py4j.protocol import Py4JJavaError

        self.bus.waitUntilEmpty()
        new: list[Any] = []
        while True:
            try:
                new.append(self.store.job(self.last + 1))
            except Py4JJavaError:  # there is none
                return new
            self.last += 1
