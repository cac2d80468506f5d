"""Rows of a stream that are refused: they stop it, or go to a table of their own.

Law: of a micro-batch the rows that were set aside are those each of which is refused over all others that were applied.
Rows of a feed with one key stay together: an image of what was there must not go without the one that takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nestling.database.elements import inner_bag
from nestling.database.feed import Pairs
from nestling.database.state import State
from nestling.database.transaction import Transaction
from nestling.errors import ChangeError

#: The columns of such a table: which stream and micro-batch, for which table, the row as JSON and how often it came
#: or, below zero, went; and why it was refused.
COLUMNS = {"stream": str, "batch": int, "source": str, "row": str, "times": int, "why": str}


@dataclass(frozen=True)
class _Unit:
    """Rows of one table that are applied together, or not at all."""

    table: str
    rows: list[tuple[Any, int]]


def apply_good(
    change: Transaction, few: Mapping[str, Any], feeds: Mapping[str, bool], batch: tuple[str, int], aside: str
) -> None:
    """Apply the rows of a micro-batch, and put those that are refused into the table ``aside``."""
    units = [unit for name in few for unit in _units(change.state, name, few[name].items(), feeds[name])]
    refused = _applied(change, units)
    while refused and len(refused) < len(units):
        # What one of them needs may have come after it.
        units, refused = [unit for unit, _ in refused], _applied(change, [unit for unit, _ in refused])
    change.insert(
        aside,
        [
            (*batch, unit.table, json.dumps(row, default=str, ensure_ascii=False), times, why)
            for unit, why in refused
            for row, times in unit.rows
        ],
    )


def _applied(change: Transaction, units: Sequence[_Unit]) -> list[tuple[_Unit, str]]:
    """Apply what can be applied; the rest, with the reasons."""
    if not units:
        return []
    changes: dict[str, list[tuple[Any, int]]] = {}
    for unit in units:
        changes.setdefault(unit.table, []).extend(unit.rows)
    try:
        change.apply({name: Pairs(rows) for name, rows in changes.items()})
    except ChangeError as error:
        if len(units) == 1:
            return [(units[0], error.what)]
        half = len(units) // 2
        return _applied(change, units[:half]) + _applied(change, units[half:])
    return []


def _units(state: State, name: str, rows: Sequence[tuple[Any, int]], is_feed: bool) -> list[_Unit]:
    """The rows of a table or an inner bag; those of a feed by key. Without one, its images are not known apart."""
    if not is_feed:
        return [_Unit(name, [pair]) for pair in rows]
    bag = inner_bag(state.tables, name)
    table = state.tables[name] if bag is None else bag[0]
    units: dict[str, _Unit] = {}
    for row, times in rows:
        key = repr([row.get(column) for column in table.key])
        units.setdefault(key, _Unit(name, [])).rows.append((row, times))
    return list(units.values())
