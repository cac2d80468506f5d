"""Whose turn it is: one thread at a time does what many ask for.

Law: an interrupt at any place leaves the turn free, at the latest for the thread that it hit: a lock that is taken just
before its ``try`` would stay taken for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident


class Turn:
    """What one thread does at a time; whoever finds it taken leaves the work to the one who has it."""

    __slots__ = ("_is_running", "_whose")

    def __init__(self) -> None:
        self._whose: dict[None, int] = {}
        self._is_running = False

    def take(self) -> bool:
        """Whether the turn is this thread's now. It is not where this thread is in the middle of it."""
        me = get_ident()
        return self._whose.setdefault(None, me) == me and not self._is_running

    def run(self, act: Callable[[], None]) -> None:
        """Do ``act``, and give the turn back."""
        try:
            self._is_running = True
            act()
        finally:
            self._is_running = False
            self._whose.clear()
