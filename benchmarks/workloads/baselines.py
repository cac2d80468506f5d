"""The speed of every hand-written baseline, beside the reference loop.

Run: ``python -m benchmarks.workloads.baselines [--runs K] [--collect] [--large]``. Only the events of tables
that a view reads count. The collector is off unless ``--collect`` is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import deep, nakamura, orderbook, related, tpch
from .harness import Job, collector, measure, ratios, show
from .workload import Baseline, Event, feed, relevant

LEAST = 200_000  # events in a run; a shorter stream is fed several times, each time to a new baseline

#: title, module, size
Sized = tuple[str, Any, Any]

SIZES: list[Sized] = [
    ("nakamura, 8k primary", nakamura, nakamura.Size()),
    ("related, n = 10k", related, related.Size()),
    ("orderbook, 10k a side", orderbook, orderbook.Size()),
    ("tpch, scale 0.02", tpch, tpch.Size()),
    ("deep, n = 10", deep, deep.Size(n=10)),
    ("deep, n = 1k", deep, deep.Size(n=1_000, orders=100)),
]
LARGE: list[Sized] = [
    ("related, n = 100k", related, related.Size(n=100_000)),
    ("orderbook, 1M events", orderbook, orderbook.Size(changes=1_000_000)),
    ("tpch, scale 0.1", tpch, tpch.Size(scale=0.1)),
    ("deep, n = 100k", deep, deep.Size(n=100_000, orders=4)),
]


def jobs(module: Any, size: Any) -> Iterator[tuple[str, Job]]:
    """For each view, and each variant of its baseline, the job of feeding it all events."""
    load, events = list(module.load(size)), list(module.events(size))
    variants = getattr(module, "VARIANTS", {})
    for view, part in module.HandWritten.PARTS.items():
        yield view, _job(part, load, events)
        for name, variant in variants.get(view, {}).items():
            yield f"{view}, {name}", _job(variant, load, events)


def _job(part: Callable[[], Baseline], load: list[Event], events: list[Event]) -> Job:
    on = part().on
    load, events = relevant(load, on), relevant(events, on)
    times = -(-LEAST // len(events))
    return Job(times * len(events), partial(_loaded, part, load, times), partial(_feed_all, events))


def _loaded(part: Callable[[], Baseline], load: list[Event], times: int) -> list[Baseline]:
    baselines = [part() for _ in range(times)]
    for baseline in baselines:
        feed(baseline.on, load)
    return baselines


def _feed_all(events: list[Event], baselines: list[Baseline]) -> None:
    for baseline in baselines:
        feed(baseline.on, events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--collect", action="store_true", help="leave the collector on")
    parser.add_argument("--large", action="store_true", help="the large sizes as well")
    arguments = parser.parse_args()
    for title, module, size in SIZES + LARGE * arguments.large:
        with collector(enabled=arguments.collect):
            timings = measure(dict(jobs(module, size)), arguments.runs)
        show(title, ["baseline", "events", "events/s", "of the loop", "spread"], ratios(timings))


if __name__ == "__main__":
    main()
