"""The front end of each language, which translates a text or a function into the calculus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus import terms
from nestling.calculus.terms import Expr
from nestling.calculus.types import Type
from nestling.errors import QueryError, brief, shown
from nestling.frontend import comprehension, oql
from nestling.frontend.view_query import ViewQuery

Reader = Callable[[Any, Mapping[str, Type]], ViewQuery]
LANGUAGES = ("sql", "python", "oql")
#: The nodes that stand for bags, by the union that lists them.
_EXPRESSIONS = tuple(getattr(terms, name.strip()) for name in Expr.split("|"))  # type: ignore[attr-defined]


def reader(query: object, language: object) -> Reader:
    """What reads ``query``; a function is read as Python, whatever the language of texts is."""
    if query is None:
        raise QueryError("a view needs a query", hint='db.view("name", lambda T: [...])')
    if is_frame(query):
        raise QueryError(
            "a DataFrame is a view of a database on Spark", hint='Database(spark=spark, path="…")'
        )
    if isinstance(query, ViewQuery):
        return lambda query, catalog: query
    if isinstance(query, _EXPRESSIONS):
        return lambda query, catalog: ViewQuery(query)
    if not isinstance(query, str) and not callable(query):
        raise QueryError(
            f"a query is a function or a text, not {shown(query)}", hint='db.view("name", "SELECT …")'
        )
    if language == "xquery":
        raise QueryError(
            "an XQuery is a view, over documents", hint='db.view("name", "…", language="xquery")'
        )
    if not isinstance(language, str) or language not in LANGUAGES:
        hint = f"language={' or language='.join(map(repr, (*LANGUAGES, 'xquery')))}"
        raise QueryError(f"there is no language {brief(language)}", hint=hint)
    if callable(query) or language == "python":
        return comprehension.view_query
    if language == "oql":
        return oql.translate
    found: Reader = sql().view_query
    return found


def in_spark(query: object, language: object, dialect: object) -> str:
    """A text in another dialect of SQL, in Spark's."""
    if language != "sql" or not isinstance(query, str):
        raise QueryError("a dialect is one of SQL", hint='db.view("name", "SELECT …", dialect="postgres")')
    if not isinstance(dialect, str):
        raise QueryError(f"a dialect has a name, and is not {shown(dialect)}", hint='dialect="postgres"')
    found = sql().to_spark(query, dialect)
    assert isinstance(found, str)
    return found


def is_frame(query: object) -> bool:
    """Whether ``query`` is a DataFrame of Spark."""
    return hasattr(query, "toLocalIterator") and hasattr(query, "toArrow")


def sql() -> Any:
    """The front end of SQL, which needs a library of its own."""
    try:
        from nestling.frontend import sql as found
    except ModuleNotFoundError as error:
        raise QueryError("SQL needs the library sqlglot", hint="pip install 'nestling[sql]'") from error
    return found
