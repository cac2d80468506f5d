"""How generated functions name the change of a map, and read the measures under a key."""

from __future__ import annotations

from collections.abc import Sequence

from nestling.engine.local.loops import key_of
from nestling.engine.local.storage import Store


def noted(store: Store) -> list[str]:
    """Where the key of a map's one change is kept; no variable is called so but the event's."""
    return [f"{store.python}_k{i}" for i in range(store.arity)]


def changes_of(store: Store) -> list[str]:
    """Where the change of each measure of a map is kept."""
    return [f"{store.python}_change{i}" for i in range(store.width)]


def cell_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def unpacked(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def stored_cell(store: Store, keys: Sequence[str]) -> str:
    """The measures under ``keys``, as something to unpack."""
    if store.is_cell:
        return store.python
    if store.width == 1:
        return f"{store.python}.get({key_of(keys)}, 0)"
    return f"{store.python}.get({key_of(keys)}, ({', '.join('0' * store.width)}))"
