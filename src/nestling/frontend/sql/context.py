"""One translation: the names given out, the columns in scope, and where an expression stands.

An aggregate is a ``fold`` around the bag that uses its value. Folds are collected while an expression is read
and put around the nearest bag: the row, the condition or the source they were found in. So they see the
columns that the expression sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from nestling.calculus.build import fold, let
from nestling.calculus.terms import BagVar, Expr, Relation, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import Bag, Type
from nestling.calculus.typing import element_type, fold_type
from nestling.errors import QueryError
from nestling.frontend.sql.text import Text
from nestling.frontend.sql.values import Value

_NAMES = {"count": "n", "sum": "total", "min": "least", "max": "most"}


@dataclass(frozen=True, slots=True)
class Binding:
    """``fold var := aggregate(source)``, or ``let var := source`` where there is no aggregate."""

    var: Var | BagVar
    source: Expr
    aggregate: str = ""

    def around(self, body: Expr) -> Expr:
        if isinstance(self.var, BagVar):
            return let(self.var, self.source, body)
        return fold(self.var.name, self.aggregate, self.source, body)


class Run:
    """What all parts of one translation share."""

    def __init__(
        self,
        catalog: Mapping[str, Type],
        text: Text,
        expression: Expression,
        query: Callable[[Any, Env], Rows],
    ) -> None:
        self.catalog, self.text, self.expression, self.query = catalog, text, expression, query
        # Variables apart from relations as well: the printed form does not tell them apart.
        self.names = Names(frozenset(catalog))
        self.sites = count(1)
        self.pending: list[Binding] = []

    def enclosed(self, build: Callable[[], Expr]) -> Expr:
        """The bag ``build`` yields, with the bindings it asked for around it."""
        outer, self.pending = self.pending, []
        try:
            body = build()
            for binding in reversed(self.pending):
                body = binding.around(body)
            return body
        finally:
            self.pending = outer

    def fold(self, aggregate: str, source: Expr) -> Var:
        """A variable for ``aggregate(source)``; the same for the same."""
        for binding in self.pending:
            if (binding.aggregate, binding.source) == (aggregate, source) and isinstance(binding.var, Var):
                return binding.var
        var = Var(self.names.fresh(_NAMES.get(aggregate, aggregate)), fold_type(aggregate, source))
        self.pending.append(Binding(var, source, aggregate))
        return var

    def let(self, name: str, source: Expr) -> Expr:
        """A variable for the bag ``source``, unless it is as short as one."""
        if isinstance(source, Relation | BagVar):
            return source
        var = BagVar(self.names.fresh(name), Bag(element_type(source)))
        self.pending.append(Binding(var, source))
        return var

    def var(self, name: str, source: Expr) -> Var:
        """A loop variable over ``source``, called like ``name`` if that is a plain word."""
        plain = name if name.isidentifier() and name.strip("_") else "x"
        return Var(self.names.fresh(plain), element_type(source))

    def site(self) -> int:
        return next(self.sites)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query yields: a bag of records, and what its columns are called, which need not be unique."""

    expr: Expr
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column in scope. One that is not ``open`` is found by its table's name only."""

    table: str
    name: str
    value: Value
    open: bool = True


Scope: TypeAlias = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """A query with a name: it is read anew wherever the name is used."""

    node: Any
    env: Env
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Env:
    """Where an expression stands.

    ``scopes`` are the columns of the query and of those around it, innermost first; ``aliases`` the select
    items that may be named; ``settled`` the values of nodes that are known already, by identity; ``match`` finds
    the value of an expression that a GROUP BY has settled; ``bound`` are the parameters of lambdas.
    """

    run: Run
    scopes: tuple[Scope, ...] = ()
    common: Mapping[str, Common] = field(default_factory=dict)
    aliases: Mapping[str, Any] = field(default_factory=dict)
    settled: Mapping[int, Value] = field(default_factory=dict)
    match: Callable[[Any], Value | None] | None = None
    bound: Mapping[str, Value] = field(default_factory=dict)

    def value(self, node: Any) -> Value:
        """What ``node`` stands for; an error without a place gets this one."""
        try:
            return self.run.expression(node, self)
        except QueryError as error:
            error.located(self.run.text.span(node))
            raise

    def query(self, node: Any) -> Rows:
        """The rows of the query ``node``, which sees the columns in scope here."""
        return self.run.query(node, replace(self, aliases={}, match=None))

    def error(self, node: Any, what: str, hint: str = "") -> QueryError:
        return QueryError(what, at=self.run.text.span(node), hint=hint)

    def inside(self, scope: Scope) -> Env:
        """The place where the columns of ``scope`` are found first."""
        return replace(self, scopes=(scope, *self.scopes))


Expression: TypeAlias = Callable[[Any, Env], Value]


def only(node: Any, env: Env, *keys: str, what: str = "") -> None:
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
    "windows": "write the window in OVER (…)",
    "qualify": "put the query into FROM (…) and filter it with WHERE",
    "sample": "a sample would change with every reading",
    "pivots": "write one aggregate with FILTER (WHERE …) for each column",
    "offset": "a view has no order",
    "distribute": "a view has no partitions",
    "sort": "a view has no order",
    "cluster": "a view has no partitions",
    "db": "tables are named without a schema",
    "catalog": "tables are named without a schema",
}
