"""Checks of definitions: each function raises an error with a reason, or returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from nestling.calculus.show import show
from nestling.calculus.traverse import relations
from nestling.calculus.types import Bag, Record, Scalar, Type, bag_levels, dictionary_name, show_type
from nestling.database.accept_objects import check_objects
from nestling.database.definitions import HIDDEN, TableDef, ViewDef
from nestling.errors import QueryError, brief, shown
from nestling.frontend.catalog import FieldPath
from nestling.frontend.view_query import show_orders
from nestling.transform.pipeline import PASSES, run

REFRESH = ("eager", "lazy", "hybrid")
#: Records and bags inside one another: as many as are compiled in seconds, and far fewer than Python's stack holds.
DEEPEST = 32
STORE = ("full", "auto", "counts", "none")


def name_of(function: Any) -> str:
    """What a view is called that is given as a function alone."""
    name = getattr(function, "__name__", None)
    if isinstance(name, str):
        return name
    raise QueryError(f"{shown(function)} has no name", hint='give the view one: db.view("name", function)')


def check_options(refresh: object, store: object) -> None:
    """The settings of a view are known ones."""
    for name, value, allowed in (("refresh", refresh, REFRESH), ("store", store, STORE)):
        if not isinstance(value, str) or value not in allowed:
            raise QueryError(
                f"{name}={brief(value)} is unknown", hint=f"one of {', '.join(map(repr, allowed))}"
            )


def check_table(table: TableDef, tables: Mapping[str, TableDef]) -> None:
    """The key of a table is of columns that can be one, its bags have names of their own, and it fits the others."""
    if _depth(table.record) > DEEPEST:
        raise QueryError(
            f"{table.name} is nested more than {DEEPEST} levels deep",
            hint="keep what lies deeper in a table of its own",
        )
    _check_places(table, tables)
    _check_columns(table.name, table.record, table.key)
    check_objects(table, tables)


def _depth(type_: Type) -> int:
    match type_:
        case Record(fields):
            return 1 + max((_depth(field) for _, field in fields), default=0)
        case Bag(element):
            return 1 + _depth(element)
    return 0


def _check_places(table: TableDef, tables: Mapping[str, TableDef]) -> None:
    """The rows and each inner bag are kept under a name; a dot in a name could make two of them one."""
    taken = {place for other in tables.values() if other.name != table.name for place in other.declarations}
    for place in (table.name, *(dictionary_name(table.name, path) for path, _ in bag_levels(table.record))):
        if place in taken:
            raise QueryError(
                f"{table.name} would be stored under the name of {place}",
                hint="a dot leads to an inner bag: rename the table or the column",
            )
        taken.add(place)


def _check_columns(table: str, record: Record, columns: tuple[str, ...]) -> None:
    for name in columns:
        index = record.index(name)
        if index is None:
            raise QueryError(
                f"{table} has no column {name!r} to be its key", hint=f"it has {', '.join(record.names)}"
            )
        if any(bag_levels(record.types[index])):
            what = "is" if isinstance(record.types[index], Bag) else "has"
            raise QueryError(f"{name} {what} a bag and cannot be a key", hint="keys are scalar columns")


def is_same_view(stored: ViewDef, given: ViewDef) -> bool:
    """Whether a view that is there is the one that is defined again.

    What was stored by an earlier version may have gone through passes that a front end no longer applies.
    """
    if (stored.refresh, stored.store, stored.orders) != (given.refresh, given.store, given.orders):
        return False
    return stored.query == given.query or run(stored.query, PASSES) == run(given.query, PASSES)


def other_view(stored: ViewDef, given: ViewDef) -> QueryError:
    """The refusal of a view that is there with another definition: what is stored was made for that one."""
    parts = [
        (f"{name}={getattr(stored, name)!r}", f"{name}={getattr(given, name)!r}")
        for name in ("refresh", "store")
        if getattr(stored, name) != getattr(given, name)
    ]
    if stored.orders != given.orders:
        parts.append((_order_text(stored), _order_text(given)))
    if stored.query != given.query:
        parts.insert(0, (show(stored.query), show(given.query)))
    was, now = (", ".join(side) for side in zip(*parts, strict=True))
    return QueryError(
        f"view {given.name!r} is already defined, and otherwise:\n  stored  {was}\n  given   {now}",
        hint=f"db.drop({given.name!r}) first, then it is computed anew; or give it another name",
    )


def other_table(stored: TableDef, given: TableDef) -> QueryError:
    """The refusal of a table that is there with another schema."""
    hint = (
        f"use it as it is: db.table({given.name!r}); or db.drop({given.name!r}) first, which deletes its rows"
    )
    if nulls := _null_there(stored, given):
        hint = (
            f"{nulls} may be NULL there: CREATE TABLE takes a column to be so unless it says NOT NULL; in a DDL string"
            " it says NULL, in Python | None"
        )
    elif nulls := _null_there(given, stored):
        hint = (
            f"{nulls} is never NULL there: a DDL string and Python take a column to be so; CREATE TABLE says NOT NULL,"
            f" or db.table({given.name!r}).widen_column(name, T | None) lets it be"
        )
    return QueryError(
        f"table {given.name!r} is already defined, and otherwise:\n"
        f"  stored  {_shown(stored)}\n  given   {_shown(given)}",
        hint=hint,
    )


def _null_there(stored: TableDef, given: TableDef) -> str:
    """The columns that are nullable there and not here, if that is all that differs."""
    first, second = list(_leaves(stored.record)), list(_leaves(given.record))
    if replace(stored, record=given.record) != given or len(first) != len(second):
        return ""
    found = [(old, new) for old, new in zip(first, second, strict=True) if old != new]
    if any((path, replace(type_, nullable=False)) != new for (path, type_), new in found):
        return ""
    return ", ".join(".".join(path) for (path, _), _ in found)


def _leaves(type_: Type, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Scalar]]:
    match type_:
        case Scalar():
            yield path, type_
        case Bag(element):
            yield from _leaves(element, path)
        case Record(fields):
            for name, field in fields:
                yield from _leaves(field, (*path, name))


def _shown(table: TableDef) -> str:
    rest = [f"key={', '.join(table.key)}"] if table.key else []
    rest += [f"{each.text} refers to {each.table} ({each.on_delete})" for each in table.references]
    rest += [f"extends {table.extends}"] if table.extends else []
    rest += [f"{name} is the inverse of {path}" for name, path in table.inverses]
    rest += [f"{'.'.join(path)} is a set" for path in table.sets]
    rest += [f"fixed: {', '.join(table.fixed)}"] if table.fixed else []
    rest += ["append-only"] if table.append_only else []
    return "; ".join([show_type(table.record), *rest])


def check_droppable(name: str, tables: Mapping[str, TableDef], views: Mapping[str, ViewDef]) -> None:
    """There is a table of this name, and nothing reads it or refers to it."""
    if name not in tables:
        raise QueryError(f"there is no {name!r}", hint=known([*tables, *views]))
    readers = [view.name for view in views.values() if name in relations(view.query)]
    readers += [
        table.name
        for table in tables.values()
        if table.name != name
        and (table.extends == name or any(each.table == name for each in table.references))
    ]
    if readers:
        raise QueryError(f"{name} is read by {', '.join(readers)}", hint="drop these first")


def known(names: Iterable[str]) -> str:
    """A hint that lists what there is."""
    listed = ", ".join(name for name in names if not name.startswith(HIDDEN))
    return f"there are {listed}" if listed else "there is none yet"


def _order_text(view: ViewDef) -> str:
    return f"read in order {show_orders(view.orders)}" if view.orders else "read in no order"
