"""SQL to the calculus.

Law: for every database, ``evaluate(translate(text, catalog), db)`` is the bag of the rows that Spark's SQL, in ANSI
mode, yields for ``text``. What differs is written down in ``docs/decisions/0006-sql.md``; what is not supported is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from nestling.calculus.build import for_
from nestling.calculus.terms import Expr, Field, Sing, Tuple
from nestling.calculus.traverse import number_sites
from nestling.calculus.types import Record, Type
from nestling.calculus.typing import check, element_type
from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.sql import choices, conditions, nested, scalars
from nestling.frontend.sql.aggregates import is_aggregate
from nestling.frontend.sql.bind import BoundValue, of_bound
from nestling.frontend.sql.casts import of_cast
from nestling.frontend.sql.columns import of_column, of_dot, of_identifier
from nestling.frontend.sql.composed import of_bit_not, of_bits
from nestling.frontend.sql.context import QueryRows, SqlEnv, SqlTranslation
from nestling.frontend.sql.final_order import final_order, unordered
from nestling.frontend.sql.functions import of_function, of_rlike, of_substring, of_trim
from nestling.frontend.sql.parts import of_extract
from nestling.frontend.sql.positions import of_bracket
from nestling.frontend.sql.queries import of_query
from nestling.frontend.sql.recursive import closed
from nestling.frontend.sql.subqueries import of_subquery
from nestling.frontend.sql.tables import record_fields
from nestling.frontend.sql.text import Text
from nestling.frontend.sql.variants import of_variant
from nestling.frontend.values import Value
from nestling.frontend.view_query import ViewQuery

EXPRESSIONS: dict[Any, Callable[[Any, SqlEnv], Value]] = {
    exp.Add: scalars.of_arithmetic("+"),
    exp.And: scalars.of_connective("and"),
    exp.Anonymous: of_function,
    exp.Between: scalars.of_between,
    exp.BitwiseAnd: of_bits("bit_and_of", "&"),
    exp.BitwiseNot: of_bit_not,
    exp.BitwiseOr: of_bits("bit_or_of", "|"),
    exp.BitwiseXor: of_bits("bit_xor_of", "^"),
    BoundValue: of_bound,
    exp.Boolean: scalars.of_boolean,
    exp.Bracket: of_bracket,
    exp.Case: choices.of_case,
    exp.Cast: of_cast,
    exp.Column: of_column,
    exp.DPipe: scalars.of_concatenation,
    exp.Div: scalars.of_divide,
    exp.Dot: of_dot,
    exp.EQ: conditions.of_comparison,
    exp.Escape: scalars.of_escape,
    exp.Exists: conditions.of_exists,
    exp.Extract: of_extract,
    exp.GT: conditions.of_comparison,
    exp.GTE: conditions.of_comparison,
    exp.ILike: scalars.of_like,
    exp.Identifier: of_identifier,
    exp.If: choices.of_if,
    exp.In: conditions.of_in,
    exp.IntDiv: scalars.of_binary("quotient", "DIV"),
    exp.Interval: scalars.of_interval,
    exp.Is: scalars.of_is,
    exp.LT: conditions.of_comparison,
    exp.LTE: conditions.of_comparison,
    exp.Lambda: nested.of_lambda,
    exp.JSONExtract: of_variant,
    exp.Like: scalars.of_like,
    exp.Literal: scalars.of_literal,
    exp.Mod: scalars.of_binary("remainder", "%"),
    exp.Mul: scalars.of_arithmetic("*"),
    exp.NEQ: conditions.of_comparison,
    exp.Neg: scalars.of_neg,
    exp.Not: conditions.of_not,
    exp.Null: scalars.of_null,
    exp.NullSafeEQ: scalars.of_null_safe,
    exp.NullSafeNEQ: scalars.of_null_safe_differ,
    exp.Or: scalars.of_connective("or"),
    exp.Paren: scalars.of_paren,
    exp.RegexpLike: of_rlike,
    exp.RawString: scalars.of_raw_string,
    exp.Sub: scalars.of_arithmetic("-"),
    exp.Subquery: of_subquery,
    exp.Substring: of_substring,
    exp.Trim: of_trim,
    exp.TryCast: of_cast,
    exp.Tuple: nested.of_tuple,
}
_REFUSED = {
    exp.Concat: ("strings side by side", "join them with ||; write a quote in a string as \\'"),
    exp.Window: ("a window function", "aggregate in a subquery that compares the rows before"),
    exp.Star: ("* in this place", "name the column"),
    exp.Alias: ("a name in this place", "name the items of the select list"),
    exp.IgnoreNulls: ("IGNORE NULLS", "filter with FILTER (WHERE … IS NOT NULL)"),
    exp.Distinct: ("DISTINCT in this place", "it stands after SELECT or in an aggregate"),
    exp.Placeholder: ("a parameter", 'write the value, or db.sql("… = ?", [value])'),
}


def expression(node: Any, env: SqlEnv) -> Value:
    """What an expression stands for."""
    if id(node) in env.settled:
        return env.settled[id(node)]
    if isinstance(node, exp.Filter | exp.WithinGroup):
        inner = node.this.this if isinstance(node.this, exp.WithinGroup) else node.this
        if id(inner) in env.settled:
            return env.settled[id(inner)]
    if env.match is not None and (found := env.match(node)) is not None:
        return found
    if is_aggregate(node) or isinstance(node, exp.Filter | exp.WithinGroup):
        raise env.error(
            node, "an aggregate has no value in this place", "use it in the select list or in HAVING"
        )
    construct = EXPRESSIONS.get(type(node))
    if construct is None:
        what, hint = _REFUSED.get(
            type(node), (node.key.upper(), "write it with the operators that are supported")
        )
        raise env.error(node, f"{what} is not supported", hint)
    return construct(node, env)


def translate(text: str, catalog: Mapping[str, Type]) -> Expr:
    """The expression of a view: one query over tables and views.

    >>> from nestling.calculus.show import show
    >>> from nestling.calculus.types import INT, STR, record
    >>> catalog = {"orders": record(customer=STR, qty=INT)}
    >>> print(show(translate("SELECT customer, qty * 2 AS twice FROM orders WHERE qty > 1", catalog)))
    for orders1 in orders where orders1.qty > 1 union
      sng⟨customer: orders1.customer, twice: orders1.qty * 2⟩
    """
    return view_query(text, catalog).expr


def view_query(text: str, catalog: Mapping[str, Type]) -> ViewQuery:
    """What ``translate`` yields, and the order that it ends with."""
    source = Text(text)
    with room():
        trees = source.statements()
    if len(trees) != 1:
        raise QueryError(
            f"a view is one query, not {len(trees)}", hint="write SELECT … without a semicolon in it"
        )
    return of_tree(trees[0], source, catalog)


def of_tree(tree: Any, source: Text, catalog: Mapping[str, Type]) -> ViewQuery:
    """The expression of one query, checked, and its order."""
    run = SqlTranslation(catalog, source, expression, of_query)
    env = SqlEnv(run)
    try:
        with room():
            if not isinstance(tree, exp.Query | exp.Values):
                raise env.error(tree, f"{tree.key.upper()} is no query", "write SELECT …")
            rows = of_query(unordered(tree), env)
            expr = _named(rows, tree, env)
            check(expr)
            record = element_type(expr)
            assert isinstance(record, Record)
            order = final_order(tree, rows.names, record, env)
            expr = number_sites(expr)
            return ViewQuery(expr, (((), order),) if order else (), closed(run.fixpoints, expr))
    except RecursionError:
        raise QueryError(
            "the query is nested too deeply", hint="split it into views that read each other"
        ) from None


def _stars(tree: Any) -> list[Any]:
    return [item.this if isinstance(item, exp.Column) else item for item in tree.expressions]


def _named(rows: QueryRows, tree: Any, env: SqlEnv) -> Expr:
    """The rows of a view: records whose fields are called like its columns.

    A name that ``*`` brings twice gets a number: ``a``, ``a_1``.
    """
    if isinstance(tree, exp.Select) and any(isinstance(part, exp.Star) for part in _stars(tree)):
        rows = QueryRows(rows.expr, tuple(record_fields(rows.names)))
    names = [name.lower() for name in rows.names]
    for name in rows.names:
        if names.count(name.lower()) > 1:
            raise env.error(
                tree, f"column {name} stands twice in the select list", "rename one of them: … AS name"
            )
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    if type_.names == rows.names:
        return rows.expr
    var = env.run.var("x", rows.expr)
    pairs = zip(rows.names, type_.names, strict=True)
    return for_(var, rows.expr, Sing(Tuple(tuple((name, Field(var, field)) for name, field in pairs))))
