"""What has to hold of a row that comes through the door of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

#: (rows, times, list): see ``NativeEngine.accepting``.
Accepting = Callable[[Any, int, list[Any]], int | None]


class Leading(NamedTuple):
    """Columns that refer to a row of one of some tables."""

    columns: tuple[int, ...]
    tables: tuple[str, ...]
    is_nullable: bool


class DoorSpecification(NamedTuple):
    """A table; its columns, which of them may be null, and between what their ints are; the tables in which its key
    has to be free; and where its references lead."""

    table: str
    names: tuple[str, ...]
    nullable: tuple[bool, ...]
    limits: tuple[tuple[int, int] | None, ...]
    family: tuple[str, ...]
    references: tuple[Leading, ...]

    def numbered(self, triggers: Mapping[str, int], maps: Mapping[str, int]) -> Any:
        """As C reads it."""
        family = tuple([maps[name] for name in self.family])
        leading = [
            (bytes(each.columns), tuple([maps[name] for name in each.tables]), each.is_nullable)
            for each in self.references
        ]
        number = triggers[self.table]
        return number, self.names, bytes(self.nullable), self.limits, family, tuple(leading)
