"""Loading a table or map in bulk: its dictionary, and from that its indexes. No trigger runs.

Law: the loaded dictionaries equal those that triggers would have left for the same rows and cells.
"""

from __future__ import annotations

from collections import defaultdict
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
        if store.value is None:
            names[store.python].update((key(row), row) for row in rows)
        else:
            names[store.python].update(zip(map(key, rows), map(itemgetter(store.value), rows), strict=True))
    else:
        names[store.python].update(rows)
    _index(store, names, store.patterns, names[store.python])
    names.update((store.index(known), None) for known in store.on_demand)


def make_index(store: Store, known: Positions, names: Names) -> None:
    """An index of a table that somebody asks for, from the rows that are there."""
    made: Names = {store.index(known): defaultdict(dict)}
    _index(store, made, [known], names[store.python])
    names |= made  # all of it at once: from here on triggers follow it


def put_row(store: Store, row: Row, times: int, names: Names) -> None:
    """Set how often ``row`` is in a table."""
    key = itemgetter(*store.key)(row) if store.key else row
    _put(names[store.python], key, row if store.key else times, times)
    for known in store.made(names):
        index, part = names[store.index(known)], itemgetter(*known)(row)
        inner = index[part]
        _put(inner, key, row if store.key else times, times)
        if not inner:
            del index[part]


def _put(stored: dict[Any, Any], key: Any, value: Any, times: int) -> None:
    if times:
        stored[key] = value
    else:
        stored.pop(key, None)


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


def read_cells(store: Store, stored: Any) -> dict[Row, tuple[Any, ...]]:
    """The entries of a map, as they are loaded."""
    if store.is_ordered:
        return {
            (*_parts(group, store.arity - 1), value): measures
            for group, ordered in stored.items()
            for value, measures in ordered.items()
        }
    if store.is_cell:
        return {(): tuple(stored)} if any(stored) else {}
    if store.key:
        return dict.fromkeys(store.rows(stored), (1,))
    if store.slices:
        (known,) = store.patterns
        order = sorted(range(store.arity), key=(*known, *store.free(known)).__getitem__)
        return {
            _arranged((*_parts(bound, len(known)), *_parts(free, store.arity - len(known))), order): _cell(
                cell
            )
            for bound, part in stored.items()
            for free, cell in part.items()
        }
    return {_parts(key, store.arity): _cell(cell) for key, cell in stored.items()}


def _parts(key: Any, arity: int) -> Row:
    return (key,) if arity == 1 else key


def _arranged(columns: Row, order: list[int]) -> Row:
    return tuple([columns[i] for i in order])


def _cell(cell: Any) -> tuple[Any, ...]:
    return tuple(cell) if isinstance(cell, list) else (cell,)


def take_over(store: Store, names: Names, other: Store, kept: Names) -> None:
    """Share the dictionaries of a table or map with another engine, and build new indexes beside them.

    The other engine stays intact: until a row is applied, both have the same contents.
    """
    names[store.python] = stored = kept[other.python]
    if store.is_cell:
        return
    wanted = store.patterns | store.on_demand
    shared = {known for known in wanted & other.made(kept) if is_in_order(store, other, known)}
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
        groups = map(itemgetter(*known), store.rows(entries) if store.key else entries)
        # A table's rows stand in an index under what they stand under in its own dictionary.
        keys: Iterable[Any] = entries
        if not (store.is_table or store.key):
            keys = map(itemgetter(*store.free(known)), entries)
        for group, key, value in zip(groups, keys, entries.values(), strict=True):
            found[group][key] = value


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
