"""The refusals of changes, each with what to do instead."""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Type
from nestling.database.definitions import TableDef
from nestling.database.objects import Objects
from nestling.errors import ChangeError, brief
from nestling.frontend.schema import python_value

Row = tuple[Any, ...]


def check_removable(table: TableDef) -> None:
    """Refuse to take rows from a table that only grows."""
    if table.append_only:
        raise ChangeError(f"{table.name} is append-only", hint="its rows cannot be deleted or updated")


def key_taken(table: TableDef, key: Row) -> ChangeError:
    return ChangeError(
        f"{table.name} already has a row with key {shown_key(key)}", hint="delete it first, or use update"
    )


def key_twice(table: TableDef, key: Row) -> ChangeError:
    """Which of two rows is meant is not said: rows have no order."""
    return ChangeError(
        f"two of the rows have key {shown_key(key)} of {table.name}", hint="pass one row for each key"
    )


def check_identity(objects: Objects, table: TableDef, key: Row) -> None:
    """Refuse to change the key of a row that others may refer to."""
    names = (table.name, *objects.families.get(table.name, ()))
    sites = [site for name in names for site in objects.referring.get(name, ())]
    if sites:
        raise ChangeError(
            f"the key {shown_key(key)} of {table.name} is referred to by {sites[0].owner}: it is the row's identity",
            hint="insert a row with the new key, let the references lead to it, and delete the old one",
        )


def keyless(table: TableDef) -> ChangeError:
    return ChangeError(f"{table.name} has no key", hint="declare one: db.table(name, schema, key=...)")


def no_key(table: TableDef, key: Row) -> ChangeError:
    return ChangeError(
        f"{table.name} has no row with key {shown_key(key)}", hint=f"its key is {', '.join(table.key)}"
    )


def not_in(name: str, element: Type, wanted: Any, key: Row) -> ChangeError:
    """``wanted`` is no element of the inner bag ``name`` of the row with this key."""
    return ChangeError(f"{brief(python_value(element, wanted), 200)} is not in {name} of {shown_key(key)}")


def no_row(table: TableDef, value: Row, times: int) -> ChangeError:
    """``value`` would have to be there ``times`` more times."""
    shown = f"{table.name} has no row {brief(python_value(table.record, value), 200)}"
    return ChangeError(shown + ("" if times == 1 else f" {times} more times"), hint="nothing was deleted")


def key_parts(table: TableDef, key: Any) -> Row:
    return key if isinstance(key, tuple) and len(table.key) > 1 else (key,)


def shown_key(key: tuple[Any, ...]) -> str:
    """A key as messages show it."""
    return brief(key[0] if len(key) == 1 else key)
