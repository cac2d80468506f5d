"""One translation: what is bound around the expression at hand, the columns in scope, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.build import empty
from nestling.calculus.build import where as build_where
from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.terms import Const, Empty, Expr, Sing, Term, Tuple, Var
from nestling.calculus.types import Type
from nestling.calculus.typing import element_type, fold_type
from nestling.errors import QueryError, Span
from nestling.frontend.bindings import Bindings
from nestling.frontend.sql.text import Text
from nestling.frontend.values import Value
from nestling.values.bag import EMPTY


class SqlTranslation(Bindings):
    """What all parts of one translation share."""

    def __init__(
        self,
        catalog: Mapping[str, Type],
        text: Text,
        expression: Expression,
        query: Callable[[Any, SqlEnv], QueryRows],
    ) -> None:
        super().__init__(catalog)
        self.text, self.expression, self.query = text, expression, query
        self.nodes: list[Any] = []  # what is being read, innermost last
        self.read: set[int] = set()  # the common queries that something reads, by their nodes
        self.fixpoints: list[Fixpoint] = []  # the recursions so far

    def place(self) -> Span | None:
        return self.text.span(self.nodes[-1]) if self.nodes else None

    @contextmanager
    def reading(self, node: Any) -> Iterator[None]:
        """While ``node`` is read, what is bound stands there."""
        self.nodes.append(node)
        try:
            yield
        finally:
            self.nodes.pop()

    def fold(self, aggregate: str, source: Expr) -> Var | Const:
        """A variable for ``aggregate(source)``, the same for the same; of nothing, its value."""
        if isinstance(source, Empty):
            return Const(AGGREGATES[aggregate].of(EMPTY), fold_type(aggregate, source))
        return self.known_fold(aggregate, source) or self.folded(aggregate, source)

    def var(self, name: str, source: Expr) -> Var:
        """A loop variable over ``source``, called like ``name`` if that is a plain word."""
        plain = name if name.isidentifier() and name.strip("_") else "x"
        return Var(self.names.fresh(plain), element_type(source), self.place())


@dataclass(frozen=True, slots=True)
class QueryRows:
    """What a query yields: a bag of records, and what its columns are called, which need not be unique."""

    expr: Expr
    names: tuple[str, ...]
    #: Of joins in parentheses, the table of each column.
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column in scope. One that is not ``open`` is found by its table's name only."""

    table: str
    name: str
    value: Value
    open: bool = True


#: The bag of ``⟨⟩``, once.
YES: Expr = Sing(Tuple(()))
Scope: TypeAlias = tuple[ScopeColumn, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """A query with a name: it is read anew wherever the name is used."""

    node: Any
    env: SqlEnv
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlEnv:
    """Where an expression stands.

    ``scopes`` are the columns of the query and of those around it, innermost first; ``aliases`` the select
    items that may be named; ``settled`` the values of nodes that are known already, by identity; ``match`` finds
    the value of an expression that a GROUP BY has settled; ``bound`` are the parameters of lambdas.
    """

    run: SqlTranslation
    scopes: tuple[Scope, ...] = ()
    common: Mapping[str, Common] = field(default_factory=dict)
    aliases: Mapping[str, Any] = field(default_factory=dict)
    settled: Mapping[int, Value] = field(default_factory=dict)
    match: Callable[[Any], Value | None] | None = None
    bound: Mapping[str, Value] = field(default_factory=dict)

    def value(self, node: Any) -> Value:
        """What ``node`` stands for; an error without a place gets this one."""
        try:
            with self.run.reading(node):
                return self.run.expression(node, self)
        except QueryError as error:
            error.located(self.run.text.span(node))
            raise

    def query(self, node: Any) -> QueryRows:
        """The rows of the query ``node``, which sees the columns in scope here."""
        return self.run.query(node, replace(self, aliases={}, match=None))

    def error(self, node: Any, what: str, hint: str = "") -> QueryError:
        return QueryError(what, at=self.run.text.span(node), hint=hint)

    def inside(self, scope: Scope) -> SqlEnv:
        """The place where the columns of ``scope`` are found first."""
        return replace(self, scopes=(scope, *self.scopes))


Expression: TypeAlias = Callable[[Any, SqlEnv], Value]


def where(test: Term, body: Expr) -> Expr:
    """``body`` where ``test`` is true; what is never true leaves nothing to maintain."""
    if isinstance(test, Const):
        return body if test.value is True else empty(element_type(body))
    return build_where(test, body)


def only(node: Any, env: SqlEnv, *keys: str, what: str = "") -> None:
    """Refuse ``node`` where it has a part besides ``keys``: what is not looked at must not be there."""
    for key, part in node.args.items():
        if key not in keys and part not in (None, False, [], ()):
            name = key.rstrip("_").replace("_", " ").upper()
            place = next(
                (one for one in (part if isinstance(part, list) else [part]) if hasattr(one, "walk")), node
            )
            where = what or type(node).__name__.upper()
            raise env.error(place, f"{name} of {where} is not supported", _ADVICE.get(key, ""))


_ADVICE = {
    "sample": "a sample would change with every reading",
    "pivots": "write one aggregate with FILTER (WHERE …) for each column",
    "offset": "a view has no order",
    "distribute": "a view has no partitions",
    "sort": "a view has no order",
    "cluster": "a view has no partitions",
    "db": "tables are named without a schema",
    "catalog": "tables are named without a schema",
}
