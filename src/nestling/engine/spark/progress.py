"""What a load or a definition does at the moment, on one line of the terminal; without a terminal, nothing.

Whoever begins the work opens the line, and whoever does a part of it says so, wherever that is.

Law: where standard error is no terminal, nothing is written; where it is one, nothing is left of the line at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TextIO

#: Columns of a terminal that a line may have: a longer one would wrap, and stay.
WIDTH = 79


class ProgressLine:
    """A line that says what is being done, and for how long it has been going on."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self.title, self.stream = title, stream
        self.began, self.width = monotonic(), 0

    def say(self, text: str) -> None:
        """Replace what the line says."""
        told = f"{self.title}: {text} ({monotonic() - self.began:.0f} s)"[:WIDTH]
        self._write(told)
        self.width = len(told)

    def erase(self) -> None:
        """Leave nothing of it."""
        self._write("")
        self.stream.write("\r")
        self.stream.flush()

    def _write(self, text: str) -> None:
        self.stream.write(f"\r{text.ljust(self.width)}")
        self.stream.flush()


_LINE: ContextVar[ProgressLine | None] = ContextVar("the line of this work", default=None)


@contextmanager
def shown(title: str) -> Iterator[None]:
    """A line for the work within, unless it is a part of work that has one."""
    if _LINE.get() is not None or not sys.stderr.isatty():
        yield
        return
    line = ProgressLine(title, sys.stderr)
    token = _LINE.set(line)
    try:
        yield
    finally:
        _LINE.reset(token)
        line.erase()


def say(text: str) -> None:
    """Say what is being done now, where somebody sees it."""
    line = _LINE.get()
    if line is not None:
        line.say(text)
