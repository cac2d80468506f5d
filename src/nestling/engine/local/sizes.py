"""How many entries there are and, roughly, how many bytes they take: a sample, each entry by itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from sys import getsizeof
from typing import Any

from nestling.engine.local.engine import LocalEngine
from nestling.engine.local.storage import Positions, Store
from nestling.program.steps import needed, plans, reads

SAMPLE = 64
#: What an ordered map takes for an entry besides key and count, and for itself: its nodes are lists.
ORDERED_ENTRY, ORDERED_MAP = 24, 400


def entries(engine: LocalEngine, name: str) -> int:
    """How many entries a map has, or rows a table (equal rows once)."""
    store, stored = engine.stores[name], engine.stored[name]
    if store.is_cell:
        return 1
    return sum(map(len, stored.values())) if store.is_ordered or store.slices else len(stored)


def rows_of(engine: LocalEngine, table: str) -> Iterable[tuple[Any, ...]]:
    """The rows of a table, equal ones once."""
    stored: dict[Any, Any] = engine.stored[table]
    return stored.values() if engine.stores[table].key else stored


def rough_bytes(engine: LocalEngine, name: str, indexes: Iterable[Positions]) -> int:
    """The bytes of a table or map and of some of its indexes."""
    store = engine.stores[name]
    own = 0
    if not store.slices:
        own = _ordered(engine.stored[name]) if store.is_ordered else _container(engine.stored[name])
    return own + sum(_index(engine, store, known) for known in indexes if known in store.patterns)


def view_bytes(engine: LocalEngine, view: str) -> int:
    """The bytes that a view adds: of its maps, and of the indexes that it asks of tables."""
    program = engine.program
    if view not in program.views:
        return 0
    read = [source for plan in plans(program.views[view]) for s in plan.statements for source in reads(s)]
    total = 0
    for source in needed(program, read):
        patterns = engine.stores[source].patterns
        if source in program.maps:
            total += rough_bytes(engine, source, patterns)
        else:
            total += rough_bytes(engine, source, patterns) - rough_bytes(engine, source, ())
    return total


def slice_size(engine: LocalEngine, name: str, known: Positions) -> float:
    """How many entries agree with given values at ``known``, on average over the values there are."""
    store = engine.stores[name]
    total = entries(engine, name)
    if len(known) == store.arity or (store.key and set(store.key) <= set(known)):
        return float(min(total, 1))
    groups = len(engine.names[store.index(known)]) if known in store.patterns else 1
    return round(total / max(groups, 1), 1) if known else float(total)


def _container(stored: Any) -> int:
    if isinstance(stored, list):
        return _size(stored)
    return getsizeof(stored) + _scaled(stored, (_size(k) + _size(v) for k, v in _some(stored)))


def _ordered(stored: dict[Any, Any]) -> int:
    def group(key: Any, ordered: Any) -> int:
        keys = [_size(k) + _size(cell) for k, cell in islice(ordered.items(), SAMPLE)]
        mean = sum(keys) / max(len(keys), 1) + ORDERED_ENTRY
        return _size(key) + ORDERED_MAP + round(mean * len(ordered))

    return getsizeof(stored) + _scaled(stored, (group(k, v) for k, v in _some(stored)))


def _index(engine: LocalEngine, store: Store, known: Positions) -> int:
    index = engine.names[store.index(known)]
    # A map's index has keys of its own; a table's holds the rows that are there anyway.
    inner = (getsizeof(v) + (0 if store.is_table else sum(_size(k) for k in v)) for _, v in _some(index))
    order = engine.names.get(store.order(known), {})
    return sum((
        getsizeof(index), _scaled(index, inner), _scaled(index, (_size(k) for k, _ in _some(index))),
        getsizeof(order), _scaled(order, (getsizeof(v) for _, v in _some(order))),
    ))  # fmt: skip


def _some(stored: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    return islice(stored.items(), SAMPLE)


def _scaled(stored: dict[Any, Any], sampled: Iterable[int]) -> int:
    sizes = list(sampled)
    return round(sum(sizes) / max(len(sizes), 1) * len(stored))


def _size(value: Any) -> int:
    return getsizeof(value) + (sum(map(_size, value)) if isinstance(value, tuple | list) else 0)
