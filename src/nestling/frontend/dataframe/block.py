"""One SELECT in the making.

A plan is read from its leaves up. As long as a node fits into the SELECT of what lies below it, it is added to it;
where it does not, that SELECT becomes a table of the next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from nestling.quoting import sql_name

#: Spark numbers the columns of a plan; names may repeat.
Id = int
#: How the columns in reach are written.
Scope = Mapping[Id, str]


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """What a SELECT yields: a column that it reads, if ``plain``, or else an expression."""

    id: Id
    name: str
    text: str
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """A SELECT by its parts; of a set operation, ``body`` is the text and the columns are known by their names."""

    columns: tuple[OutputColumn, ...]
    source: str = ""
    where: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    distinct: bool = False
    order: tuple[str, ...] = ()
    limit: str = ""
    windows: bool = False
    single: bool = False  # it reads one table, as it is
    body: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a condition can still be asked, and rows be grouped."""
        return not self.windows and self.takes_windows

    @property
    def takes_windows(self) -> bool:
        return not (self.distinct or self.limit or self.order or self.body) and self.groups is None

    @property
    def scope(self) -> Scope:
        """Columns to their texts."""
        return {column.id: column.text for column in reversed(self.columns)}

    def is_plain(self, ids: Collection[Id] | None = None) -> bool:
        """Whether the columns ``ids``, or all, are read and not computed."""
        return all(column.plain for column in self.columns if ids is None or column.id in ids)

    def only(self, needed: Collection[Id] | None) -> Block:
        """Without columns that nobody needs; where rows are compared, every column counts."""
        if needed is None or self.distinct or self.body:
            return self
        return replace(self, columns=tuple(column for column in self.columns if column.id in needed))

    @property
    def text(self) -> str:
        """The SELECT."""
        if self.body:
            return self.body
        labels = labels_of(column.name for column in self.columns)
        items = [_item(column, label) for column, label in zip(self.columns, labels, strict=True)]
        lines = [f"SELECT {'DISTINCT ' * self.distinct}{', '.join(items) or '1 AS `one`'}"]
        if self.source:
            lines.append(f"FROM {self.source}")
        if self.where:
            lines.append(f"WHERE {' AND '.join(self.where)}")
        if self.groups:
            lines.append(f"GROUP BY {', '.join(self.groups)}")
        if self.order:
            lines.append(f"ORDER BY {', '.join(self.order)}{f' LIMIT {self.limit}' * bool(self.limit)}")
        return "\n".join(lines)

    def named(self, alias: str, needed: Collection[Id] | None = None) -> Block:
        """The rows of this SELECT, as a table called ``alias``."""
        inner = self.only(needed)
        labels = labels_of(column.name for column in inner.columns)
        columns = tuple(
            OutputColumn(column.id, column.name, f"{alias}.{sql_name(label)}")
            for column, label in zip(inner.columns, labels, strict=True)
        )
        return Block(columns, f"({indented(inner.text)}) AS {alias}", single=True)


def _item(column: OutputColumn, label: str) -> str:
    same = re.fullmatch(rf"\w+\.{re.escape(sql_name(label))}", column.text)
    return column.text if same else f"{column.text} AS {sql_name(label)}"


def labels_of(names: Iterable[str]) -> list[str]:
    """``names``, told apart where two are one."""
    found: list[str] = []
    for name in names:
        label, number = name, 1
        while any(label.lower() == other.lower() for other in found):
            label, number = f"{name}_{number}", number + 1
        found.append(label)
    return found


def indented(text: str) -> str:
    """``text`` on lines of its own, two columns further in."""
    return "\n" + "\n".join(f"  {line}" for line in text.split("\n")) + "\n"
