"""Rows of a keyed table that the driver holds whole, by their keys, as one state of the lake has them.

Law: ``by_key`` is the table of the state that it belongs to; what comes later makes other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nestling.engine.protocol import Row
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.types import values


class HeldRows:
    """The rows of a keyed table. Those after a change are made when somebody asks for them."""

    def __init__(self, rows: Mapping[Row, int], layout: Layout) -> None:
        self._layout = layout
        self._rows: dict[Row, Row] | None = {self._key(row): row for row in rows}
        #: Until then: the rows before the change, and what it adds.
        self._change: tuple[HeldRows, Any] | None = None

    def after(self, added: Any) -> HeldRows:
        """The rows after a change, an Arrow table."""
        found = HeldRows({}, self._layout)
        found._rows, found._change = None, (self, added)
        return found

    @property
    def by_key(self) -> Mapping[Row, Row]:
        """The rows."""
        rows, change = self._rows, self._change
        if rows is None:
            assert change is not None
            before, added = change
            rows = self._rows = self._changed(dict(before.by_key), added)
            self._change = None
        return rows

    def _changed(self, rows: dict[Row, Row], added: Any) -> dict[Row, Row]:
        """What goes goes first: a row that is changed is one that goes and one that comes."""
        entries = values([type_ for _, type_ in self._layout.columns], added)
        for *row, times in entries:
            if times < 0:
                rows.pop(self._key(row), None)
        for *row, times in entries:
            if times > 0:
                rows[self._key(row)] = tuple(row)
        return rows

    def _key(self, row: Any) -> Row:
        return tuple([row[place] for place in self._layout.key])
