"""Set operations and VALUES: bags added up, or compared count by count.

``INTERSECT ALL`` is the lesser of two counts and ``EXCEPT ALL`` their difference, down to 0; without ALL the counts are
made 0 or 1 first. Nulls are equal here, as they are in the calculus.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.calculus.build import countwise, for_, union
from nestling.calculus.terms import Expr, Field
from nestling.calculus.types import Record, Scalar, Type
from nestling.calculus.typing import element_type
from nestling.frontend.sql.by_content import distinct_rows
from nestling.frontend.sql.context import QueryRows, SqlEnv, only
from nestling.frontend.sql.convert import alike, converted, joined, stored
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import spark_type
from nestling.frontend.values import Row, Value, of_term, singleton, type_of

_OPERATORS = {exp.Intersect: "min", exp.Except: "monus", exp.Union: ""}


def of_set_operation(node: Any, env: SqlEnv) -> QueryRows:
    only(node, env, "this", "expression", "distinct", "with_", "order", "limit", what="a set operation")
    left, right = env.run.query(node.this, env), env.run.query(node.expression, env)
    if len(left.names) != len(right.names):
        raise env.error(
            node, f"the queries have {len(left.names)} and {len(right.names)} columns", "give both as many"
        )
    type_ = joined_type(element_type(left.expr), element_type(right.expr), node, env)
    one, two = (as_type(rows.expr, type_, node, env) for rows in (left, right))
    operator = _OPERATORS[type(node)]
    distinct = node.args.get("distinct")
    if operator and distinct:
        one, two = countwise("distinct", one), countwise("distinct", two)
    expr = countwise(operator, one, two) if operator else union(type_, one, two)
    if distinct and not operator:
        return QueryRows(env.run.enclosed(lambda: distinct_rows(expr, node, env)), left.names)
    return QueryRows(expr, left.names)


def joined_type(one: Type, two: Type, node: Any, env: SqlEnv) -> Record:
    """The type of the rows of two queries together."""
    found = joined(one, two)
    if not isinstance(found, Record):
        assert isinstance(one, Record) and isinstance(two, Record)
        for (name, a), (_, b) in zip(one.fields, two.fields, strict=True):
            if joined(a, b) is None:
                what = f"column {name} is {spark_type(a)} in one query and {spark_type(b)} in the other"
                raise env.error(node, what, "write a CAST")
    assert isinstance(found, Record)
    return found


def as_type(expr: Expr, type_: Record, node: Any, env: SqlEnv) -> Expr:
    """The rows of ``expr`` as rows of ``type_``."""
    if element_type(expr) == type_:
        return expr
    var = env.run.var("x", expr)
    own = element_type(expr)
    assert isinstance(own, Record)
    parts = zip(type_.fields, own.names, strict=True)
    row = Row(tuple((name, converted(of_term(Field(var, old)), t, node, env)) for (name, t), old in parts))
    return for_(var, expr, singleton(row, env.run.site))


def of_values(node: Any, env: SqlEnv) -> QueryRows:
    rows = [part.expressions if isinstance(part, exp.Tuple) else [part] for part in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise env.error(node, "the rows of VALUES have different lengths", "give each as many values")
    columns = [alike([env.value(part) for part in column], node, env) for column in zip(*rows, strict=True)]
    columns = [_levelled(column, node, env) for column in columns]
    names = tuple(f"col{i + 1}" for i in range(len(columns)))
    parts = [
        singleton(row_of(list(zip(names, row, strict=True))), env.run.site)
        for row in zip(*columns, strict=True)
    ]
    return QueryRows(union(element_type(parts[0]), *parts), names)


def _levelled(values: list[Value], node: Any, env: SqlEnv) -> list[Value]:
    """``values`` of one type, also in whether they may be null."""
    type_ = type_of(stored(values[0], node, env))
    for value in values[1:]:
        found = joined(type_, type_of(value))
        assert found is not None
        type_ = found
    if not isinstance(type_, Scalar):
        return values
    return [converted(value, type_, node, env) for value in values]
