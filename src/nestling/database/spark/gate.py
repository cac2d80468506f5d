"""Definitions change between readings: a reader finds an engine, and the views that it knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, local


class Gate:
    """Readers pass, many at a time; who replaces what they read waits until they are through.

    A reader waits for that moment alone, not for the time in which what replaces it is made.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._readers = 0
        self._is_closed = False
        self._own = local()

    @contextmanager
    def passing(self) -> Iterator[None]:
        """A block in which nothing is replaced."""
        if getattr(self._own, "is_inside", False):
            yield  # who is through waits for nobody
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._readers += 1
        self._own.is_inside = True
        try:
            yield
        finally:
            self._own.is_inside = False
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """A block in which nobody reads; one thread at a time comes here."""
        with self._changed:
            self._is_closed = True
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._readers)
            yield
        finally:
            with self._changed:
                self._is_closed = False
                self._changed.notify_all()
