"""What a database should hold after a change, and whether it should accept it: lists of rows, and nothing else."""

from typing import Any

from tests.soak.schema import Column, Table
from tests.soak.steps import Abandoned, Step
from tests.soak.values import frozen

Rows = list[tuple[Any, ...]]
Model = dict[str, Rows]


class Refused(Exception):
    """A change that cannot be accepted."""


def after(model: Model, named: dict[str, Table], step: Step) -> Model:
    """The rows after ``step``; a change that cannot be accepted raises, and the model stays as it is."""
    new = applied(model, named, step)
    for table in named.values():
        refer(new, named, table, new[table.name])
    return new


def applied(model: Model, named: dict[str, Table], step: Step) -> Model:
    """The rows after ``step`` inside a transaction: a row that others refer to may be gone for a while."""
    match step:
        case ("transaction", steps, ending):
            for inner in steps:
                model = applied(model, named, inner)
            if ending == "abandon":
                raise Abandoned
            return model
        case ("apply", changes):
            for table, pairs in changes:
                model = with_rows(model, named[table], patched(model[table], pairs))
            for table, pairs in changes:  # rows of one call may refer to each other
                refer(model, named, named[table], [row for row, times in pairs if times > 0])
            return model
    old, table = model[step[1]], named[step[1]]
    if step[0] == "update":
        identified(named, table, step)
    model = with_rows(model, table, changed(old, table, step))
    if not step[0].startswith("deep"):
        there = {frozen(row) for row in old}
        refer(model, named, table, [row for row in model[table.name] if frozen(row) not in there])
    return model


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


def with_rows(model: Model, table: Table, rows: Rows) -> Model:
    """The model with other rows in one table, whose keys stay unique."""
    keys = [table.key_of(row) for row in rows] if table.key else []
    if len(keys) != len(set(keys)):
        raise Refused("a key is there twice")
    return model | {table.name: rows}


def identified(named: dict[str, Table], table: Table, step: Step) -> None:
    """Refuse another key for a row that others may refer to: it is the row's identity."""
    names = {parent for other in named.values() for _, parent in other.references}
    key = dict(zip(table.key, step[2], strict=True))
    if table.name in names and any(step[3].get(column, value) != value for column, value in key.items()):
        raise Refused(f"the key of {table.name} stays")


def refer(model: Model, named: dict[str, Table], table: Table, rows: Rows) -> None:
    """Refuse rows of ``table`` that refer to none."""
    names = [column.name for column in table.columns]
    for column, parent in table.references:
        keys = {named[parent].key_of(row) for row in model[parent]}
        if any((row[names.index(column)],) not in keys for row in rows):
            raise Refused(f"{column} of {table.name} refers to no row")
