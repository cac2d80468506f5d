"""Where an address leads through references: ``orders.at(10).customer``, and back by an inverse,
``customers.at(1).orders``.

A reference in an address leads on to the row that it is of; what follows is an address in that row. An inverse stands
at the end: a row that is inserted into it refers to this one from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.database import arguments
from nestling.database.changing import Changing
from nestling.database.deep import Address, bag_at, element_of
from nestling.database.definitions import Site, TableDef
from nestling.database.objects import Objects
from nestling.database.overlay import Overlay
from nestling.database.refused import check_removable, shown_key
from nestling.database.rows import Row, RowEvent
from nestling.errors import ChangeError
from nestling.values.label import Label


def reached(
    stored: Overlay, objects: Objects, table: TableDef, row: Row, address: Address
) -> tuple[TableDef, Row, Address]:
    """The row that references in ``address`` lead to, and what follows the last of them."""
    names: tuple[str, ...] = ()
    current = row
    for i, step in enumerate(address):
        if isinstance(step, Mapping):
            level, label = bag_at(stored, table, row, address[:i])
            links = objects.links_in(table.name, level)
            current = (label, *element_of(stored, table, level, label, step, links))
            continue
        names = (*names, step)
        site = next((s for s in table.sites if s.reference.paths == (names,) and not s.is_element), None)
        if site is not None:
            key = tuple([current[place] for place in site.places])
            found, target = _target(stored, objects, site, key)
            return reached(stored, objects, found, target, address[i + 1 :])
    return table, row, address


def _target(stored: Overlay, objects: Objects, site: Site, key: Row) -> tuple[TableDef, Row]:
    reference = site.reference
    if site.is_nullable and None in key:
        raise ChangeError(f"{reference.text} of {site.owner} is nil there", hint="nothing was changed")
    for name in objects.extents.get(reference.table, ()):
        if (found := stored.by_key(name, key)) is not None:
            return objects.tables[name], found
    raise ChangeError(
        f"{reference.text} of {site.owner} is {shown_key(key)}, but {reference.table} has no such row",
        hint="nothing was changed",
    )


# -- inverses


def inverse_of(objects: Objects, table: TableDef, address: Address) -> bool:
    """Whether ``address`` is the name of an inverse."""
    return len(address) == 1 and isinstance(address[0], str) and address[0] in dict(table.inverses)


def insert_referring(change: Changing, table: TableDef, row: Row, name: str, given: Any) -> None:
    """Let rows, given by their keys, refer to ``row``."""
    own = _flat_key(table, row)

    def insert(site: Site, other: TableDef, flat: Row) -> None:
        if site.is_element:
            change._run([RowEvent(site.flat, (_bag(change, site, other, flat), *own), 1)])
        else:
            _lead(change, site, other, flat, own)

    _each(change, table, name, given, insert)


def delete_referring(change: Changing, table: TableDef, row: Row, name: str, given: Any) -> None:
    """Let rows that refer to ``row`` refer to nothing."""
    own = _flat_key(table, row)

    def delete(site: Site, other: TableDef, flat: Row) -> None:
        element = (_bag(change, site, other, flat), *own) if site.is_element else ()
        there = change.stored.count(site.flat, element) if element else _refers(site, flat, own)
        key = shown_key(_flat_key(other, flat))
        if not there:
            raise ChangeError(
                f"{key} is not in {name} of {table.name} {shown_key(own)}", hint="nothing was changed"
            )
        if element:
            change._run([RowEvent(site.flat, element, -1)])
        elif not site.is_nullable:
            raise ChangeError(
                f"{site.reference.text} of {other.name} {key} is never nil",
                hint=f"let it refer to another: db.update({other.name!r}, key={key}, set={{…}})",
            )
        else:
            _lead(change, site, other, flat, (None,) * len(own))

    _each(change, table, name, given, delete)


def _each(
    change: Changing, table: TableDef, name: str, given: Any, act: Callable[[Site, TableDef, Row], None]
) -> None:
    objects = change.state.objects
    text = dict(table.inverses)[name]
    found = objects.inverse(text)
    if found is None:
        raise ChangeError(
            f"{name} of {table.name} is the inverse of {text}, which is not there yet", hint="declare it"
        )
    other = objects.tables[found[0]]
    site = next(site for site in other.sites if site.reference.paths == (found[1],))
    if site.flat != other.name and not (site.is_element and site.flat in _bags_of_rows(other)):
        raise ChangeError(
            f"{name} of {table.name} is found in the elements of {site.flat}",
            hint=f"insert or delete elements: db.table({other.name!r}).at(key).{found[1][0]}",
        )
    if not other.key:
        raise ChangeError(f"{other.name} has no key, so no row of it is named", hint="insert the rows anew")
    check_removable(other)
    for key, times in arguments.elements_argument(given):
        for _ in range(times):
            owner, flat = _row_of(change, objects, other, key)
            act(next(s for s in owner.sites if s.reference.paths == site.reference.paths), owner, flat)


def _row_of(change: Changing, objects: Objects, other: TableDef, key: Any) -> tuple[TableDef, Row]:
    """The row of the extent of ``other`` that is meant by a key or an instance."""
    names = objects.extents[other.name]
    for name in names[1:]:
        table = objects.tables[name]
        try:
            return table, change._row_of(table, key)
        except ChangeError:
            continue
    return other, change._row_of(other, key)


def _bags_of_rows(table: TableDef) -> set[str]:
    columns = table.declarations[table.name].columns
    return {columns[place].name for place in table.labels.values()}


def _bag(change: Changing, site: Site, other: TableDef, flat: Row) -> Label:
    return bag_at(change.stored, other, flat, site.reference.paths[0])[1]


def _flat_key(table: TableDef, row: Row) -> Row:
    return tuple([row[i] for i in table.declarations[table.name].key])


def _refers(site: Site, flat: Row, own: Row) -> bool:
    return tuple([flat[i] for i in site.places]) == own


def _lead(change: Changing, site: Site, other: TableDef, flat: Row, key: Row) -> None:
    """Let the reference of a row be ``key``."""
    row = list(flat)
    for place, part in zip(site.places, key, strict=True):
        row[place] = part
    if set(site.places) & set(other.declarations[other.name].key):
        raise ChangeError(
            f"{site.reference.text} of {other.name} is in its key, which is its identity",
            hint="insert another row",
        )
    if tuple(row) != flat:
        change._run([RowEvent(other.name, flat, -1), RowEvent(other.name, tuple(row), 1)])
