"""What is bound around the expression at hand, while a text is translated.

An aggregate is a ``fold`` around the bag that uses its value, a bag with a name is a ``let`` around it, and a path
through a reference a ``for`` over the table that it leads to. All are collected while an expression is read and put
around the nearest bag: the element, the condition or the source they were found in. So they see the variables that the
expression sees, and those that were bound before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias, TypeGuard, TypeVar

from nestling.calculus.build import fold, for_, let, where
from nestling.calculus.terms import BagVar, Call, Expr, Relation, Term, Var
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import UNIT, Bag, Type
from nestling.calculus.typing import element_type, fold_type
from nestling.errors import Span

Result = TypeVar("Result")

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
        return fold(self.var.name, self.aggregate, self.source, body, self.var.at)


@dataclass(frozen=True, slots=True)
class Generator:
    """``for var in source``: what follows, for every element."""

    var: Var
    source: Expr

    def around(self, body: Expr) -> Expr:
        return for_(self.var, self.source, body)


@dataclass(frozen=True, slots=True)
class Condition:
    """``where test``: what follows, where it holds."""

    test: Term

    def around(self, body: Expr) -> Expr:
        return where(self.test, body)


Qualifier: TypeAlias = Binding | Generator | Condition


class Bindings:
    """Names and inner bags given out, and the bindings that wait for the bag around them.

    ``joined``: the objects that references were followed to, by the reference; they are bound here or further out.
    ``skips_absent``: what is read decides by itself whether the bag around it is empty, and it is where that is absent.
    ``open_where``: the condition under which the language looks at what is read, if there is one.
    """

    #: Functions without a value for some arguments: what calls them is evaluated only where the language would.
    partial: tuple[str, ...] = ()

    def __init__(self, catalog: Mapping[str, Type]) -> None:
        self.catalog = catalog
        # Variables apart from relations as well: the printed form does not tell them apart.
        self.names = Names(frozenset(catalog))
        self.sites = count(1)
        self.pending: list[Qualifier] = []
        self.joined: dict[Term, Var] = {}
        self.skips_absent = False
        self.open_where: Term | None = None

    def enclosed(self, build: Callable[[], Expr]) -> Expr:
        """The bag ``build`` yields, with the bindings it asked for around it."""
        outer, self.pending = self.pending, []
        joined, self.joined = self.joined, dict(self.joined)
        modes = self.skips_absent, self.open_where
        self.skips_absent, self.open_where = False, None
        try:
            body = build()
            for binding in reversed(self.pending):
                body = binding.around(body)
            return body
        finally:
            self.pending, self.joined = outer, joined
            self.skips_absent, self.open_where = modes

    def generated(self, name: str, source: Expr) -> Var:
        """A new variable for the elements of ``source``: what follows is taken for each of them."""
        var = Var(self.names.fresh(name), element_type(source), self.place())
        self.pending.append(Generator(var, source))
        return var

    def holds(self, test: Term) -> None:
        """What follows is taken only where ``test`` is true."""
        self.pending.append(Condition(test))

    def present(self, guard: Expr) -> None:
        """What follows is taken as often as ``guard``, a bag of ⟨⟩, has it."""
        self.pending.append(Generator(Var("_", UNIT), guard))

    def folded(self, aggregate: str, source: Expr) -> Var:
        """A new variable for ``aggregate(source)``."""
        var = Var(
            self.names.fresh(_NAMES.get(aggregate, aggregate)), fold_type(aggregate, source), self.place()
        )
        self.pending.append(Binding(var, source, aggregate))
        return var

    def lazily(self, test: Term | None, build: Callable[[], Result]) -> Result:
        """What ``build`` yields, where its bindings have a value only if ``test`` holds."""
        start = len(self.pending)
        before, self.open_where = self.open_where, test or self.open_where
        try:
            result = build()
        finally:
            self.open_where = before
        if test is not None:
            self.pending[start:] = [
                replace(found, source=where(test, found.source)) if self._may_fail(found) else found
                for found in self.pending[start:]
            ]
        return result

    def _may_fail(self, found: Qualifier) -> TypeGuard[Binding]:
        # A path through a reference never fails: the row is there.
        return isinstance(found, Binding) and any(
            isinstance(node, Call) and node.function in self.partial for node in walk(found.source)
        )

    def known_fold(self, aggregate: str, source: Expr) -> Var | None:
        """The variable that waits for the same aggregate of the same, if there is one."""
        for found in self.pending:
            if not isinstance(found, Binding) or not isinstance(found.var, Var):
                continue
            if (found.aggregate, found.source) == (aggregate, source):
                return found.var
        return None

    def place(self) -> Span | None:
        """Where in the text the expression at hand stands, if a front end says so."""
        return None

    def let(self, name: str, source: Expr) -> Expr:
        """A variable for the bag ``source``, unless it is as short as one."""
        if isinstance(source, Relation | BagVar):
            return source
        var = BagVar(self.names.fresh(name), Bag(element_type(source)))
        self.pending.append(Binding(var, source))
        return var

    def site(self) -> int:
        return next(self.sites)
