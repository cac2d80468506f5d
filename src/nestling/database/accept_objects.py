"""Checks of what tables say of each other: references, inverses, families; each raises an error, or returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nestling.calculus.types import Bag, Record, Scalar, Type, bag_levels, leaf_types, show_type
from nestling.database.definitions import Located, Reference, TableDef, located
from nestling.database.names import check_name
from nestling.database.objects import Objects
from nestling.errors import QueryError

Tables = Mapping[str, TableDef]


def check_objects(table: TableDef, tables: Tables) -> None:
    """What ``table`` says of itself and of ``tables``, and what they say of it; some may come later."""
    tables = {**tables, table.name: table}
    for reference in table.references:
        _check_reference(table, reference)
    for other, reference, parent in _pairs(table, tables):
        _check_width(other, reference, parent)
    for path in table.sets:
        _check_set(table, path)
    _check_fixed(table)
    if table.extends is not None:
        _check_family(table, tables)
    _check_inverses(table, tables)


def check_types(table: TableDef, tables: Tables) -> None:
    """References to and from ``table`` are of the types of the keys; in files of earlier versions they may not be."""
    for other, reference, parent in _pairs(table, {**tables, table.name: table}):
        for mine, theirs in zip(_leaves(other, reference), _key_leaves(parent), strict=True):
            if _name(mine) != _name(theirs):
                raise QueryError(
                    f"{reference.text} of {other.name} cannot refer to {parent.name!r}: it is {show_type(mine)}, and"
                    f" the key {show_type(theirs)}",
                    hint="give it the type of the key",
                )


def _pairs(table: TableDef, tables: Tables) -> Iterator[tuple[TableDef, Reference, TableDef]]:
    """The references from ``table`` and to it, as far as both ends are there."""
    for other in tables.values():
        for reference in other.references:
            if table.name in (other.name, reference.table) and reference.table in tables:
                yield other, reference, tables[reference.table]


def _located(table: TableDef, path: tuple[str, ...]) -> Located:
    try:
        return located(table.record, path)
    except KeyError as error:
        raise QueryError(
            f"{table.name} has no column {'.'.join(path)!r}", hint=f"it has {', '.join(table.record.names)}"
        ) from error


def _check_reference(table: TableDef, reference: Reference) -> None:
    """It stands in columns that can be one, all in one row or element, and what happens to it can happen."""
    found = [_located(table, path) for path in reference.paths]
    what = f"{reference.text} of {table.name}"
    if not found:
        raise QueryError(f"no columns of {table.name} cannot refer to {reference.table!r}", hint="name them")
    if any(any(bag_levels(place.type)) for place in found):
        raise QueryError(f"{what} has a bag and cannot be a key", hint="keys are scalar columns")
    if len({place.level for place in found}) > 1:
        raise QueryError(f"{what} are not in one row", hint="the columns of a reference stand side by side")
    site = table._site(reference)
    if reference.on_delete == "nil" and not (site.is_nullable or site.is_element):
        raise QueryError(f"{what} is never nil", hint='declare it with | None, or say on_delete="cascade"')
    if reference.on_delete in ("nil", "cascade") and table.append_only:
        raise QueryError(
            f"{table.name} is append-only, and {reference.text} cannot go with what it refers to",
            hint='say on_delete="refuse" or "dangle"',
        )
    own = {path[0] for path in reference.paths}
    if reference.on_delete == "nil" and not site.is_element and own & {*table.fixed, *table.key}:
        raise QueryError(f"{what} never changes, so it cannot become nil", hint='say on_delete="cascade"')


def _check_width(table: TableDef, reference: Reference, parent: TableDef) -> None:
    """It has a column for each of the key's."""
    if not parent.key or len(_leaves(table, reference)) != len(_key_leaves(parent)):
        raise QueryError(
            f"{reference.text} of {table.name} cannot refer to {parent.name!r}",
            hint="that table must have a key of as many columns",
        )


