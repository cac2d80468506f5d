"""One row of a table by its key."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from nestling.database.definitions import TableDef
from nestling.database.overlay import Overlay
from nestling.database.prefetch import prefetch_bags
from nestling.database.refused import key_parts
from nestling.database.rows import Row, nested
from nestling.database.state import State
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value
from nestling.values.columns import columns


def row_by_key(state: State, table: TableDef, key: Any) -> Row | None:
    """The nested row of ``table`` whose key is ``key``, or that of an object of its class; ``None`` where none has it.

    A value of another type is the key of no row.
    """
    if is_dataclass(key) and (own := state.objects.extent(table.name).key_of(key)) is not None:
        key = own
    parts = key_parts(table, key)
    if len(parts) != len(table.key_types):
        return None
    try:
        flat_key = tuple(columns(tuple(map(element_value, table.key_types, parts))))
    except ChangeError:
        return None
    stored = Overlay(state, ())
    flat = stored.by_key(table.name, flat_key)
    if flat is None:
        return None
    if state.engine.is_remote:
        prefetch_bags(stored, [flat])
    found: Row = nested(iter(flat), table.record, stored)
    return found
