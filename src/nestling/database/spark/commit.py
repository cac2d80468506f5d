"""The frame around a transaction on Spark."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from nestling.database.commit import Commit
from nestling.database.transaction import Transaction

if TYPE_CHECKING:
    from nestling.database.spark.database import SparkDatabase


class SparkCommit(Commit):
    """One at a time: the batches of a stream come from a thread of its own."""

    __slots__ = ()

    _database: SparkDatabase

    def __enter__(self) -> Transaction:
        self._database.begin_change()
        try:
            return super().__enter__()
        except BaseException:
            self._database.end_change()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._database.end_change()
