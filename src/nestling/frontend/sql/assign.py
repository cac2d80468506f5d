"""What a statement puts into a table: values as the types of its columns have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nestling.calculus.types import Record, Scalar, Type
from nestling.frontend.sql.casts import cast
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import converted
from nestling.frontend.sql.tables import of_name
from nestling.frontend.values import Null, One, Row, Value, type_of


def table_of(node: Any, env: SqlEnv) -> tuple[str, Record]:
    """The table that a statement changes."""
    rows = of_name(node, env)
    name = next(known for known in env.run.catalog if same(known, node.this.name))
    record = env.run.catalog[name]
    assert isinstance(record, Record) and rows.names == record.names
    return name, record


def check_columns(names: Sequence[str], table: str, record: Record, node: Any, env: SqlEnv) -> None:
    """Refuse names that the table does not have."""
    for given in names:
        if not any(same(given, known) for known in record.names):
            raise env.error(node, f"{table} has no column {given}", f"it has {', '.join(record.names)}")


def assigned(value: Value, type_: Type, node: Any, env: SqlEnv) -> Value:
    """``value`` as what a column of ``type_`` holds: a decimal is rounded to its places, and no number too long."""
    found = converted(value, type_, node, env)
    if (
        not isinstance(type_, Scalar)
        or not type_.size
        or isinstance(value, Null)
        or not isinstance(found, One)
    ):
        return found
    own = type_of(found)
    if isinstance(own, Scalar) and own.size == type_.size:
        return found
    return converted(cast(found, type_.name, type_.size, node, env), type_, node, env)


def row_of_values(record: Record, given: Mapping[str, Value], node: Any, env: SqlEnv) -> Row:
    """A row of ``record``; what is not given is null."""
    return Row(tuple((c, assigned(given.get(c.lower(), Null()), t, node, env)) for c, t in record.fields))


def updated_row(record: Record, sets: Sequence[Any], old: Callable[[str], Value], env: SqlEnv) -> Row:
    """The row that ``SET column = value, …`` makes of an old one."""

    def new(column: str, type_: Type) -> Value:
        for part in sets:
            if same(part.this.name, column):
                return assigned(env.value(part.expression), type_, part, env)
        return old(column)

    return Row(tuple((column, new(column, type_)) for column, type_ in record.fields))
