"""Queries of any form: SELECT, set operations, VALUES, each after its WITH."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.frontend.sql import recursive
from nestling.frontend.sql.context import Common, QueryRows, SqlEnv, only
from nestling.frontend.sql.ordering import first_rows, is_ordered, keys_of
from nestling.frontend.sql.rewriting import written_out
from nestling.frontend.sql.select import column_names, of_select
from nestling.frontend.sql.sets import of_set_operation, of_values


def of_query(node: Any, env: SqlEnv) -> QueryRows:
    """The rows of a query of any form."""
    if node.args.get("with_") is not None:
        inner = _with_common(node.args["with_"], env)
        rows = _of_query(node, inner)
        _look_at_unused(node.args["with_"], inner)
        return rows
    return _of_query(node, env)


def _of_query(node: Any, env: SqlEnv) -> QueryRows:
    match node:
        case exp.Subquery():
            only(
                node, env, "this", "alias", "with_", "order", "limit", "offset", what="a query in parentheses"
            )
            return _first_of(node, of_query(node.this, env), env)
        case exp.Select():
            return _of_select(written_out(node, env), env)
        case exp.SetOperation():
            return _first_of(node, of_set_operation(node, env), env)
        case exp.Values():
            only(node, env, "expressions", "alias")
            return of_values(node, env)
        case recursive.Recurrence():
            rows: QueryRows = node.meta["rows"]
            return rows
    raise env.error(node, f"{node.key.upper()} is no query", "write SELECT …")


def _of_select(node: Any, env: SqlEnv) -> QueryRows:
    if not is_ordered(node, env):
        return of_select(node, env)
    keys = keys_of(node, column_names(node), env)
    others = [key.node for key in keys if key.column is None]
    if others and node.args.get("distinct") is not None:
        raise env.error(others[0], "distinct rows are ordered by their columns", "add it to the select list")
    return first_rows(of_select(node, env, others), keys, node, env)


def _first_of(node: Any, rows: QueryRows, env: SqlEnv) -> QueryRows:
    """The first of ``rows``, where ``node`` says how many and in which order."""
    if not is_ordered(node, env):
        return rows
    keys = keys_of(node, rows.names, env)
    for key in keys:
        if key.column is None:
            raise env.error(
                key.node, "these rows are ordered by their columns", "name a column, or its place"
            )
    return first_rows(rows, keys, node, env)


def _look_at_unused(node: Any, env: SqlEnv) -> None:
    """Refuse a common query that is none, though nothing reads it: what is written must have a meaning."""
    for part in node.expressions:
        if id(part.this) not in env.run.read:
            _look_at(env.common[part.args["alias"].this.name.lower()], env)


def _look_at(common: Common, env: SqlEnv) -> None:
    env.run.enclosed(lambda: env.run.query(common.node, common.env).expr)


def _with_common(node: Any, env: SqlEnv) -> SqlEnv:
    only(node, env, "expressions", "recursive", what="WITH")
    is_recursive = bool(node.args.get("recursive"))
    if is_recursive:
        recursive.check_mutual(node.expressions, env)
    for part in node.expressions:
        only(part, env, "this", "alias", what="WITH")
        alias = part.args["alias"]
        columns = tuple(column.name for column in alias.args.get("columns") or ())
        # The query sees the common queries before it, and no columns around it.
        outer = replace(env, scopes=(), aliases={}, match=None)
        if is_recursive and recursive.is_recursive(part):
            common = recursive.common(part, outer, columns)
        else:
            common = Common(part.this, outer, columns)
        env = replace(env, common={**env.common, alias.this.name.lower(): common})
    return env
