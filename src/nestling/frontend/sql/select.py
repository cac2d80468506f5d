"""SELECT: loops over FROM, guards of WHERE, groups, and one row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.terms import Expr
from nestling.frontend.sql.aggregates import calls
from nestling.frontend.sql.by_content import distinct_rows
from nestling.frontend.sql.columns import starred
from nestling.frontend.sql.context import QueryRows, SqlEnv, only
from nestling.frontend.sql.convert import stored
from nestling.frontend.sql.generators import GENERATORS
from nestling.frontend.sql.groups import aliases, filtered, group_rows
from nestling.frontend.sql.nested import with_generators
from nestling.frontend.sql.ranking import value_of
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.windows import WindowInput, table_rows, windows, with_windows
from nestling.frontend.values import Row, Value, singleton

_PARTS = (
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "distinct", "with_", "hint",
    "order", "limit", "offset",
)  # fmt: skip


def of_select(node: Any, env: SqlEnv, others: Sequence[Any] = ()) -> QueryRows:
    """The rows of a SELECT; the values of ``others`` stand behind its columns."""
    only(node, env, *_PARTS, what="SELECT")
    if not node.expressions:
        raise env.error(node, "SELECT names no column", "write SELECT * or name the columns")
    names: list[str] = []
    if is_grouped(node) or any(map(calls, others)):

        def rows() -> WindowInput:
            return group_rows(node, env, others)

        def finish(inner: SqlEnv) -> Expr:
            return singleton(_row(node, inner, names, others), env.run.site)
    else:

        def rows() -> WindowInput:
            return table_rows(node, lambda rest: filtered(node, env, rest), env)

        def finish(inner: SqlEnv) -> Expr:
            return _select_row(node, inner, names, others)

    over = windows([*node.expressions, *others])
    expr = env.run.enclosed(
        lambda: with_windows(over, rows(), value_of, env, finish) if over else rows().source(finish)
    )
    distinct = node.args.get("distinct")
    if distinct is not None:
        only(distinct, env, what="DISTINCT")
        rows_ = expr
        expr = env.run.enclosed(lambda: distinct_rows(rows_, node, env))
    return QueryRows(expr, tuple(names))


def is_grouped(node: Any) -> bool:
    """Whether a SELECT groups: by GROUP BY, or because it aggregates."""
    if node.args.get("group") is not None or node.args.get("having") is not None:
        return True
    return any(calls(item) for item in node.expressions)


def column_names(node: Any) -> list[str]:
    """What the columns of a SELECT are called, as far as that is known before it is read: not behind a ``*``."""
    found: list[str] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            break
        found.append(_name(item, len(found)))
    return found


def _select_row(node: Any, env: SqlEnv, names: list[str], others: Sequence[Any]) -> Expr:
    inner = replace(env, aliases=aliases(node))
    return with_generators(
        node, inner, lambda place: singleton(_row(node, place, names, others), env.run.site)
    )


def _row(node: Any, env: SqlEnv, names: list[str], others: Sequence[Any]) -> Value:
    hidden = [(f"·{i}", stored(env.value(part), part, env)) for i, part in enumerate(others)]
    return row_of([*items(node, env, names), *hidden])


def items(node: Any, env: SqlEnv, names: list[str]) -> list[tuple[str, Value]]:
    """The select list: names with values; ``names`` gets the names."""
    found: list[tuple[str, Value]] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            found += [(name, stored(value, at, env)) for name, value, at in starred(item, env.scopes[0], env)]
        elif (columns := _several(item, env)) is not None:
            found += columns
        else:
            named = item.this if isinstance(item, exp.Alias) else item
            found.append((_name(item, len(found)), stored(env.value(named), named, env)))
    names[:] = [name for name, _ in found]
    return found


def _several(item: Any, env: SqlEnv) -> list[tuple[str, Value]] | None:
    """The columns of ``posexplode(…)`` and the like in the select list, by their names or those that are given."""
    call = item.this if isinstance(item, exp.Aliases) else item
    value = env.settled.get(id(call))
    columns = value.fields if isinstance(value, Row) and isinstance(call, exp.Anonymous) else None
    if not isinstance(item, exp.Aliases):
        return list(columns) if columns and call.name.lower() in GENERATORS else None
    names = [part.name for part in item.expressions]
    if columns is None or len(names) != len(columns):
        hint = "name each column of posexplode(…), inline(…) or explode of a map"
        raise env.error(item, f"{len(names)} names are given to {len(columns or ' ')} columns", hint)
    return [(name, value) for name, (_, value) in zip(names, columns, strict=True)]


def _name(item: Any, place: int) -> str:
    match item:
        case exp.Alias():
            return str(item.alias)
        case exp.Column():
            return str(item.name)
        case exp.Dot() if isinstance(item.expression, exp.Identifier):
            return str(item.expression.name)
    return f"_{place}"
