"""Random changes of a database, as its users make them."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from nestling.calculus.types import Path
from nestling.database.database import Database
from nestling.database.definitions import TableDef
from nestling.database.transaction import Transaction
from nestling.values.bag import ZBag
from tests.strategies import Draw, values

Move = Callable[[Draw, Database, Transaction], None]


def move(draw: Draw, database: Database, change: Transaction) -> None:
    """One change that can be accepted."""
    draw(st.sampled_from(MOVES))(draw, database, change)


def pick(draw: Draw, database: Database, wanted: Callable[[TableDef], Any] = lambda table: True) -> TableDef:
    tables = sorted(n for n, table in database._state.tables.items() if wanted(table))
    return database._state.tables[draw(st.sampled_from(tables))]


def some_row(draw: Draw, change: Transaction, table: TableDef) -> Any:
    """A row that is there, or none."""
    rows = sorted(change.rows(table.name), key=repr)
    return draw(st.sampled_from(rows)) if rows else None


def key_of(table: TableDef, row: Any) -> Any:
    parts = tuple(row[i] for i in table.key_positions)
    return parts[0] if len(parts) == 1 else parts


def insert(draw: Draw, database: Database, change: Transaction) -> None:
    table = pick(draw, database)
    row = draw(values(table.record, 2))
    if not table.key:
        change.apply({table.name: ZBag([(row, draw(st.sampled_from([1, 1, 2])))])})
    elif change.stored.by_key(table.name, tuple(row[i] for i in table.key_positions)) is None:
        change.insert(table.name, [row])


def delete(draw: Draw, database: Database, change: Transaction) -> None:
    table = pick(draw, database)
    row = some_row(draw, change, table)
    if row is not None and draw(st.booleans()):
        change.delete(table.name, [row])
    elif row is not None:
        change.delete(table.name, where=lambda other: other[0] == row[0])


def update(draw: Draw, database: Database, change: Transaction) -> None:
    table = pick(draw, database, lambda table: table.key)
    row = some_row(draw, change, table)
    free = [i for i in range(len(table.record.fields)) if i not in table.key_positions]
    if row is not None:
        name, type_ = table.record.fields[draw(st.sampled_from(free))]
        change.update(table.name, key=key_of(table, row), set={name: draw(values(type_, 2))})


def inner_bag(draw: Draw, database: Database, change: Transaction) -> tuple[TableDef, Any, Path] | None:
    """The place of an inner bag that has an address."""
    table = pick(draw, database, lambda table: table.key and table.levels)
    row = some_row(draw, change, table)
    paths = sorted(path for path in table.levels if len(path) == 1)
    return None if row is None else (table, row, draw(st.sampled_from(paths)))


def deep_insert(draw: Draw, database: Database, change: Transaction) -> None:
    place = inner_bag(draw, database, change)
    if place is not None:
        table, row, path = place
        elements = draw(st.lists(values(table.levels[path].element, 2), min_size=1, max_size=2))
        change.insert_into(table.name, key_of(table, row), path, elements)


def deep_delete(draw: Draw, database: Database, change: Transaction) -> None:
    place = inner_bag(draw, database, change)
    if place is not None:
        table, row, path = place
        bag = row[table.record.names.index(path[0])]
        gone = [element for element in sorted(bag, key=repr) if draw(st.booleans())]
        change.delete_from(table.name, key_of(table, row), path, gone)


MOVES: list[Move] = [insert, insert, insert, delete, update, deep_insert, deep_delete]
