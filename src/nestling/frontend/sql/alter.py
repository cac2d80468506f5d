"""ALTER TABLE: one change of a table with rows, by the name of the method that it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from nestling.calculus.types import Type
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.declare import column_type, type_of_node

Path = tuple[str, ...]
_WAYS = "ADD COLUMN c INT, DROP COLUMN c, RENAME COLUMN c TO d, ALTER COLUMN c TYPE BIGINT, RENAME TO t are"


@dataclass(frozen=True)
class AlterAdd:
    """``ADD COLUMN``: NULL, or an empty array, in the rows there are."""

    path: Path
    type: Type


@dataclass(frozen=True)
class AlterDrop:
    """``DROP COLUMN``."""

    path: Path


@dataclass(frozen=True)
class AlterName:
    """``RENAME COLUMN … TO``."""

    path: Path
    name: str


@dataclass(frozen=True)
class AlterType:
    """``ALTER COLUMN … TYPE``, which keeps what is said of NULL; without a type, ``DROP NOT NULL``."""

    path: Path
    type: Type | None


@dataclass(frozen=True)
class AlterTo:
    """``RENAME TO``."""

    name: str


Action = AlterAdd | AlterDrop | AlterName | AlterType | AlterTo


@dataclass(frozen=True)
class AlterTable:
    """``ALTER TABLE``, or the new name of a view."""

    name: str
    action: Action


def altered(tree: Any, env: SqlEnv) -> AlterTable:
    """What an ALTER says."""
    only(tree, env, "this", "kind", "actions", what="ALTER")
    actions = [part for each in tree.args["actions"] for part in _parts(each)]
    if len(actions) != 1:
        raise env.error(tree, "one column is changed at a time", "write a statement for each")
    action = _action(actions[0], env)
    if tree.args["kind"] != "TABLE" and not isinstance(action, AlterTo):
        raise env.error(tree, f"this ALTER {tree.args['kind']} is not supported", "CREATE OR REPLACE VIEW")
    return AlterTable(tree.this.name, action)


def _parts(action: Any) -> list[Any]:
    """``ADD COLUMNS (a INT, b INT)`` is several actions."""
    return list(action.expressions) if isinstance(action, exp.Schema) else [action]


def _action(node: Any, env: SqlEnv) -> Action:
    match node:
        case exp.ColumnDef():
            only(node, env, "this", "kind", "constraints", what="a column")
            _without_default(node, env)
            return AlterAdd(_path(node.this), column_type(node, env))
        case exp.Drop() if node.args["kind"] == "COLUMN" and len(node.args["tables"]) == 1:
            only(node, env, "tables", "kind", what="DROP COLUMN")
            return AlterDrop(_path(node.args["tables"][0]))
        case exp.RenameColumn():
            only(node, env, "this", "to", what="RENAME COLUMN")
            return AlterName(_path(node.this), node.args["to"].name)
        case exp.AlterRename():
            return AlterTo(node.this.name)
        case exp.AlterColumn() if (type_ := node.args.get("dtype")) is not None:
            only(node, env, "this", "dtype", what="ALTER COLUMN")
            return AlterType(_path(node.this), type_of_node(type_, node, env))
        case exp.AlterColumn() if node.args.get("allow_null") and node.args.get("drop"):
            only(node, env, "this", "allow_null", "drop", what="ALTER COLUMN")
            return AlterType(_path(node.this), None)
    raise env.error(node, "this change of a table is not supported", _WAYS)


def _without_default(node: Any, env: SqlEnv) -> None:
    """A default would also be for rows that come later."""
    for constraint in node.args.get("constraints") or ():
        if isinstance(constraint.args.get("kind"), exp.DefaultColumnConstraint):
            hint = "say in Python what the rows there are have: db.table(…).add_column(name, type, value)"
            raise env.error(constraint, "a column has no DEFAULT", hint)


def _path(node: Any) -> Path:
    """The names from a column to the one inside its bags: ``items.note``."""
    if isinstance(node, exp.Dot):
        return (*_path(node.this), node.expression.name)
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts)
    return (node.name,)
