"""Who is told of the changes of XQuery views."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nestling.database.core import Core


class XmlWatches:
    """The subscribers of XQuery views."""

    def __init__(self, database: Core) -> None:
        self._database = database

    def deliver(self) -> None:
        """Tell what has changed since it was last told."""
