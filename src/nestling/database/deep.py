"""Addresses inside a row: which inner bag, and which element of it.

An address is a path of field names; a mapping in it stands for the one element of the bag before it whose columns have
these values: ``("sections", {"title": "Intro"}, "paragraphs")``. Elements have no key, so the bag is looked through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from nestling.calculus.lists import ITEM, is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS
from nestling.calculus.types import Path, Record, Type, bag_levels, dictionary_name
from nestling.database.definitions import TableDef, leaf_positions
from nestling.database.nesting import InnerBags
from nestling.database.rows import Row
from nestling.errors import ChangeError
from nestling.frontend.schema import element_value
from nestling.frontend.schema.write import Links
from nestling.values.columns import columns
from nestling.values.label import Label

Address: TypeAlias = "tuple[str | Mapping[str, Any], ...]"


def bag_at(stored: InnerBags, table: TableDef, row: Row, address: Address) -> tuple[Path, Label]:
    """The level and the label of the inner bag of ``row`` that ``address`` leads to."""
    step = address[0] if len(address) == 1 else None
    if isinstance(step, str) and step in table.reached:
        return (step,), row[table.reached[step]]
    level: Path = ()
    columns = table.labels
    names: list[str] = []
    for step in address:
        if isinstance(step, str):
            names.append(step)
            continue
        level, label = _bag(table, level, row, columns, names)
        row, names = element_of(stored, table, level, label, step), []
        columns = inner_labels(table, level)
    found = _bag(table, level, row, columns, names)
    if isinstance(step, str):
        table.reached[step] = columns[found[0]]
    return found


def _bag(
    table: TableDef, outer: Path, row: Row, columns: Mapping[Path, int], names: Iterable[str]
) -> tuple[Path, Label]:
    level = (*outer, *names)
    check_elements(table, level)
    position = columns.get(level)
    if position is None:
        raise _no_bag(table, outer, level)
    label: Label = row[position]
    return level, label


def check_elements(table: TableDef, level: Path) -> None:
    """Refuse to change the elements of a map, or of a bag that may be null, apart from their row."""
    name = ".".join((table.name, *level))
    hint = "give the row its new value: db.update(table, key=…, set={…})"
    if level in table.levels and is_map(table.levels[level]):
        raise ChangeError(f"{name} is a map, and is changed with its row", hint=hint)
    if ITEM in level or (level in table.levels and is_list(table.levels[level])):
        where = ".".join((table.name, *level[: level.index(ITEM)])) if ITEM in level else name
        raise ChangeError(f"{where} is in order, and is changed with its row", hint=hint)
    if ITEMS in level or (*level, ITEMS) in table.levels:
        raise ChangeError(f"{name} may be NULL, and is changed with its row", hint=hint)


def inner_labels(table: TableDef, level: Path) -> dict[Path, int]:
    """Where in the elements of ``level``, without their own label, the labels of bags inside stand."""
    columns = table.declarations[dictionary_name(table.name, level)].columns[1:]
    places = {column.name: i for i, column in enumerate(columns)}
    inner = ((path, dictionary_name(table.name, path)) for path in table.levels)
    return {path: places[name] for path, name in inner if name in places}


def element_of(
    stored: InnerBags,
    table: TableDef,
    level: Path,
    label: Label,
    wanted: Mapping[str, Any],
    links: Links = None,
) -> Row:
    """The one element of a bag whose columns are as ``wanted``."""
    name = dictionary_name(table.name, level)
    tests = address_columns(name, table.levels[level].element, wanted, links)
    found = [
        (row, times)
        for row, times in stored.under(name, label).items()
        if all(row[i] == value for i, value in tests)
    ]
    count = sum(times for _, times in found)
    if count != 1:
        raise not_one(name, wanted, count)
    return found[0][0]


def not_one(name: str, wanted: Mapping[str, Any], count: int) -> ChangeError:
    """Not one element of a bag is as ``wanted``, but ``count``."""
    shown = ", ".join(f"{column} = {value!r}" for column, value in wanted.items()) or "any columns"
    return ChangeError(
        f"{count or 'no'} elements of {name} have {shown}",
        hint="name columns that tell the element from all others" if count else "nothing was changed",
    )


def changed(name: str, element: Type, row: Row, new: Mapping[str, Any], links: Links = None) -> Row:
    """An element with new values in some columns; its inner bags are the same."""
    columns = list(row)
    for place, leaf in address_columns(name, element, new, links):
        columns[place] = leaf
    return tuple(columns)


def address_columns(
    name: str, element: Type, values: Mapping[str, Any], links: Links = None
) -> list[tuple[int, Any]]:
    """Values of columns as they stand in a flat row, each with its place."""
    if not isinstance(element, Record):
        raise ChangeError(
            f"the elements of {name} have no columns", hint="delete the element and insert another"
        )
    inner = links if isinstance(links, Mapping) else {}
    plain = {
        column: _plain(name, element, column, value, inner.get(column)) for column, value in values.items()
    }
    places = leaf_positions(element)
    return [
        pair for column, value in plain.items() for pair in zip(places[column], columns(value), strict=True)
    ]


def _plain(name: str, record: Record, column: str, value: Any, links: Links) -> Any:
    """``value`` as a column has it that is no bag."""
    index = record.index(column)
    if index is None:
        raise ChangeError(f"{name} has no column {column!r}", hint=f"it has {', '.join(record.names)}")
    type_ = record.types[index]
    if any(bag_levels(type_)):
        raise ChangeError(
            f"{column} of {name} is an inner bag",
            hint=f"go on with .{column}.insert([...]) or .delete([...])",
        )
    return element_value(type_, value, links)


def _no_bag(table: TableDef, outer: Path, level: Path) -> ChangeError:
    """Why ``level`` leads to no inner bag of what was reached."""
    around = next((level[:i] for i in range(len(outer) + 1, len(level)) if level[:i] in table.levels), None)
    if level not in table.levels or around is None:
        known = ", ".join(".".join(p) for p in table.levels) or "none"
        return ChangeError(f"{table.name} has no inner bag {'.'.join(level)!r}", hint=f"inner bags: {known}")
    name = level[len(around)]
    return ChangeError(
        f"{'.'.join(level)} lies inside the elements of {'.'.join(around)}",
        hint=f"say in which: .{around[-1]}.at({{column: value}}).{name}",
    )
