"""One translation: how each construct is read, what is bound around the expression at hand, and where it stands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from nestling.calculus.terms import Expr, Term, Var
from nestling.calculus.types import Type
from nestling.errors import QueryError, Span
from nestling.frontend.bindings import Bindings
from nestling.frontend.comprehension.read import SourceText
from nestling.frontend.comprehension.refuse import refusal
from nestling.frontend.values import Many, Value

T = TypeVar("T")
Construct: TypeAlias = Callable[[Any, "PythonEnv"], Value]

#: Functions without a value for some arguments: what calls them is evaluated only where Python would.
PARTIAL = ("/", "//", "%", "to_int")


class PythonTranslation(Bindings):
    """What all parts of one translation share."""

    partial = PARTIAL

    def __init__(self, catalog: Mapping[str, Type], constructs: Mapping[type, Construct]) -> None:
        super().__init__(catalog)
        self.constructs = constructs
        self.inlined: list[tuple[str, int, int]] = []
        self.nodes: list[tuple[SourceText, ast.expr]] = []  # what is being read, innermost last

    def place(self) -> Span | None:
        if not self.nodes:
            return None
        source, node = self.nodes[-1]
        return source.span(node)

    def fold(self, aggregate: str, source: Expr) -> Var:
        """A variable for ``aggregate(source)``."""
        return self.folded(aggregate, source)


@dataclass(frozen=True, slots=True)
class KnownValue:
    """The value of an expression that is not to be read again, while the ``names`` in it mean the same."""

    value: Value
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class PythonEnv:
    """Where an expression stands: the names in scope, the terms known not to be null, and its text.

    ``given`` holds expressions, as ``ast.dump`` writes them, whose value is settled.
    """

    run: PythonTranslation
    source: SourceText
    names: Mapping[str, Value] = field(default_factory=dict)
    known: frozenset[Term] = frozenset()
    given: Mapping[str, KnownValue] = field(default_factory=dict)

    def value(self, node: ast.expr) -> Value:
        """What ``node`` stands for; an error without a place gets this one."""
        if self.given and (found := self.given.get(ast.dump(node))):
            return found.value
        construct = self.run.constructs.get(type(node))
        self.run.nodes.append((self.source, node))
        try:
            if construct is None:
                raise refusal(node)
            return construct(node, self)
        except QueryError as error:
            error.located(self.source.span(node))
            raise
        finally:
            self.run.nodes.pop()

    def error(self, node: ast.AST, what: str, hint: str = "") -> QueryError:
        return QueryError(what, at=self.source.span(node), hint=hint)

    def binding(self, names: Mapping[str, Value]) -> PythonEnv:
        given = {text: found for text, found in self.given.items() if found.names.isdisjoint(names)}
        return replace(self, names={**self.names, **names}, given=given)

    def knowing(self, terms: Iterable[Term]) -> PythonEnv:
        return replace(self, known=self.known.union(terms))

    def named(self, name: str, many: Many) -> Many:
        """``many`` under a name of its own, so that it can be used more than once."""
        if many.term is not None:
            return many
        return replace(many, expr=self.run.let(name, many.expr))
