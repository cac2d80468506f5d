"""Loading a table or map in bulk: its dictionary, and from that its indexes. No trigger runs.

Law: the loaded dictionaries equal those that triggers would have left for the same rows and cells.
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
    """Add rows to a table that has none of them, or to a map with unique rows."""
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
    if store.key:
        load_rows(store, dict.fromkeys(cells, 1), names)
        return
    entries = {row: cell[0] if store.width == 1 else list(cell) for row, cell in cells.items()}
    if not store.slices:
        names[store.python].update((key(row), value) for row, value in entries.items())
    _index(store, names, store.patterns, entries)
    _sort(store, names, store.sorted, entries)


def take_over(store: Store, names: Names, other: Store, kept: Names) -> None:
    """Share the dictionaries of a table or map with another engine, and build new indexes beside them.

    The other engine stays intact: until a row is applied, both have the same contents.
    """
    names[store.python] = stored = kept[other.python]
    if store.is_cell:
        return
    shared = {known for known in store.patterns & other.patterns if is_in_order(store, other, known)}
    names.update((store.index(known), kept[other.index(known)]) for known in shared)
    _index(store, names, store.patterns - shared, stored)
    sorted_ = store.sorted & other.sorted
    names.update((store.order(known), kept[other.order(known)]) for known in sorted_)
    _sort(store, names, store.sorted - sorted_, stored)


def take_slices(store: Store, names: Names, other: Store, kept: Names) -> bool:
    """The same for a map that is kept in one index alone; False where the other engine keeps it otherwise."""
    if not (store.slices and other.slices and store.patterns == other.patterns):
        return False
    (known,) = store.patterns
    if store.sorted - other.sorted or not is_in_order(store, other, known):
        return False
    names[store.slices] = kept[other.slices]
    names.update((store.order(known), kept[other.order(known)]) for known in store.sorted)
    return True


def is_in_order(store: Store, other: Store, known: Positions) -> bool:
    """Whether both keep the keys of an index in order, or neither does."""
    return (known in store.in_order) == (known in other.in_order)


def _index(store: Store, names: Names, patterns: Iterable[Positions], entries: Mapping[Any, Any]) -> None:
    """Make indexes of a source from its entries."""
    for known in patterns:
        found = names[store.index(known)]
        found.clear()
        groups = map(itemgetter(*known), entries.values() if store.key else entries)
        # A table's rows stand in an index under what they stand under in its own dictionary.
        keys: Iterable[Any] = entries
        if not (store.is_table or store.key):
            keys = map(itemgetter(*store.free(known)), entries)
        find = found.get
        for group, key, value in zip(groups, keys, entries.values(), strict=True):
            if (inner := find(group)) is None:
                found[group] = {key: value}
            else:
                inner[key] = value


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
