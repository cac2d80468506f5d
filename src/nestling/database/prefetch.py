"""What a change will look up, fetched before it, where rows are far away.

A transaction looks rows up one by one, as it checks and changes them; an engine that is far away answers many at once
in the time of one. So the keys that a change names are gone through before it. What is not fetched here is found all
the same, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nestling.calculus.types import Path, bag_levels, dictionary_name
from nestling.database.definitions import TableDef
from nestling.database.elements import elements, inner_bag, outer_bags
from nestling.database.overlay import Overlay
from nestling.database.rows import Row
from nestling.frontend.schema import element_value
from nestling.values.columns import columns
from nestling.values.label import Label

Tables = Mapping[str, TableDef]


def prefetch_rows(rows: Overlay, table: TableDef, values: Sequence[Row], deep: bool = False) -> None:
    """The rows that stand for ``values``, in the whole family, and ``deep`` what is inside them."""
    if not values:
        return
    flat = table.declarations[table.name]
    if table.key:
        prefetch_keys(rows, table, [[value[i] for i in table.key_positions] for value in values], deep)
    elif not table.levels:
        rows.prefetch(table.name, tuple(range(len(flat.columns))), map(_flat, values))


def prefetch_keys(rows: Overlay, table: TableDef, keys: Iterable[Sequence[Any]], deep: bool = False) -> None:
    """The rows with these keys, in the whole family, and ``deep`` what is inside them."""
    wanted = [_flat(key) for key in keys]
    for name in (table.name, *rows.state.objects.families.get(table.name, ())):
        rows.prefetch(name, rows.state.tables[name].declarations[name].key, wanted)
    if deep:
        found = (rows.by_key(table.name, key) for key in wanted)
        prefetch_bags(rows, (row for row in found if row is not None))


def prefetch_changes(rows: Overlay, tables: Tables, changes: Mapping[str, Any]) -> None:
    """The same for changes of inner bags, and of tables by rows as they are stored."""
    for name, change in changes.items():
        if (bag := inner_bag(tables, name)) is not None:
            _prefetch_elements(rows, *bag, change)
        elif name in tables:
            prefetch_rows(rows, tables[name], [row for row, _ in change.items()], deep=True)


def _prefetch_elements(rows: Overlay, table: TableDef, level: Path, changes: Any) -> None:
    """The rows around some inner bags, and of the bags what is looked at."""
    found = elements(table, level, changes, rows.state.objects.links_in(table.name, level))
    keys = [_key(table, key) for key, *_ in found]
    rows.prefetch(table.name, table.declarations[table.name].key, keys)
    owners = [rows.by_key(table.name, key) for key in keys]
    element = table.levels[level].element
    if outer_bags(table, level) or any(bag_levels(element)):
        prefetch_bags(rows, (row for row in owners if row is not None))
        return
    name, position = dictionary_name(table.name, level), table.labels[level]
    gone = [
        (row[position], *_flat((value,)))
        for row, (_, _, value, times) in zip(owners, found, strict=True)
        if row is not None and times < 0
    ]
    rows.prefetch(name, tuple(range(len(table.declarations[name].columns))), gone)


def prefetch_bags(rows: Overlay, found: Iterable[Row]) -> None:
    """The elements of the inner bags of rows, and of bags inside them."""
    bags: dict[str, list[Label]] = {}
    for row in found:
        for value in row:
            if isinstance(value, Label):
                bags.setdefault(str(value.site), []).append(value)
    for dictionary, labels in bags.items():
        rows.prefetch(dictionary, (0,), [(label,) for label in labels])
        prefetch_bags(rows, (row for label in labels for row in rows.under(dictionary, label)))


def _key(table: TableDef, key: Any) -> Row:
    parts = key if isinstance(key, tuple) and len(table.key) > 1 else (key,)
    return _flat(map(element_value, table.key_types, parts))


def _flat(parts: Iterable[Any]) -> Row:
    return tuple(columns(tuple(parts)))
