"""CREATE TABLE: columns with their types, and a key. A column may be NULL unless it says NOT NULL or is in the key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.maps import map_type
from nestling.calculus.optional import optional
from nestling.calculus.sizes import MOST
from nestling.calculus.types import Bag, Record, Scalar, Type, nullable
from nestling.frontend.sql.context import SqlEnv, only

_SCALARS = {
    "BOOLEAN": "bool", "TINYINT": "int", "SMALLINT": "int", "INT": "int", "BIGINT": "int",
    "DOUBLE": "float", "DECIMAL": "decimal", "TEXT": "str", "VARCHAR": "str", "CHAR": "str", "BINARY": "bytes",
    "DATE": "date", "TIMESTAMP": "datetime", "TIMESTAMPTZ": "datetime", "TIMESTAMPLTZ": "datetime",
    "TIMESTAMPNTZ": "datetime", "INTERVAL": "timedelta", "TIME": "time",
}  # fmt: skip
#: What is said of FLOAT and REAL.
OF_32_BITS = "FLOAT of 32 bits, and a number with a point has 64 here"
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def declared(schema: Any, env: SqlEnv) -> tuple[Record, tuple[str, ...]]:
    """The record type and the key of the table that ``schema`` declares."""
    key: list[str] = []
    fields: list[tuple[str, Type]] = []
    for part in schema.expressions:
        if isinstance(part, exp.PrimaryKey):
            key += [column.name for column in part.expressions]
        elif not isinstance(part, exp.ColumnDef):
            hint = "references are declared in Python: db.table(…, references={…})"
            raise env.error(part, "a table has columns and a PRIMARY KEY", hint)
        else:
            only(part, env, "this", "kind", "constraints", what="a column")
            fields.append((part.name, column_type(part, env)))
            key += [part.name for c in _constraints(part) if isinstance(c, exp.PrimaryKeyColumnConstraint)]
    names = [name.lower() for name, _ in fields]
    for name, _ in fields:
        if names.count(name.lower()) > 1:
            raise env.error(schema, f"column {name} stands twice", "rename one of them")
    keys = {name.lower() for name in key}
    solid = [(name, _solid(type_) if name.lower() in keys else type_) for name, type_ in fields]
    found = tuple(name for name, _ in fields if name.lower() in keys)
    if len(found) != len(keys):
        raise env.error(schema, "the key names a column that is not there", f"there are {', '.join(names)}")
    return Record(tuple(solid)), found


def _constraints(node: Any) -> list[Any]:
    return [constraint.args.get("kind") for constraint in node.args.get("constraints") or ()]


def _solid(type_: Type) -> Type:
    return replace(type_, nullable=False) if isinstance(type_, Scalar) else type_


def column_type(node: Any, env: SqlEnv) -> Type:
    """The type of a column or field, with what it says about NULL."""
    type_ = type_of_node(node.args.get("kind"), node, env)
    for constraint in _constraints(node):
        match constraint:
            case exp.NotNullColumnConstraint():
                type_ = optional(type_) if constraint.args.get("allow_null") else _solid(type_)
            case exp.PrimaryKeyColumnConstraint():
                type_ = _solid(type_)
            case exp.CommentColumnConstraint():
                pass
            case _:
                raise env.error(
                    node, f"this constraint of {node.name} is not supported", "NOT NULL and PRIMARY KEY are"
                )
    return type_


def type_of_node(node: Any, at: Any, env: SqlEnv) -> Type:
    """The type that ``node`` names, of the column ``at``; a scalar may be NULL."""
    name = node.this.name if node is not None and hasattr(node.this, "name") else ""
    if name == "ARRAY" and len(node.expressions) == 1:
        return Bag(type_of_node(node.expressions[0], at, env))
    if name == "STRUCT":
        return Record(tuple((field.name, column_type(field, env)) for field in node.expressions))
    if name == "MAP" and len(node.expressions) == 2:
        key, value = (type_of_node(part, at, env) for part in node.expressions)
        if isinstance(key, Scalar):
            return map_type(_solid(key), value)
    if name == "FLOAT":
        raise env.error(at, f"{at.name} is a {OF_32_BITS}", "write DOUBLE")
    if name not in _SCALARS:
        hint = (
            "the keys of a MAP are scalars" if name == "MAP" else "a type is BIGINT, DOUBLE, STRING, DATE, …"
        )
        raise env.error(at, f"the type of {at.name} is not supported", hint)
    return nullable(Scalar(_SCALARS[name], size=_size(name, node, at, env)))


def _size(name: str, node: Any, at: Any, env: SqlEnv) -> tuple[int, ...]:
    """How much a number holds; a DECIMAL that does not say so has 10 digits and no places."""
    if name in BITS:
        return (BITS[name],)
    return decimal_of(node, at, env) if name == "DECIMAL" else ()


def decimal_of(node: Any, at: Any, env: SqlEnv) -> tuple[int, ...]:
    """The digits and places of ``DECIMAL(p, s)``."""
    given = [int(part.this.this) for part in node.expressions or () if isinstance(part, exp.DataTypeParam)]
    digits, places = (*given, *(10, 0)[len(given) :])
    if not 0 <= places <= digits <= MOST or not digits:
        raise env.error(at, f"there is no DECIMAL({digits}, {places})", f"digits are {MOST} at most")
    return digits, places
