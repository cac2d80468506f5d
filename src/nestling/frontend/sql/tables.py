"""What a query reads by name: tables, views and common queries; and how their rows are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from nestling.calculus.build import for_
from nestling.calculus.terms import Relation
from nestling.calculus.types import Bag, Record
from nestling.frontend.catalog import unknown
from nestling.frontend.paths import row_type
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import QueryRows, SqlEnv, only
from nestling.frontend.values import Row, Value, of_term, singleton


def of_name(node: Any, env: SqlEnv) -> QueryRows:
    """A common query, a table or a view by its name."""
    only(node, env, "this", "alias", "joins", "laterals", what="a table")
    if not isinstance(node.this, exp.Identifier):
        raise env.error(node, "this is not the name of a table", "write FROM table AS t")
    name = node.this.name
    common = env.common.get(name.lower())
    if common is not None:
        env.run.read.add(id(common.node))
        return renamed(env.run.query(common.node, common.env), common.columns, node, env)
    found = [known for known in env.run.catalog if known == name]
    found = found or [known for known in env.run.catalog if same(known, name)]
    if len(found) != 1:
        if found:
            raise env.error(node, f"{name} is ambiguous: {', '.join(found)}", "write it as it was declared")
        raise unknown(name, env.run.catalog).located(env.run.text.span(node.this))
    return _of_relation(found[0], env)


def _of_relation(name: str, env: SqlEnv) -> QueryRows:
    element = row_type(env.run.catalog, name)
    relation = Relation(name, Bag(element))
    if isinstance(element, Record):
        return QueryRows(relation, element.names)
    var = env.run.var("x", relation)
    return QueryRows(
        for_(var, relation, singleton(Row((("value", of_term(var)),)), env.run.site)), ("value",)
    )


def renamed(rows: QueryRows, names: Sequence[str], node: Any, env: SqlEnv) -> QueryRows:
    """``rows`` with their columns called ``names``, if there are any."""
    if not names:
        return rows
    if len(names) != len(rows.names):
        raise env.error(node, f"{len(names)} names are given to {len(rows.names)} columns")
    return QueryRows(rows.expr, tuple(names))


def record_fields(names: Sequence[str]) -> list[str]:
    """Names for the fields of a record: those given, told apart where two are one."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique.lower() in taken:
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
        taken.add(unique.lower())
    return found


def row_of(items: Sequence[tuple[str, Value]]) -> Row:
    """A record of named values."""
    names = record_fields([name for name, _ in items])
    return Row(tuple(zip(names, (value for _, value in items), strict=True)))
