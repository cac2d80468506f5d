"""One translation of OQL: how each construct is read, what is bound around it, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from nestling.calculus.terms import Expr, Var
from nestling.calculus.types import Type
from nestling.errors import QueryError, Span
from nestling.frontend.bindings import Bindings
from nestling.frontend.catalog import FieldPath
from nestling.frontend.oql.tokens import span
from nestling.frontend.oql.tree import (
    Among,
    Between,
    Binary,
    Cast,
    DefineQuery,
    Dot,
    Index,
    Invoke,
    Like,
    Name,
    Place,
    Query,
    Slice,
    Unary,
)
from nestling.frontend.values import LanguageValue, Value

OqlConstruct: TypeAlias = Callable[[Any, "OqlEnv"], Value]

#: What is absent where a path in it is, unless it says otherwise of an operand; all else looks at what is absent.
STRICT = (Among, Between, Binary, Cast, Dot, Index, Invoke, Like, Name, Slice, Unary)


@dataclass(frozen=True, slots=True)
class Ordered(LanguageValue):
    """A list: the bag of ⟨k0, …, v⟩, in the order of its keys, then of its elements.

    ``descending``: of each key. ``paths``: where in an element the key stands, if it does. ``is_sorted``: it is what
    ``order by`` yields, and not a part of that or a list written out.
    """

    expr: Expr
    descending: tuple[bool, ...]
    paths: tuple[FieldPath | None, ...]
    is_sorted: bool = False


class OqlTranslation(Bindings):
    """What all parts of one translation share."""

    partial = ("/", "remainder", "only", "to_float")

    def __init__(
        self, catalog: Mapping[str, Type], text: str, constructs: Mapping[type, OqlConstruct]
    ) -> None:
        super().__init__(catalog)
        self.text, self.constructs = text, constructs
        self.nodes: list[Any] = []  # what is being read, innermost last

    def place(self) -> Span | None:
        return self.span(self.nodes[-1].at) if self.nodes else None

    def span(self, place: Place) -> Span:
        return span(self.text, place)

    def fold(self, aggregate: str, source: Expr) -> Var:
        """A variable for ``aggregate(source)``, the same for the same."""
        return self.known_fold(aggregate, source) or self.folded(aggregate, source)

    @contextmanager
    def skipping(self, absent: bool) -> Iterator[None]:
        """While what is read may end the row where it is absent, or may not."""
        before, self.skips_absent = self.skips_absent, absent
        try:
            yield
        finally:
            self.skips_absent = before


@dataclass(frozen=True, slots=True)
class OqlDefinition:
    """What a defined name stands for, and the definitions that were there before it."""

    definition: DefineQuery
    scope: Mapping[str, OqlDefinition]


@dataclass(frozen=True, slots=True)
class OqlEnv:
    """Where an expression stands: variables, elements whose attributes stand for themselves, definitions."""

    run: OqlTranslation
    names: Mapping[str, Value] = field(default_factory=dict)
    anonymous: tuple[Value, ...] = ()
    definitions: Mapping[str, OqlDefinition] = field(default_factory=dict)
    #: Names of quantified variables whose test ended before the place at hand, and of definitions being read.
    ended: frozenset[str] = frozenset()
    expanding: tuple[str, ...] = ()

    def value(self, node: Query) -> Value:
        """What ``node`` stands for; an error without a place gets this one."""
        run = self.run
        run.nodes.append(node)
        try:
            if not run.skips_absent or isinstance(node, STRICT):
                return run.constructs[type(node)](node, self)
            with run.skipping(False):
                return run.constructs[type(node)](node, self)
        except QueryError as error:
            error.located(run.span(node.at))
            raise
        finally:
            run.nodes.pop()

    def loose(self, node: Query) -> Value:
        """What ``node`` stands for, where the row stays if that is absent."""
        with self.run.skipping(False):
            return self.value(node)

    def error(self, node: Any, what: str, hint: str = "") -> QueryError:
        return QueryError(what, at=self.run.span(node.at), hint=hint)

    def written(self, node: Any) -> str:
        """``node`` as it stands in the text, if it is short."""
        text = " ".join(self.run.text[node.at[0] : node.at[1]].split())
        return text if 0 < len(text) <= 40 else "…"

    def binding(self, names: Mapping[str, Value]) -> OqlEnv:
        return replace(self, names={**self.names, **names})
