"""One translation: the names given out, what is bound around the expression at hand, and where it stands.

An aggregate is a ``fold`` around the bag that uses its value, and a bag with a name is a ``let`` around it.
Both are collected while an expression is read and put around the nearest bag: the element, the condition or
the source they were found in. So they see the variables that the expression sees.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias, TypeVar

from nestling.calculus.build import fold, let, where
from nestling.calculus.terms import BagVar, Call, Expr, Relation, Term, Var
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import Bag, Type
from nestling.calculus.typing import element_type, fold_type
from nestling.errors import QueryError
from nestling.frontend.comprehension.read import Source
from nestling.frontend.comprehension.refuse import refusal
from nestling.frontend.comprehension.values import Many, Value

T = TypeVar("T")
Construct: TypeAlias = Callable[[Any, "Env"], Value]

#: Functions without a value for some arguments: what calls them is evaluated only where Python would.
PARTIAL = ("/", "//", "%", "to_int")
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

    def __init__(self, catalog: Mapping[str, Type], constructs: Mapping[type, Construct]) -> None:
        self.catalog, self.constructs = catalog, constructs
        # Variables apart from relations as well: the printed form does not tell them apart.
        self.names = Names(frozenset(catalog))
        self.sites = count(1)
        self.pending: list[Binding] = []
        self.inlined: list[tuple[str, int, int]] = []

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
        """A variable for ``aggregate(source)``."""
        name = self.names.fresh(_NAMES.get(aggregate, aggregate))
        var = Var(name, fold_type(aggregate, source))
        self.pending.append(Binding(var, source, aggregate))
        return var

    def let(self, name: str, source: Expr) -> Expr:
        """A variable for the bag ``source``, unless it is as short as one."""
        if isinstance(source, Relation | BagVar):
            return source
        var = BagVar(self.names.fresh(name), Bag(element_type(source)))
        self.pending.append(Binding(var, source))
        return var

    def lazily(self, test: Term | None, build: Callable[[], T]) -> T:
        """What ``build`` yields, where its bindings have a value only if ``test`` holds."""
        start = len(self.pending)
        result = build()
        if test is not None:
            late = self.pending[start:]
            self.pending[start:] = [
                replace(binding, source=where(test, binding.source)) if _may_fail(binding.source) else binding
                for binding in late
            ]
        return result

    def site(self) -> int:
        return next(self.sites)


def _may_fail(source: Expr) -> bool:
    return any(isinstance(node, Call) and node.function in PARTIAL for node in walk(source))


@dataclass(frozen=True, slots=True)
class Given:
    """The value of an expression that is not to be read again, while the ``names`` in it mean the same."""

    value: Value
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Env:
    """Where an expression stands: the names in scope, the terms known not to be null, and its text.

    ``given`` holds expressions, as ``ast.dump`` writes them, whose value is settled.
    """

    run: Run
    source: Source
    names: Mapping[str, Value] = field(default_factory=dict)
    known: frozenset[Term] = frozenset()
    given: Mapping[str, Given] = field(default_factory=dict)

    def value(self, node: ast.expr) -> Value:
        """What ``node`` stands for; an error without a place gets this one."""
        if self.given and (found := self.given.get(ast.dump(node))):
            return found.value
        construct = self.run.constructs.get(type(node))
        try:
            if construct is None:
                raise refusal(node)
            return construct(node, self)
        except QueryError as error:
            error.located(self.source.span(node))
            raise

    def error(self, node: ast.AST, what: str, hint: str = "") -> QueryError:
        return QueryError(what, at=self.source.span(node), hint=hint)

    def binding(self, names: Mapping[str, Value]) -> Env:
        given = {text: found for text, found in self.given.items() if found.names.isdisjoint(names)}
        return replace(self, names={**self.names, **names}, given=given)

    def knowing(self, terms: Iterable[Term]) -> Env:
        return replace(self, known=self.known.union(terms))

    def named(self, name: str, many: Many) -> Many:
        """``many`` under a name of its own, so that it can be used more than once."""
        if many.term is not None:
            return many
        return replace(many, expr=self.run.let(name, many.expr))
