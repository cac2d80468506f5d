"""What one commit did to a view that is logged: a step of its trail."""

from __future__ import annotations

from collections.abc import Iterator

from nestling.database.document.model import Operation
from nestling.database.watching import Taken


class Step:
    """What one commit did to a view, and the step after it."""

    __slots__ = ("is_anew", "next", "patch", "taken", "version")

    def __init__(self, version: int, taken: Taken) -> None:
        self.version, self.taken = version, taken
        self.next: Step | None = None
        #: Whether documents have another order from here on.
        self.is_anew = False
        #: The JSON Patch, once a document has passed here.
        self.patch: list[Operation] | None = None

    def later(self) -> Iterator[Step]:
        """The steps after this one."""
        step = self.next
        while step is not None:
            yield step
            step = step.next
