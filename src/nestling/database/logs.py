"""What telling the changes of views asks of the logs, wherever these are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from nestling.database.rows import Row
from nestling.database.state import State
from nestling.database.watching import CurrentView, Logs, Taken, WatchedLevels
from nestling.values.label import Label

#: The flat rows of a view, and what finds those of its inner bags.
FlatRows = tuple[Iterable[tuple[Row, int]], Callable[[Label], Iterable[tuple[Row, int]]]]


class Logging(Protocol):
    """The logs of a state."""

    #: Who hears that nothing can be logged of a watched view any more.
    before_unlogged: Callable[[str], None]

    @property
    def state(self) -> State:
        """Whose views are logged."""

    def levels(self, name: str) -> WatchedLevels:
        """The levels of a view that are logged, or would be; none where nothing can be."""

    def start(self, name: str) -> None:
        """Log a view from now on."""

    def stop(self, name: str) -> None:
        """Log a view no more."""

    def taken(self, name: str) -> Taken:
        """What the last commit did to a view."""

    def untaken(self, name: str) -> None:
        """What was taken last is undone, and the view as it was before."""

    def source(self, name: str) -> tuple[CurrentView, Logs]:
        """What answers for a view, and what it has logged since that was taken."""

    def flat_rows(self, name: str) -> FlatRows:
        """The flat rows of a view that has levels."""
