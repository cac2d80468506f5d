"""What an engine does, whichever it is.

An engine runs a program over tables of its own. The unit of work is a batch: rows of several tables that come and go
at once. It keeps every map equal to its query, and answers what the views' plans say.

Law (17): on the same batches every engine has the same tables, maps and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from nestling.program.statements import Program
from nestling.values.bag import ZBag

Row: TypeAlias = tuple[Any, ...]

#: Per table the rows of a batch, and how often each comes; negative: goes.
Batch: TypeAlias = Mapping[str, Iterable[tuple[Row, int]]]


class Engine(Protocol):
    """A running program."""

    program: Program

    def apply_batch(self, changes: Batch) -> None:
        """Add rows to tables, and bring every map up to date: all of it, or nothing."""

    def table(self, name: str) -> dict[Row, int]:
        """The rows of a table with their multiplicities."""

    def cells(self, name: str) -> dict[Row, tuple[Any, ...]]:
        """The entries of a map, as ``meaning`` gives them."""

    def read(self, view: str) -> ZBag:
        """The answer of a view, nested."""

    def find(self, view: str, first: Any) -> ZBag:
        """The rows of a view whose first column is ``first``."""


def inner_first(program: Program) -> list[str]:
    """The tables in the order in which their changes are run.

    Tables that others refer to come before these, as they were declared; the inner bags of a row before the row.
    """
    owners: dict[str, list[str]] = {}
    for name in program.tables:
        owner = next((other for other in owners if name.startswith(f"{other}.")), name)
        owners.setdefault(owner, []).append(name)
    return [name for names in owners.values() for name in reversed(names)]


def batch_of(events: Iterable[tuple[str, Row, int]]) -> dict[str, list[tuple[Row, int]]]:
    """Events as a batch: per table, in their order."""
    batch: dict[str, list[tuple[Row, int]]] = {}
    for table, row, times in events:
        batch.setdefault(table, []).append((row, times))
    return batch


def consolidated(rows: Iterable[tuple[Row, int]]) -> dict[Row, int]:
    """A change as one count per row; what comes and goes is not there."""
    total: dict[Row, int] = {}
    for row, times in rows:
        total[row] = total.get(row, 0) + times
    return {row: times for row, times in total.items() if times}
