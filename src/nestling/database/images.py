"""Images of one row before and after: a change that takes a row and gives another its key is an update.

Law: what goes, the pairs and what comes are the change, each row once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nestling.database.definitions import TableDef
from nestling.database.rows import Row
from nestling.values.bag import ZBag


class Images(NamedTuple):
    """The rows that go, those that take the place of others, and those that come."""

    gone: list[tuple[Row, int]]
    pairs: list[tuple[Row, Row]]
    come: list[tuple[Row, int]]


def images(table: TableDef, change: ZBag) -> Images:
    """The rows of ``change``, a pair where one has the key of another."""
    gone, come = dict(change.negative().items()), dict(change.positive().items())
    if not gone or not come:
        return Images(list(gone.items()), [], list(come.items()))
    by_key = {_key(table, row): row for row, times in come.items() if times == 1} if table.key else {}
    pairs = [
        (row, new)
        for row, times in gone.items()
        if times == 1 and (new := by_key.pop(_key(table, row), None) if by_key else None) is not None
    ]
    for old, new in pairs:
        del gone[old], come[new]
    return Images(list(gone.items()), pairs, list(come.items()))


def differing(table: TableDef, old: Row, new: Row) -> dict[str, Any]:
    """The columns of ``new`` that ``old`` has otherwise, by name."""
    columns = zip(table.record.names, old, new, strict=True)
    return {name: value for name, before, value in columns if value != before}


def _key(table: TableDef, row: Row) -> Row:
    return tuple([row[i] for i in table.key_positions])
