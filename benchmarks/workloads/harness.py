"""How things are timed: CPU time, the median of some runs, and everything to be compared taking turns.

Other work on the machine disturbs all runs of a round alike, so ratios are steadier than times. Every table
names the speed of a reference loop measured between the runs, so that figures of two machines can be set side
by side.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any

REFERENCE = "reference loop"
REFERENCE_STEPS = 1_000_000
REFERENCE_KEYS = 1_000


@dataclass(frozen=True)
class Job:
    """Something to be timed: ``body(prepare())`` does ``steps`` steps; the clock runs in ``body`` only."""

    steps: int
    prepare: Callable[[], Any]
    body: Callable[[Any], object]


@dataclass(frozen=True)
class Timing:
    """The CPU seconds of each run of a job."""

    steps: int
    seconds: tuple[float, ...]

    @property
    def per_second(self) -> float:
        """Steps in a second, by the median run."""
        return self.steps / max(median(self.seconds), 1e-9)

    @property
    def spread(self) -> float:
        """How far the slowest run is from the fastest, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / max(median(self.seconds), 1e-9)


def slower(job: Timing, base: Timing) -> float:
    """How many times as long a step of ``job`` takes as one of ``base``: the median of the rounds.

    What disturbs a round disturbs both, so this is steadier than the quotient of two medians.
    """
    return median(j / b for j, b in zip(job.seconds, base.seconds, strict=True)) * base.steps / job.steps


def measure(jobs: Mapping[str, Job], runs: int = 5) -> dict[str, Timing]:
    """Time every job ``runs`` times, in rounds: one run of each job, then the next round.

    The reference loop is a job of every round. The collector stays as the caller set it; see ``collector``.
    """
    jobs = {REFERENCE: reference_job(), **jobs}
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(runs):
        for name, job in jobs.items():
            seconds[name].append(_time(job))
    return {name: Timing(job.steps, tuple(seconds[name])) for name, job in jobs.items()}


def _time(job: Job) -> float:
    state = job.prepare()
    gc.collect()  # so that no run pays for the rubbish of another
    start = process_time()
    job.body(state)
    return process_time() - start


def reference_job() -> Job:
    """The loop ``d[k] = d.get(k, 0) + 1`` over a thousand keys."""
    return Job(REFERENCE_STEPS, _reference_keys, _reference_loop)


def _reference_keys() -> list[int]:
    return [7 * step % REFERENCE_KEYS for step in range(REFERENCE_STEPS)]


def _reference_loop(keys: list[int]) -> None:
    d: dict[int, int] = {}
    for k in keys:
        d[k] = d.get(k, 0) + 1


@contextmanager
def collector(
    enabled: bool = True, thresholds: tuple[int, int, int] | None = None, freeze: bool = False
) -> Iterator[None]:
    """The garbage collector set as said, and as it was before afterwards.

    ``freeze`` keeps what is alive at the beginning out of all collections; afterwards nothing is frozen.
    """
    was_enabled, were_thresholds = gc.isenabled(), gc.get_threshold()
    try:
        if freeze:
            gc.collect()
            gc.freeze()
        gc.set_threshold(*(thresholds or were_thresholds))
        (gc.enable if enabled else gc.disable)()
        yield
    finally:
        if freeze:
            gc.unfreeze()
        gc.set_threshold(*were_thresholds)
        (gc.enable if was_enabled else gc.disable)()


def ratios(timings: Mapping[str, Timing], base: str = REFERENCE) -> list[list[str]]:
    """For each job: name, steps, steps in a second, how many times the speed of ``base``, spread."""
    return [
        [
            name,
            f"{timing.steps:,}",
            f"{timing.per_second:,.0f}",
            f"{timing.per_second / timings[base].per_second:.3f}",
            f"{timing.spread:.0%}",
        ]
        for name, timing in timings.items()
    ]


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, plain: bool = False) -> None:
    """Print a table; with rich where it is installed. The first column is text, the others are figures."""
    if plain or find_spec("rich") is None:
        print(plain_table(title, header, rows))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for at, name in enumerate(header):
        table.add_column(name, justify="left" if not at or name == "remark" else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def plain_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as text.

    >>> print(plain_table("speeds", ["job", "per s"], [["a", "1,000"], ["bb", "9"]]))
    speeds
    job  per s
    a    1,000
    bb       9
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in (header, *rows))
    ]
    return "\n".join([title, *(line.rstrip() for line in lines)])
