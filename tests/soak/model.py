"""What a database should hold after a change, and whether it should accept it: lists of rows, and nothing else."""

from typing import Any

from tests.soak import switches
from tests.soak.schema import Column, Table
from tests.soak.steps import Abandoned, Step
from tests.soak.values import frozen

Rows = list[tuple[Any, ...]]
Model = dict[str, Rows]


class Refused(Exception):
    """A change that cannot be accepted."""


def after(model: Model, named: dict[str, Table], step: Step) -> Model:
    """The rows after ``step``; a change that cannot be accepted raises, and the model stays as it is."""
    match step:
        case ("transaction", steps, ending):
            for inner in steps:
                model = after(model, named, inner)
            if ending == "abandon":
                raise Abandoned
            return model
        case ("apply", changes):
            for table, pairs in changes:
                model = with_rows(model, named, table, patched(model[table], pairs))
            return model
    table = step[1]
    return with_rows(model, named, table, changed(model[table], named[table], step))


def changed(rows: Rows, table: Table, step: Step) -> Rows:
    """The rows of one table after a change of it."""
    match step:
        case ("insert" | "insert_dicts", _, new):
            return rows + new
        case ("delete", _, gone):
            return patched(rows, [(row, -1) for row in gone])
        case ("delete_key", _, key):
            place = found(rows, table, key)
            return rows[:place] + rows[place + 1 :]
        case ("delete_where", _, column, value):
            at = [c.name for c in table.columns].index(column)
            return [row for row in rows if row[at] != value]
        case ("update", _, key, columns):
            place = found(rows, table, key)
            new = tuple(columns.get(c.name, v) for c, v in zip(table.columns, rows[place], strict=True))
            return [*rows[:place], new, *rows[place + 1 :]]
        case ("feed", _, pairs):
            signs = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
            return patched(rows, [(row, signs[kind]) for row, kind in pairs])
        case ("sync", _, new):
            return list(new)
        case ("deep_insert" | "deep_delete" | "deep_update", _, key, path, _):
            place = found(rows, table, key)
            return [*rows[:place], inside(rows[place], table.columns, path, step), *rows[place + 1 :]]
    raise ValueError(step)


def patched(rows: Rows, pairs: list[tuple[Any, int]]) -> Rows:
    """Rows and a Z-bag added up; no row may then be there less than never."""
    total: dict[Any, list[Any]] = {}
    for row, times in [*((row, 1) for row in rows), *pairs]:
        entry = total.setdefault(frozen(row), [row, 0])
        entry[1] += times
    if any(times < 0 for _, times in total.values()):
        raise Refused("what is not there is deleted")
    return [row for row, times in total.values() for _ in range(times)]


def found(rows: Rows, table: Table, key: tuple[Any, ...]) -> int:
    places = [place for place, row in enumerate(rows) if table.key and table.key_of(row) == key]
    if not places:
        raise Refused(f"no row {key}")
    return places[0]


def inside(value: Any, columns: tuple[Column, ...], path: Any, step: Step) -> Any:
    """A row, or an element, with the bag at ``path`` changed."""
    names = [column.name for column in columns]
    place = names.index(path[0])
    bag, column = value[place], columns[place]
    if len(path) == 1:
        new = bag + step[4] if step[0] == "deep_insert" else patched(bag, [(e, -1) for e in step[4]])
    else:
        which = chosen(bag, column, path[1])
        if len(path) == 2:
            element = tuple(step[4].get(c.name, v) for c, v in zip(column.parts, bag[which], strict=True))
        else:
            element = inside(bag[which], column.parts, path[2:], step)
        new = [*bag[:which], element, *bag[which + 1 :]]
    return (*value[:place], new, *value[place + 1 :])


def chosen(bag: list[Any], column: Column, wanted: dict[str, Any]) -> int:
    """The one element whose columns have the wanted values."""
    names = [part.name for part in column.parts]
    fits = [
        place
        for place, element in enumerate(bag)
        if all(element[names.index(name)] == value for name, value in wanted.items())
    ]
    if len(fits) != 1:
        raise Refused(f"{len(fits)} elements have {wanted}")
    return fits[0]


def with_rows(model: Model, named: dict[str, Table], table: str, rows: Rows) -> Model:
    """The model with other rows in one table: keys stay unique, and every reference finds its row."""
    definition = named[table]
    keys = [definition.key_of(row) for row in rows] if definition.key else []
    if len(keys) != len(set(keys)):
        raise Refused("a key is there twice")
    new = model | {table: rows}
    for other in named.values():
        for column, parent in other.references:
            if table == other.name or (table == parent and switches.REFERENCES):
                dangling(
                    other, column, new[other.name], {key for key, *_ in keys_of(named[parent], new[parent])}
                )
    return new


def keys_of(table: Table, rows: Rows) -> list[tuple[Any, ...]]:
    return [table.key_of(row) for row in rows]


def dangling(table: Table, column: str, rows: Rows, keys: set[Any]) -> None:
    place = [c.name for c in table.columns].index(column)
    if any(row[place] is not None and row[place] not in keys for row in rows):
        raise Refused(f"{column} of {table.name} refers to no row")
