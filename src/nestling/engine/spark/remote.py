"""Sessions of Spark Connect: the client has no JVM, so what is asked of the driver's is asked in another way.

The sessions of one server share global temporary views. By these a DataFrame of the engine's session, whose settings
are its own, is read in the user's.
"""

from __future__ import annotations

import atexit
from contextlib import suppress
from typing import Any
from uuid import uuid4
from weakref import finalize


def is_connect(given: Any) -> bool:
    """Whether a session, or a DataFrame, is one of Spark Connect."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def end_with_process(session: Any, user: Any) -> None:
    """Let a session of ours end when this process does, if it has not ended before: before Spark's own way to end it,
    which calls a server that was stopped again and again, for ten minutes and for each session."""
    atexit.register(end_session, session, user)


def end_session(session: Any, user: Any) -> None:
    """End a session of ours, at the server too unless the user's has ended: the server may have been stopped with it.

    Not by ``stop``, which stops a server that was started for this process.
    """
    from pyspark.errors import PySparkException

    if not is_connect(session) or session.is_stopped:
        return
    if not user.is_stopped:
        with suppress(PySparkException):  # it has ended there by itself
            session.client.release_session()
    session.client.close()


class LentViews:
    """DataFrames that another session reads under a name that nobody else has.

    Law: a name is there while a DataFrame over it is, and until ``forget``; it is taken back with the next one lent.
    """

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self._place: str | None = None
        self._there: set[str] = set()
        self._unused: list[str] = []

    @property
    def place(self) -> str:
        """The database of names that all sessions know."""
        if self._place is None:
            self._place = str(self.spark.conf.get("spark.sql.globalTempDatabase", "global_temp"))
        return self._place

    def lend(self, frame: Any) -> Any:
        """``frame``, of whatever session, as a DataFrame of the user's; it is analysed as it is in its own."""
        self._take_back()
        name = f"nestling_lent_{uuid4().hex}"
        frame.createOrReplaceGlobalTempView(name)
        self._there.add(name)
        found = self.spark.table(f"{self.place}.{name}")
        # Not dropped here and now: who collects garbage may be in the middle of a call to the server.
        finalize(found._plan, self._unused.append, name).atexit = False
        return found

    def _take_back(self) -> None:
        while self._unused:
            self._drop(self._unused.pop())

    def _drop(self, name: str) -> None:
        if name in self._there:
            self._there.discard(name)
            self.spark.catalog.dropGlobalTempView(name)

    def forget(self) -> None:
        """Take all names back."""
        for name in tuple(self._there):
            self._drop(name)
