"""The bounded history of a view's changes.

Law: every change after version ``since`` is kept, and none before it.
"""

from __future__ import annotations

from collections import deque

from nestling.database.change import Change
from nestling.errors import NestlingError


class History:
    """The changes of one view since a version; the oldest go when there are more than ``most``.

    >>> from nestling.calculus.types import UNIT
    >>> from nestling.values.bag import EMPTY
    >>> kept = History("v", version=3)
    >>> kept.most = 2
    >>> for version in (4, 5, 7):
    ...     kept.add(Change("v", version, UNIT, EMPTY))
    >>> kept.since, [change.version for change in kept.after(4)]
    (4, [5, 7])
    """

    __slots__ = ("_kept", "_view", "since")

    def __init__(self, view: str, version: int) -> None:
        self._view, self.since = view, version
        self._kept: deque[Change] = deque(maxlen=0)

    @property
    def most(self) -> int:
        """How many changes are kept."""
        return self._kept.maxlen or 0

    @most.setter
    def most(self, most: int) -> None:
        gone = len(self._kept) - most
        if gone > 0:
            self.since = self._kept[gone - 1].version
        self._kept = deque(self._kept, maxlen=most)

    def add(self, change: Change) -> None:
        """Keep a change; the oldest makes room for it."""
        kept = self._kept
        if len(kept) == kept.maxlen:
            self.since = kept[0].version if kept else change.version
        kept.append(change)

    def withdraw(self, version: int) -> None:
        """Forget the changes after ``version``."""
        while self._kept and self._kept[-1].version > version:
            self._kept.pop()

    def after(self, version: int | None) -> list[Change]:
        """The changes after ``version``, oldest first; without one, all that are kept."""
        if version is None:
            return list(self._kept)
        if version < self.since:
            raise NestlingError(
                f"the history of {self._view} starts at version {self.since}, not at {version}",
                hint="read the view anew and go on from there: view.document() has a version; "
                "changes(history=…) keeps more of them",
            )
        return [change for change in self._kept if change.version > version]
