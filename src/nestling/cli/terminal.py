"""Where the commands write: answers to standard output, progress and problems to standard error.

Consoles are made when they are needed, since the streams and the environment may change between two commands.
Without a terminal they write plain text, a hundred columns wide.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

PLAIN_WIDTH = 100
#: Says how much more of the work is done.
Advance: TypeAlias = Callable[[int], None]


def answers() -> Console:
    """Standard output."""
    return _console(stderr=False)


def messages() -> Console:
    """Standard error."""
    return _console(stderr=True)


def forgive_encodings() -> None:
    """Let a stream that cannot write a ``✓`` write a ``?``, and not fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)


@contextmanager
def progress(title: str, total: int) -> Iterator[Advance]:
    """A bar that is there while the work lasts; nothing at all without a terminal."""
    console = messages()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda amount: bar.advance(task, amount)


def duration(seconds: float) -> str:
    """Seconds in a unit that fits.

    >>> [duration(s) for s in (0.0000273, 0.000273, 0.0273, 2.73)]
    ['27.3 µs', '273 µs', '27.3 ms', '2.73 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.2g} µs"


def ratio(slow: float, fast: float) -> str:
    """How many times ``fast`` fits into ``slow``, to two digits.

    >>> ratio(0.4, 0.00003), ratio(0.002, 0.0015)
    ('13,000 ×', '1.3 ×')
    """
    times = slow / fast
    if times < 10:
        return f"{times:.1f} ×"
    digits = len(str(int(times))) - 2
    return f"{round(times, -digits):,.0f} ×"


def counted(number: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "batch")
    ('1 row', '1,200 rows', '2 batches')
    """
    plural = f"{thing}es" if thing.endswith(("ch", "s")) else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"
