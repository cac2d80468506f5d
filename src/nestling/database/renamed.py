"""What else a table says of its columns, and other tables of it, when names change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nestling.database.definitions import Reference, TableDef
from nestling.errors import QueryError
from nestling.frontend.catalog import FieldPath

Tables = Mapping[str, TableDef]


def without_column(table: TableDef, path: FieldPath, tables: Tables) -> TableDef:
    """``table``, which has lost the column at ``path``; refused where it is a key or a reference."""
    text = ".".join(path)
    if path[0] in table.key:
        raise QueryError(f"{text} is in the key of {table.name}", hint="a key stays as it is")
    if used := [each for each in table.references if any(p[: len(path)] == path for p in each.paths)]:
        raise QueryError(
            f"{text} of {table.name} refers to {used[0].table}",
            hint="declare another table without the reference",
        )
    if inside := [p for p in table.sets if p == path[: len(p)] and p != path]:
        raise QueryError(
            f"{text} tells the elements of {'.'.join(inside[0])} apart, which is a set",
            hint="a set has each element once",
        )
    return replace(
        table,
        sets=tuple(p for p in table.sets if p[: len(path)] != path),
        fixed=tuple(name for name in table.fixed if (name,) != path),
    )


def renamed_column(table: TableDef, path: FieldPath, new: str, tables: Tables) -> TableDef:
    """``table``, whose column at ``path`` is called ``new``."""
    text = ".".join(path)
    others = [
        other.name for other in tables.values() for each in other.references if each.table == table.name
    ]
    if path[0] in table.key and len(table.key) > 1 and others:
        raise QueryError(
            f"{text} is in the key of {table.name}, whose names {', '.join(dict.fromkeys(others))} has too",
            hint="a key that others hold stays as it is",
        )
    starts = (f"{table.name}.", f"{table.class_name}." if table.class_name else f"{table.name}.")
    for other in tables.values():
        for name, inverse in other.inverses:
            if any(inverse == start + text for start in starts):
                raise QueryError(
                    f"{name} of {other.name} is the inverse of {text} of {table.name}",
                    hint="declare these anew",
                )

    def moved(place: FieldPath) -> FieldPath:
        return (*path[:-1], new, *place[len(path) :]) if place[: len(path)] == path else place

    def named(name: str) -> str:
        return moved((name,))[0] if len(path) == 1 else name

    return replace(
        table,
        key=tuple(map(named, table.key)),
        references=tuple(replace(each, paths=tuple(map(moved, each.paths))) for each in table.references),
        sets=tuple(map(moved, table.sets)),
        fixed=tuple(map(named, table.fixed)),
    )


def renamed_table(tables: Tables, old: str, new: str) -> dict[str, TableDef]:
    """The tables, one of which has another name; those that refer to it refer to that."""

    def follow(table: TableDef) -> TableDef:
        found = replace(
            table,
            name=new if table.name == old else table.name,
            references=tuple(_led(each, old, new) for each in table.references),
            inverses=tuple((name, _moved(path, old, new)) for name, path in table.inverses),
        )
        return table if found == table else found

    return {new if name == old else name: follow(table) for name, table in tables.items()}


def _led(reference: Reference, old: str, new: str) -> Reference:
    return replace(reference, table=new) if reference.table == old else reference


def _moved(path: str, old: str, new: str) -> str:
    return new + path[len(old) :] if path.startswith(f"{old}.") else path
