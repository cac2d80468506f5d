"""Other dialects of SQL: a text is rewritten into Spark's by sqlglot, and what would change its meaning is refused."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError, UnsupportedError

from nestling.errors import QueryError
from nestling.frontend.sql.meanings import with_meanings

#: Dialects that are read; Spark's own needs no rewriting.
DIALECTS = (
    "postgres",
    "duckdb",
    "trino",
    "snowflake",
    "bigquery",
    "mysql",
    "sqlite",
    "redshift",
    "databricks",
    "tsql",
)


def to_spark(text: str, dialect: str) -> str:
    """``text`` in Spark's words.

    NULLs keep their places in an order, as sqlglot writes them out. A division that truncates where both sides are
    whole in that dialect is refused unless one side is evidently no whole number: its type is not known here.
    """
    if dialect == "spark":
        return text
    if dialect not in DIALECTS:
        raise QueryError(f"there is no dialect {dialect!r}", hint=f"one of {', '.join(('spark', *DIALECTS))}")
    try:
        trees = sqlglot.parse(text, read=dialect)
        known = [tree for tree in trees if tree is not None]
        for tree in known:
            _check(tree, dialect)
        found = [
            with_meanings(tree, dialect).sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)
            for tree in known
        ]
    except (ParseError, TokenError) as error:
        raise QueryError(f"this is no SQL of {dialect} that can be read: {_first_line(error)}") from None
    except UnsupportedError as error:
        raise QueryError(
            f"{dialect} has what Spark has not: {_first_line(error)}", hint="write it in Spark's SQL"
        ) from None
    return "; ".join(found)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")


def _check(tree: Any, dialect: str) -> None:
    if Dialect.get_or_raise(dialect).TYPED_DIVISION:
        for node in tree.find_all(exp.Div):
            if not any(map(_is_fraction, (node.this, node.expression))):
                raise QueryError(
                    f"{dialect} cuts the quotient {node.sql(dialect=dialect)} of whole numbers, and Spark does not",
                    hint="write CAST(… AS DOUBLE) / …, or div(…, …)",
                )


def _is_fraction(node: Any) -> bool:
    """Whether ``node`` is evidently no whole number."""
    match node:
        case exp.Literal():
            return not node.is_string and not str(node.this).isdigit()
        case exp.Paren() | exp.Neg():
            return _is_fraction(node.this)
        case exp.Cast():
            return node.to.this in (*exp.DataType.REAL_TYPES,)
        case exp.Avg() | exp.Stddev() | exp.Sqrt():
            return True
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            return _is_fraction(node.this) or _is_fraction(node.expression)
    return False