def _leaves(table: TableDef, reference: Reference) -> list[Type]:
    return [leaf for path in reference.paths for _, leaf in leaf_types(_located(table, path).type)]


def _key_leaves(table: TableDef) -> list[Type]:
    return [leaf for type_ in table.key_types for _, leaf in leaf_types(type_)]


def _name(type_: Type) -> str:
    return type_.name if isinstance(type_, Scalar) else ""


def _check_set(table: TableDef, path: tuple[str, ...]) -> None:
    type_: Type = table.record
    for name in path:
        type_ = type_.element if isinstance(type_, Bag) else type_
        index = type_.index(name) if isinstance(type_, Record) else None
        if index is None or not isinstance(type_, Record):
            raise QueryError(f"{table.name} has no column {'.'.join(path)!r} to be a set")
        type_ = type_.types[index]
    if not isinstance(type_, Bag) or any(bag_levels(type_.element)):
        raise QueryError(
            f"{'.'.join(path)} of {table.name} cannot be a set: its elements have bags",
            hint="write list[…], or keep the elements in a table of their own",
        )


def _check_fixed(table: TableDef) -> None:
    for name in table.fixed:
        index = table.record.index(name)
        if index is None:
            raise QueryError(
                f"{table.name} has no column {name!r} to be fixed",
                hint=f"it has {', '.join(table.record.names)}",
            )
        if any(bag_levels(table.record.types[index])):
            raise QueryError(
                f"{name} of {table.name} has a bag, whose elements come and go",
                hint="name columns without bags",
            )
    if table.fixed and not table.key:
        raise QueryError(
            f"{table.name} has no key: its rows are never updated", hint="drop fixed, or give it a key"
        )


def _check_family(table: TableDef, tables: Tables) -> None:
    """It has the key and all columns of what it extends."""
    parent = tables.get(table.extends or "")
    if parent is None or parent.name == table.name:
        raise QueryError(
            f"{table.name} extends {table.extends!r}, which is not there", hint="declare that table first"
        )
    if not parent.key or table.key != parent.key:
        raise QueryError(
            f"{table.name} and {parent.name} have different keys, but are one family",
            hint=f"declare both with one key: key={', '.join(parent.key) or '…'}",
        )
    own = dict(table.record.fields)
    for name, type_ in parent.record.fields:
        if own.get(name) != type_:
            raise QueryError(
                f"{table.name} extends {parent.name}, but has no column {name} of type {show_type(type_)}",
                hint="a subclass has all attributes of its superclass",
            )


def _check_inverses(table: TableDef, tables: Tables) -> None:
    """Each leads to a reference to this table, as far as tables are there."""
    for name, _ in table.inverses:
        check_name(name, f"an inverse of {table.name}")
        if name in table.record.names:
            raise QueryError(
                f"{table.name} has a column {name!r}, and an inverse of this name", hint="rename one of them"
            )
    objects = Objects(tables)
    for owner in tables.values():
        for name, text in owner.inverses:
            others = [each for each in tables.values() if _is_start(each, text)]
            if not others or table not in (owner, *others):
                continue
            found = objects.inverse(text)
            target = next((r.table for t, r in _all(others) if found == (t.name, r.paths[0])), None)
            if target is None or owner.name not in objects.extents.get(target, ()):
                raise QueryError(
                    f"{name} of {owner.name} is the inverse of {text}, which is no reference to {owner.name}",
                    hint=f'nl.Ref["{owner.class_name or owner.name}"] in {others[0].name}, or references={{…}}',
                )


def _all(tables: list[TableDef]) -> Iterator[tuple[TableDef, Reference]]:
    for table in tables:
        yield from ((table, reference) for reference in table.references)


def _is_start(table: TableDef, text: str) -> bool:
    return any(start and text.startswith(f"{start}.") for start in (table.class_name, table.name))
