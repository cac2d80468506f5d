"""Dictionaries filled whole: a source's own, and from it its indexes. No trigger runs.

Law: what is loaded is what triggers would have left of the same rows and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from nestling.engine.local.storage import Positions, Store
from nestling.storage.ordered import OrderedMap

Row = tuple[Any, ...]
Names = dict[str, Any]


def load_rows(store: Store, rows: Mapping[Row, int], names: Names) -> None:
    """Add rows to a table that has none of them."""
    if store.key:
        key = itemgetter(*store.key)
        names[store.python].update((key(row), row) for row in rows)
    else:
        names[store.python].update(rows)
    _index(store, names, store.patterns, names[store.python])


def load_cells(store: Store, cells: Mapping[Row, tuple[Any, ...]], names: Names) -> None:
    """Put the entries of a map in place of those it has."""
    if store.is_cell:
        names[store.python][:] = cells.get((), (0,) * store.width)
        return
    for dictionary in store.dictionaries:
        names[dictionary].clear()
    key = _first if store.arity - store.is_ordered == 1 else _whole
    if store.is_ordered:
        stored = names[store.python]
        for row, cell in cells.items():
            stored.setdefault(key(row[:-1]), OrderedMap(store.width - 1)).add(row[-1], *cell)
        return
    entries = {row: cell[0] if store.width == 1 else list(cell) for row, cell in cells.items()}
    if not store.slices:
        names[store.python].update((key(row), value) for row, value in entries.items())
    _index(store, names, store.patterns, entries)
    _sort(store, names, store.sorted, entries)


def take_over(store: Store, names: Names, other: Store, kept: Names) -> None:
    """Put what another engine keeps of the same table or map in place of what is here; the two share it then."""
    stored = names[store.python]
    if store.is_cell:
        stored[:] = kept[other.python]
        return
    stored.clear()
    stored.update(kept[other.python])
    for known in store.patterns & other.patterns:
        names[store.index(known)].update(kept[other.index(known)])
    for known in store.sorted & other.sorted:
        names[store.order(known)].update(kept[other.order(known)])
    _index(store, names, store.patterns - other.patterns, stored)
    _sort(store, names, store.sorted - other.sorted, stored)


def _index(store: Store, names: Names, patterns: Iterable[Positions], entries: Mapping[Any, Any]) -> None:
    """Make indexes of a source from its entries."""
    for known in patterns:
        found = names[store.index(known)]
        found.clear()
        part = itemgetter(*known)
        # A table's rows stand in an index under what they stand under in its own dictionary.
        free = _whole if store.is_table else itemgetter(*store.free(known))
        rows = entries.values() if store.key else entries
        for row, key, value in zip(rows, entries, entries.values(), strict=True):
            group = part(row)
            inner = found.get(group)
            if inner is None:
                found[group] = {free(key): value}
            else:
                inner[free(key)] = value


def _sort(store: Store, names: Names, patterns: Iterable[Positions], entries: Iterable[Row]) -> None:
    """Keep the one free column of a map in order, for every known part."""
    for known in patterns:
        order = names[store.order(known)]
        order.clear()
        part, last = itemgetter(*known), itemgetter(*store.free(known))
        for key in entries:
            if last(key) == last(key):  # NaN has no place in an order
                order.setdefault(part(key), []).append(last(key))
        for values in order.values():
            values.sort()


_first: Callable[[Row], Any] = itemgetter(0)


def _whole(row: Row) -> Any:
    return row
