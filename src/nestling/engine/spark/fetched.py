"""Rows by what stands in some of their columns: many are fetched by one query, and remembered while their table stays.

A transaction checks and changes rows one by one; Spark finds many at once. So what a change will look up is fetched
before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from nestling.engine.described import Places
from nestling.engine.protocol import Row
from nestling.engine.spark import limits
from nestling.engine.spark.state import LakeState
from nestling.program.statements import Program

Counts = dict[Row, int]


class Searched(Protocol):
    """What the rows are fetched from."""

    @property
    def program(self) -> Program: ...
    @property
    def now(self) -> LakeState: ...
    def matching(self, name: str, positions: Sequence[int], keys: Sequence[Row]) -> list[Row]: ...


class Fetched:
    """The rows of tables that have been looked up."""

    def __init__(self, engine: Searched) -> None:
        self._engine = engine
        #: By table and columns: the table that they were fetched from, and by what stands there the rows.
        self._slices: dict[tuple[str, Places], tuple[object, dict[Row, Counts]]] = {}

    def having(self, table: str, places: Places, part: Row) -> Counts:
        """The rows that have ``part`` at ``places``."""
        known = self._known(table, places)
        if part not in known:
            self.fetch(table, places, [part])
        return known[part]

    def has(self, table: str, places: Places, part: Row) -> bool:
        """Whether these rows are here already."""
        return part in self._known(table, places)

    def fetch(self, table: str, places: Places, parts: Iterable[Row]) -> None:
        """Find the rows that have one of ``parts`` at ``places``, all in one query."""
        known = self._known(table, places)
        wanted = {part: None for part in parts if part not in known}
        if not wanted:
            return
        if len(known) + len(wanted) > limits.MAX_REMEMBERED_KEYS:
            known.clear()
        found: dict[Row, Counts] = {part: {} for part in wanted}
        for entry in self._engine.matching(table, places, list(wanted)):
            found[tuple([entry[i] for i in places])][entry[:-1]] = entry[-1]
        known |= found

    def _known(self, table: str, places: Places) -> dict[Row, Counts]:
        stored = self._engine.now.stored[table]
        of, known = self._slices.get((table, places), (None, {}))
        if of is not stored:
            known = {}
            self._slices[table, places] = stored, known
        return known
