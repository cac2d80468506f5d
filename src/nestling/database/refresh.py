"""The result of a change: what it did, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nestling.database.notebook import listed_html

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Refresh(NamedTuple):
    """The result of one change or transaction.

    ``version`` counts committed changes, ``events`` the flat rows inserted and deleted, ``tables`` these by table, and
    ``statements`` the statements of the triggers that ran; ``changes`` has the change of each view with readers, and
    ``recomputed`` the views that the change recomputed, since on Spark that cost less than their triggers. There,
    ``queries`` counts those that Spark ran for it, each by some jobs: none, if the driver did it alone. ``bytes`` is
    what was written for it, to the log or to files, those that were needed in between included.
    """

    version: int
    seconds: float
    events: int
    statements: int
    tables: Mapping[str, int] = _NOTHING
    changes: Mapping[str, Any] = _NOTHING
    recomputed: tuple[str, ...] = ()
    queries: int = 0
    bytes: int = 0

    def _repr_html_(self) -> str:
        """What it did, for a notebook."""
        took = f"{self.seconds * 1000:.1f} ms"
        by = f", {self.queries:,} queries of Spark" if self.queries else ""
        title = f"version {self.version}: {self.events:,} rows, {self.statements:,} statements, {took}{by}"
        lines = [(table, f"{times:,} rows") for table, times in self.tables.items()]
        lines += [(view, "changed") for view in self.changes] + [
            (view, "recomputed") for view in self.recomputed
        ]
        return listed_html(title, ("table or view", "what"), lines)
