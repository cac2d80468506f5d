"""The frame around a transaction."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

from nestling.database.transaction import Transaction

if TYPE_CHECKING:
    from nestling.database.database import Database


class Commit:
    """``with db.transaction() as change``: what is done inside is committed at the end, or undone.

    Law (13): all of it, or nothing.
    """

    __slots__ = ("_change", "_database", "_started")

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Transaction:
        self._started = perf_counter()
        self._change = self._database._begin()
        return self._change

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, events = self._database, self._change.events
        try:
            if kind is not None:
                self._undo()
                return
            try:
                database._store(events)
            except BaseException:
                self._undo()
                raise
        finally:
            database._end()
        database._publish(events, self._seconds)

    def _undo(self) -> None:
        self._change.rollback()
        self._database.subscribers.discard()

    def _seconds(self) -> float:
        return perf_counter() - self._started
