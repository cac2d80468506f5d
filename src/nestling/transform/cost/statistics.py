"""How many rows there are and how many of them agree: counted where there are enough, else assumed.

What is assumed of an empty table, and of all where none has ``ENOUGH`` rows: ``ROWS`` rows. A declared key tells them
all apart. A part of a key, a reference and the label of an inner bag lead to ``FEW`` rows each. Any other column has
``VALUES`` values. Columns are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from nestling.calculus.types import LABEL
from nestling.program.statements import TableDecl

Positions: TypeAlias = tuple[int, ...]

ENOUGH, ROWS, FEW, VALUES = 100, 1000, 4, 10


@dataclass(frozen=True, eq=False)
class Statistics:
    """Rows per flat table, and how many different values stand in some of its columns.

    ``count`` counts the latter when first asked for; what it said is kept in ``values``, and all that is needed to
    come to the same estimates again. ``versions`` says of a table after which commit it was counted.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    values: dict[tuple[str, Positions], int] = field(default_factory=dict)
    count: Callable[[str, Positions], int] | None = None
    versions: Mapping[str, int] = field(default_factory=dict)

    def is_counted(self, table: str) -> bool:
        """Whether there were rows to count."""
        return self.rows.get(table, 0) > 0 and max(self.rows.values()) >= ENOUGH

    def size(self, table: TableDecl) -> float:
        """The rows of ``table``."""
        return float(self.rows[table.name] if self.is_counted(table.name) else ROWS)

    def distinct(self, table: TableDecl, columns: Positions) -> float:
        """The different values in ``columns`` of ``table``."""
        rows = self.size(table)
        if not columns:
            return 1.0
        if len(columns) == len(table.columns) or (table.key and set(table.key) <= set(columns)):
            return rows
        if not self.is_counted(table.name):
            return min(rows, max(_assumed(table, columns), _combined(columns)))
        place = (table.name, columns)
        if place not in self.values and self.count is not None:
            self.values[place] = self.count(*place)
        return float(self.values.get(place, min(rows, _combined(columns))))

    def slice(self, table: TableDecl, columns: Positions) -> float:
        """How many rows agree with a row in ``columns``."""
        return self.size(table) / max(self.distinct(table, columns), 1.0)


#: Nobody counted anything.
ASSUMED = Statistics()


def _assumed(table: TableDecl, columns: Positions) -> float:
    """The values of columns that lead to few rows."""
    is_label = table.columns[0].type == LABEL and 0 in columns
    refers = any(set(places) <= set(columns) for places, _ in table.references)
    return ROWS / FEW if is_label or refers or set(table.key) & set(columns) else 1.0


def _combined(columns: Positions) -> int:
    """The values of columns together. An int: a float has no room for those of 400 columns."""
    values: int = VALUES ** len(columns)
    return values
