"""Queries in the place of a value: one column, and one row at most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import TRUE, call, const, for_
from nestling.calculus.terms import Const, Expr, Sing, Term
from nestling.calculus.types import Scalar, nullable
from nestling.frontend.catalog import Catalog
from nestling.frontend.sql.aggregates import calls, is_aggregate, read_call
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import YES, QueryRows, SqlEnv, where
from nestling.frontend.sql.convert import (
    condition,
    is_nullable,
    scalar_of,
    scalar_type,
    stored,
    without_null,
)
from nestling.frontend.sql.groups import group_place, grouped_source
from nestling.frontend.sql.ordering import limit_of
from nestling.frontend.values import Null, One, Value, fields_of, of_term, singleton, type_of


def of_subquery(node: Any, env: SqlEnv) -> Value:
    """``(SELECT …)`` as a value: null where it has no row."""
    query = _inside(node)
    inner = replace(env, aliases={}, match=None)
    if isinstance(query, exp.Select) and _is_one_group(query):
        return _of_one_row(query, inner) if _is_one_row(query) else _of_one_group(query, inner)
    rows = env.query(node)
    if len(rows.names) != 1:
        raise env.error(node, f"a query in the place of a value has one column, not {len(rows.names)}")
    if _has_one_row_at_most(query, env):
        return One(_only_value(rows, node, env))
    return One(_checked_value(rows, node, env))


def _checked_value(rows: QueryRows, node: Any, env: SqlEnv) -> Term:
    """The value of the only row; a change that would make several of it is refused."""
    bag = env.run.let("rows", rows.expr)
    var = env.run.var("x", bag)
    number = env.run.fold("count", for_(var, bag, YES))
    value = _only_value(QueryRows(bag, rows.names), node, env)
    null = Const(None, nullable(scalar_type(value)))
    return call("if", call("==", number, const(0)), null, call("if", call("only", number), value, null))


def _inside(node: Any) -> Any:
    while isinstance(node, exp.Subquery) and not any(
        node.args.get(key) for key in ("with_", "order", "limit")
    ):
        node = node.this
    return node


def _is_one_group(node: Any) -> bool:
    plain = not any(node.args.get(key) for key in ("group", "distinct", "order", "limit", "offset", "with_"))
    return plain and len(node.expressions) == 1 and bool(calls(node.expressions[0]))


def _of_one_group(node: Any, env: SqlEnv) -> Value:
    """An aggregate of everything: its folds stand around the row that uses the value."""
    source, grouping, _ = grouped_source(node, env)
    rows = env.run.let("rows", source)
    place = group_place(node, env, grouping, rows)
    item = node.expressions[0]
    item = item.this if isinstance(item, exp.Alias) else item
    value = stored(place.value(item), item, env)
    if node.args.get("having") is None:
        return value
    term = scalar_of(value, item, env)
    type_ = type_of(value)
    assert isinstance(type_, Scalar)
    null = Const(None, nullable(type_))
    full = term if is_nullable(term) else call("nullable", term)
    return One(call("if", condition(node.args["having"].this, place), full, null))


def _is_one_row(node: Any) -> bool:
    """``SELECT sum(t) WHERE c``: an aggregate of one row at most."""
    parts = ("from_", "having", "laterals")
    return is_aggregate(node.expressions[0]) and not any(node.args.get(key) for key in parts)


def _of_one_row(node: Any, env: SqlEnv) -> Value:
    """The aggregate as a conditional: of the row where the condition holds, of nothing elsewhere."""
    place = env.inside(())
    aggregate = read_call(node.expressions[0], place)
    test = condition(node.args["where"].this, place) if node.args.get("where") is not None else TRUE
    if aggregate.name == "count" and aggregate.value is None:
        return chosen([test], [One(const(1)), One(const(0))], node, env)
    if aggregate.name in ("sum", "min", "max") and aggregate.value is not None:
        return chosen([test], [aggregate.value, Null()], node, env)
    return _of_one_group(node, env)


def _only_value(rows: QueryRows, node: Any, env: SqlEnv) -> Term:
    """The value of the only row: the greatest of one."""
    var = env.run.var("x", rows.expr)
    found = fields_of(of_term(var))
    assert found is not None
    term = scalar_of(found[0][1], node, env)
    body: Expr = Sing(term)
    if is_nullable(term):
        body = where(call("not", call("is_null", term)), singleton(without_null(One(term)), env.run.site))
    return env.run.fold("max", for_(var, rows.expr, body))


def _has_one_row_at_most(node: Any, env: SqlEnv) -> bool:
    """Whether the query reads one row at most: no table, or one by a whole key."""
    limit = limit_of(node, env)
    if limit is not None and limit <= 1:
        return True
    if not isinstance(node, exp.Select) or any(node.args.get(key) for key in ("joins", "laterals", "with_")):
        return False
    if node.find(exp.Anonymous) is not None and "explode" in node.sql().lower():
        return False
    source = node.args.get("from_")
    if source is None:
        return True
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    if table.this.name.lower() in env.common or node.args.get("where") is None:
        return False
    catalog = env.run.catalog
    names = [name for name in catalog if same(name, table.this.name)]
    key = catalog.key(names[0]) if len(names) == 1 and isinstance(catalog, Catalog) else ()
    alias = table.alias or table.this.name
    element = catalog[names[0]] if names else None
    columns = getattr(element, "names", ())
    fixed = _fixed(node.args["where"].this, alias, columns)
    return bool(key) and all(any(same(part, other) for other in fixed) for part in key)


def _fixed(node: Any, alias: str, columns: tuple[str, ...]) -> list[str]:
    """The columns of the table that WHERE equates with something from outside it."""
    match node:
        case exp.Paren():
            return _fixed(node.this, alias, columns)
        case exp.And():
            return [*_fixed(node.this, alias, columns), *_fixed(node.expression, alias, columns)]
        case exp.EQ():
            sides = (node.this, node.expression), (node.expression, node.this)
            return [
                one.name
                for one, other in sides
                if _is_own(one, alias, columns)
                and not any(_may_be_own(part, alias, columns) for part in other.find_all(exp.Column))
                and other.find(exp.Query) is None
            ]
    return []


def _is_own(node: Any, alias: str, columns: tuple[str, ...]) -> bool:
    """Whether ``node`` is a column of the table."""
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    if len(parts) == 2:
        return same(parts[0], alias)
    return len(parts) == 1 and any(same(parts[0], name) for name in columns)


def _may_be_own(node: Any, alias: str, columns: tuple[str, ...]) -> bool:
    """Whether ``node`` may read the table: by its name, a column, or a field of a column."""
    return any(same(node.parts[0].name, name) for name in (alias, *columns))
