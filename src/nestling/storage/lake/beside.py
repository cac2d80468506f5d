"""Work that is done beside the changes of a lake, one piece at a time, in a thread of its own.

Such work reads files, which never change, and writes others, which nobody knows of: it takes no lock, and whatever cuts
it short has changed nothing. Who changes the lake takes up the result, between two changes, if it is still of use.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple


class Finished(NamedTuple):
    """What came of a piece of work: a result, or what was raised instead."""

    what: Any
    result: Any
    error: Exception | None


class Beside:
    """At most one piece of work."""

    def __init__(self) -> None:
        self._what: Any = None
        self._thread: Thread | None = None
        self._cancel: Callable[[], None] = lambda: None
        self._result: Any = None
        self._error: Exception | None = None

    @property
    def is_busy(self) -> bool:
        """Whether there is work that nobody has taken up."""
        return self._thread is not None

    def start(self, what: Any, work: Callable[[], Any], cancel: Callable[[], None]) -> None:
        """Begin ``work``, which is known as ``what``; ``cancel`` makes it end soon."""
        assert not self.is_busy
        self._what, self._result, self._error, self._cancel = what, None, None, cancel

        def run() -> None:
            try:
                self._result = work()
            except Exception as error:  # noqa: BLE001 - told to whoever takes it up
                self._error = error

        self._thread = Thread(target=run, name=f"nestling: {what}", daemon=True)
        self._thread.start()

    def take(self, wait: bool = False) -> Finished | None:
        """What came of it, if it has ended; or wait for it."""
        if self._thread is None or (self._thread.is_alive() and not wait):
            return None
        self._thread.join()
        self._thread = None
        return Finished(self._what, self._result, self._error)

    def stop(self) -> None:
        """End the work, and forget it."""
        if self._thread is not None:
            with suppress(Exception):  # what it would cancel may have ended by itself
                self._cancel()
            self._thread.join()
            self._thread = None
