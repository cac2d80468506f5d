"""ORDER BY … LIMIT k OFFSET n: the first k rows of an order after n others, as a bag.

At the end of a view ORDER BY is also the order in which it is read (``final_order``); alone and inside a view it is
refused: a bag has no order. Among rows of equal keys SQL may take any, and LIMIT alone may take any
at all; the lesser rows are taken, by their columns from the first to the last, or the greater where the first key
descends. A key against the direction of the first is turned round, which numbers, truths and moments allow and strings
do not. Nulls come first where a key ascends and last where it descends, unless the query says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, first, for_, negate, union
from nestling.calculus.terms import Const, Expr, Field, Term
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.by_content import is_array
from nestling.frontend.sql.codes import is_sorted, nullable_code
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import QueryRows, SqlEnv, only
from nestling.frontend.sql.convert import is_nullable, scalar_of, scalar_type
from nestling.frontend.values import One, Row, Value, of_term, singleton, type_of


@dataclass(frozen=True, slots=True)
class Key:
    """One part of ORDER BY: a column of the result by its place, or an expression to be read with the select list."""

    node: Any
    column: int | None
    descending: bool
    nulls_first: bool


def is_ordered(node: Any, env: SqlEnv) -> bool:
    """Whether ``node`` takes the first rows of an order; an order alone is refused."""
    order, offset = node.args.get("order"), node.args.get("offset")
    limit = node.args.get("limit") or offset
    if order is not None and limit is None:
        hint = "drop it, or take the first rows: ORDER BY … LIMIT k; a view may end with it"
        raise env.error(order, "rows inside a view have no order: ORDER BY alone says nothing", hint)
    return limit is not None


def limit_of(node: Any, env: SqlEnv) -> int | None:
    """The number of rows that LIMIT takes; ``None`` where it takes all."""
    return _number(node.args.get("limit"), "LIMIT", env)


def offset_of(node: Any, env: SqlEnv) -> int:
    """The number of rows that OFFSET leaves out."""
    return _number(node.args.get("offset"), "OFFSET", env) or 0


def _number(node: Any, what: str, env: SqlEnv) -> int | None:
    if node is None:
        return None
    only(node, env, "expression", what=what)
    if not isinstance(node.expression, exp.Literal) or not str(node.expression.this).isdigit():
        raise env.error(node, f"{what} takes a number", f"write {what} 10")
    return int(node.expression.this)


def keys_of(node: Any, names: Sequence[str], env: SqlEnv) -> list[Key]:
    """The keys of ORDER BY; a number or a name of a column of the result means that column."""
    if node.args.get("order") is None:
        return []
    only(node.args["order"], env, "expressions", what="ORDER BY")
    return [_key(part, names, env) for part in node.args["order"].expressions]


def _key(node: Any, names: Sequence[str], env: SqlEnv) -> Key:
    only(node, env, "this", "desc", "nulls_first", what="ORDER BY")
    part, column = node.this, None
    if isinstance(part, exp.Literal) and not part.is_string:
        column = int(part.this) - 1 if str(part.this).isdigit() else -1
        if not 0 <= column < len(names):
            raise env.error(part, f"the select list has no item {part.this}", f"it has {len(names)}")
    elif isinstance(part, exp.Column) and len(part.parts) == 1:
        column = next((i for i, name in enumerate(names) if same(name, part.name)), None)
    return Key(part, column, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def first_rows(rows: QueryRows, keys: Sequence[Key], node: Any, env: SqlEnv) -> QueryRows:
    """Those of ``rows`` that LIMIT and OFFSET of ``node`` take; their records end with the keys that are no columns."""
    limit, offset = limit_of(node, env), offset_of(node, env)
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    own, hidden = type_.names[: len(rows.names)], iter(type_.names[len(rows.names) :])
    greatest = bool(keys) and keys[0].descending
    var = env.run.var("x", rows.expr)

    def placed() -> Expr:
        fields: list[tuple[str, Value]] = []
        for i, key in enumerate(keys):
            value = of_term(Field(var, own[key.column] if key.column is not None else next(hidden)))
            if is_array(type_of(value)) and is_sorted(type_of(value)):
                value = One(nullable_code(value, key.node, env))
            parts = _placed(scalar_of(value, key.node, env), key, greatest, env)
            fields += [(f"·{i}_{j}", One(part)) for j, part in enumerate(parts)]
        row = Row(tuple((name, of_term(Field(var, name))) for name in own))
        return singleton(Row((*fields, ("row", row))), env.run.site)

    keyed = for_(var, rows.expr, env.run.enclosed(placed))
    taken = first(limit + offset, keyed, greatest) if limit is not None else keyed
    if offset:
        taken = union(element_type(keyed), taken, negate(first(offset, keyed, greatest)))
    found = env.run.var("row", taken)
    expr: Expr = for_(found, taken, singleton(of_term(Field(found, "row")), env.run.site))
    return QueryRows(expr, rows.names)


def _placed(term: Term, key: Key, greatest: bool, env: SqlEnv) -> list[Term]:
    """``term`` as the calculus orders it, nulls least: with a test before it where they belong elsewhere."""
    turned = term if key.descending == greatest else _turned(term, key, env)
    nulls_least = key.nulls_first != greatest
    return [turned] if nulls_least or not is_nullable(term) else [call("is_null", term), turned]


def _turned(term: Term, key: Key, env: SqlEnv) -> Term:
    """What is less where ``term`` is greater."""
    match scalar_type(term).name:
        case "int" | "float" | "decimal" | "timedelta":
            return call("neg", term)
        case "bool":
            return call("not", term)
        case "date":
            return call("days_between", Const(date.min, Scalar("date")), term)
        case "time":
            return call("time_minus", Const(time(), Scalar("time")), term)
        case "datetime":
            return call("-", Const(datetime.min, Scalar("datetime")), term)
    hint = "order by strings in one direction, all ASC or all DESC"
    raise env.error(key.node, "a string is not ordered against the first key", hint)
