"""How deep a query may be nested, and room for what goes through one that is.

A sum of 500 columns is a term 500 levels deep, and every pass over it some calls inside one another per level: more
than Python allows by default. The limit is raised while such a pass runs, and stays what it was for everybody else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

#: Levels of a term. Python's own compiler and the stack of a thread bear this many at least.
MOST_LEVELS = 1_000
#: Calls inside one another: what a pass makes of so many levels, and a parser of so many parentheses.
_CALLS = 10_000


class _Room:
    """How many passes are under way, in whatever threads, and the limit that stood before the first."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = Lock(), 0, 0

    def enter(self) -> None:
        with self.lock:
            if not self.inside:
                self.before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self.before, _CALLS))
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                sys.setrecursionlimit(self.before)


_ROOM = _Room()


@contextmanager
def room() -> Iterator[None]:
    """Let calls be nested as deep as a query may be."""
    _ROOM.enter()
    try:
        yield
    finally:
        _ROOM.leave()
