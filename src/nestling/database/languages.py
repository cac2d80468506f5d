"""The languages of queries: each reads a text, or a function, into the calculus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus.terms import Expr
from nestling.calculus.types import Type
from nestling.errors import QueryError
from nestling.frontend import comprehension

Reader = Callable[[Any, Mapping[str, Type]], Expr]


def reader(query: object, language: str) -> Reader:
    """What reads ``query``; a function is read as Python, whatever the language of texts is."""
    if query is None:
        raise QueryError("a view needs a query", hint='db.view("name", lambda T: [...])')
    if is_frame(query):
        raise QueryError(
            "a DataFrame is a view of a database on Spark", hint='Database(spark=spark, path="…")'
        )
    if not isinstance(query, str) and not callable(query):
        return lambda query, catalog: query
    if callable(query) or language == "python":
        return comprehension.translate
    if language == "sql":
        return sql().translate  # type: ignore[no-any-return]
    raise QueryError(f"there is no language {language!r}", hint='language="sql" or language="python"')


def is_frame(query: object) -> bool:
    """Whether ``query`` is a DataFrame of Spark."""
    return hasattr(query, "toLocalIterator") and hasattr(query, "toArrow")


def sql() -> Any:
    """The front end of SQL, which needs a library of its own."""
    try:
        from nestling.frontend import sql as found
    except ModuleNotFoundError as error:
        raise QueryError("SQL needs the library sqlglot", hint="pip install nestling[sql]") from error
    return found
