"""What is bound around the expression at hand, while a text is translated.

An aggregate is a ``fold`` around the bag that uses its value, and a bag with a name is a ``let`` around it. Both are
collected while an expression is read and put around the nearest bag: the element, the condition or the source they
were found in. So they see the variables that the expression sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from nestling.calculus.build import fold, let
from nestling.calculus.terms import BagVar, Expr, Relation, Var
from nestling.calculus.traverse import Names
from nestling.calculus.types import Bag, Type
from nestling.calculus.typing import element_type, fold_type
from nestling.errors import Span

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


class Bindings:
    """Names and inner bags given out, and the bindings that wait for the bag around them."""

    def __init__(self, catalog: Mapping[str, Type]) -> None:
        self.catalog = catalog
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

    def folded(self, aggregate: str, source: Expr) -> Var:
        """A new variable for ``aggregate(source)``."""
        var = Var(
            self.names.fresh(_NAMES.get(aggregate, aggregate)), fold_type(aggregate, source), self.place()
        )
        self.pending.append(Binding(var, source, aggregate))
        return var

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
