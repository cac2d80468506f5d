"""The folder behind a database on Spark, as a commit and a definition ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count

from nestling.database.backing import Definition
from nestling.database.definitions import TableDef, ViewDef
from nestling.database.journal import Journal
from nestling.database.spark.journal import LakeJournal, now
from nestling.database.spark.remembered import stored_definitions
from nestling.database.spark.state import SparkState
from nestling.database.spark.watching import feed_name
from nestling.database.state import State

#: Per stream, the query that feeds it and the last micro-batch of it that is stored.
Batches = dict[str, tuple[str, int]]


class LakeStore:
    """A lake. Definitions are stored with the engine that they lead to, by the state; ``after`` ends every commit."""

    edits = 0

    def __init__(self, state: SparkState, after: Callable[[], None]) -> None:
        self.state, self._after = state, after
        self._drawn = 0
        self.take_up()

    def take_up(self) -> None:
        """Go on from what the folder says."""
        self._drawn = max(self._drawn, int(self.state.note.get("numbers", 0)))
        self.numbers = count(self._drawn)
        self.arriving = self.batches
        self.state.coming = (self.version, now())
        self.state.follow()

    def doubting(self) -> AbstractContextManager[None]:
        """A block in which memory may change: whatever is raised but a refusal, the folder is read again."""
        return self.state.lake.doubting()

    @property
    def version(self) -> int:
        """How many changes were stored: it is stored with them."""
        return self.state.stored_version

    @property
    def batches(self) -> Batches:
        """The micro-batches of streams that are stored."""
        streams = self.state.note.get("streams", {})
        return {name: (query, number) for name, (query, number) in streams.items()}

    def append(self, journal: Journal) -> None:
        """Store a change, and with it its version, the next number, and where streams are."""
        assert isinstance(journal, LakeJournal)
        self._drawn = next(self.numbers)
        version, _ = self.state.coming
        journal.store({"version": version, "numbers": self._drawn + 1, "streams": self.arriving})

    def has_stored(self, version: int) -> bool:
        """What was cut off is found when the folder is read again."""
        return False

    def tidy(self, state: State) -> None:
        """Flush and compact files where that is due, and publish anew what is published."""
        with self.state.lake.doubting():
            if self.state.running.tidy():
                trim(self.state, self.version)
        self._after()

    def define(self, kind: str, definition: TableDef | ViewDef, state: State) -> None:
        """It is stored already."""

    def define_again(self, names: Iterable[str], state: State) -> None:
        """It is stored already."""

    def redefine(
        self, new: Iterable[tuple[str, Definition]], gone: Iterable[tuple[str, str]], state: State
    ) -> None:
        """It is stored already."""

    def close(self) -> None:
        """End the use of the folder."""
        self.state.lake.close()


def trim(state: SparkState, version: int) -> None:
    """Forget the oldest changes of feeds that are kept for some versions, where files are written anyway."""
    running, due = state.running, False
    for name, feed in state.views.feeds.items():
        if feed.versions is not None and version - feed.versions > feed.since:
            since = replace(feed, since=version - feed.versions)
            state.views = state.views.changed(name, feed=since)
            for level in state.views.watched[name]:
                running.keep(feed_name(level), f"k0 > {version - feed.versions}")
            due = True
    if due:
        running.tidied(stored_definitions(state))
