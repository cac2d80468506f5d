"""Streams of calls that take short turns: what one costs beside another, on a machine that has other things to do.

All that is compared gets the same stream, a few hundred calls at a time, each time in an order of its own: whoever ran
before leaves caches and branch predictors behind as it likes, and with one order for all turns the same code differed
from itself by a quarter. Other work can only add time, so of all rounds the quickest of each turn counts, and these are
summed. How far the figure of one thing is from that of a second copy of it says how far figures can be trusted. Ratios
are medians of several processes.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any

#: Calls in a turn: short beside what disturbs, long beside reading the clock.
TURN = 200

#: Where the package of benchmarks is.
HOME = Path(__file__).parent.parent.parent

Calls = list[tuple[Callable[..., object], tuple[Any, ...]]]


@dataclass
class Prepared:
    """What is called, and what is done at the end."""

    calls: Calls
    end: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Spent:
    """CPU seconds: of all calls, and of what is done at the end."""

    number: int
    seconds: float
    end: float

    @property
    def each(self) -> float:
        """Seconds of one call."""
        return self.seconds / self.number


def run(made: Prepared) -> None:
    """All calls, and the end."""
    _call(made.calls)
    made.end()


def turns(
    makers: Mapping[str, Callable[[], Prepared]], rounds: int, turn: int = TURN, seed: int = 1
) -> dict[str, Spent]:
    """What each of ``makers`` spends; all of them make equally many calls.

    >>> add = lambda: Prepared([(sum, ((1, 2),))] * 5, list)
    >>> spent = turns({"a": add, "b": add}, rounds=2, turn=2)
    >>> [(name, each.number, each.seconds > 0) for name, each in spent.items()]
    [('a', 5, True), ('b', 5, True)]
    """
    rng, order = Random(seed), list(makers)
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        rng.shuffle(order)
        made = {name: makers[name]() for name in order}
        gc.collect()  # so that no round pays for the rubbish of another
        for name, seconds in _round(made, order, turn, rng).items():
            best[name] = list(map(min, best.get(name, seconds), seconds))
    numbers = {name: len(each.calls) for name, each in made.items()}
    return {name: Spent(numbers[name], sum(best[name][:-1]), best[name][-1]) for name in makers}


def _round(made: Mapping[str, Prepared], order: list[str], turn: int, rng: Random) -> dict[str, list[float]]:
    """The seconds of each turn, and of the end."""
    (number,) = {len(each.calls) for each in made.values()}
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for start in range(0, number, turn):
        rng.shuffle(order)
        for name in order:
            calls = made[name].calls[start : start + turn]
            before = process_time()
            _call(calls)
            seconds[name].append(process_time() - before)
    for name in order:
        before = process_time()
        made[name].end()
        seconds[name].append(process_time() - before)
    return seconds


def _call(calls: Calls) -> None:
    """The loop that is timed."""
    for call, args in calls:
        call(*args)


#: So many processes measure, and of what they find the median counts.
PROCESSES = 3
#: What one process found.
Found = Mapping[str, Spent]


def in_fresh_processes(function: Callable[..., Found], *args: str | int | bool) -> list[Found]:
    """``function(number, *args)`` in processes of their own, one after the other; ``number`` says which it is.

    In a process that has done other things, what is built first lies scattered in memory and what is built later in a
    row: the same code differed from itself by a half.
    """
    where = [function.__module__, function.__name__]
    found: list[Found] = []
    for number in range(PROCESSES):
        call = [sys.executable, "-m", "benchmarks.parts.turns", json.dumps([*where, number, *args])]
        answer = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=HOME).stdout
        found.append({name: Spent(*each) for name, each in json.loads(answer).items()})
    return found


def ratio(found: Sequence[Found], one: str, other: str) -> float:
    """How many times as long a call of ``one`` takes as one of ``other``: the median of the processes."""
    return median(each[one].each / each[other].each for each in found)


def _fresh(module: str, function: str, *args: object) -> None:
    """What ``in_fresh_processes`` runs."""
    found: Found = getattr(import_module(module), function)(*args)
    print(json.dumps({name: astuple(each) for name, each in found.items()}))


if __name__ == "__main__":
    _fresh(*json.loads(sys.argv[1]))
