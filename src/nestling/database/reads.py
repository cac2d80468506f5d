"""Which columns of a table a query reads, and the same query where one of them has another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nestling.calculus.terms import Expr, Field, Flatten, Fold, For, Relation, Sing, Var
from nestling.calculus.traverse import children, map_children
from nestling.frontend.catalog import FieldPath

#: By variable the path of what it is an element of.
Bound = Mapping[str, FieldPath]


def reads(query: Expr, table: str, path: FieldPath) -> bool:
    """Whether the answer of ``query`` may depend on what stands at ``path`` in the rows of ``table``.

    A row, a record or a bag that is used as a whole is read with all that is in it. ``query`` is normal.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> query = parse("for x in R union sng(x.a)", {"R": parse_type("Bag(⟨a: int, b: int⟩)")})
    >>> reads(query, "R", ("a",)), reads(query, "R", ("b",))
    (True, False)
    """
    return any(
        place == path[: len(place)] or place[: len(path)] == path
        for place, is_whole in _Uses(table).of(query, {})
        if is_whole or len(place) >= len(path)
    )


def reads_around(query: Expr, table: str, path: FieldPath) -> bool:
    """Whether something that has ``path`` in it is used as a whole."""
    uses = _Uses(table).of(query, {})
    return any(
        is_whole and len(place) < len(path) and place == path[: len(place)] for place, is_whole in uses
    )


def renamed(query: Expr, table: str, path: FieldPath, name: str) -> Expr:
    """``query`` where what stands at ``path`` is called ``name``; its types are those of before."""

    def of_field(field: Field, place: FieldPath | None) -> Field:
        return Field(field.record, name) if place == path else field

    found: Expr = _Uses(table).mapped(query, {}, of_field)
    return found


class _Uses:
    """Where a query uses the rows of ``table``, and what is in them."""

    def __init__(self, table: str) -> None:
        self.table = table

    def of(self, node: Any, bound: Bound) -> Iterator[tuple[FieldPath, bool]]:
        """The paths that are used: each as a whole, or by going through the elements of the bag there."""
        match node:
            case For(var, source, body):
                place = self.source(source, bound)
                if place is None:
                    yield from self.of(source, bound)
                    yield from self.of(body, bound)
                else:
                    yield place, False
                    yield from self.of(body, {**bound, var.name: place})
                return
            case Fold(_, "count", source, body) if (place := self.source(source, bound)) is not None:
                yield place, False
                yield from self.of(body, bound)
                return
            case Relation(self.table):
                yield (), True
            case Var() | Field():
                place = self.place(node, bound)
                if place is not None:
                    yield place, True
                    return
        for child in children(node):
            yield from self.of(child, bound)

    def mapped(self, node: Any, bound: Bound, of_field: Callable[[Field, FieldPath | None], Field]) -> Any:
        match node:
            case For(var, source, body):
                place = self.source(source, bound)
                inner = bound if place is None else {**bound, var.name: place}
                return For(var, self.mapped(source, bound, of_field), self.mapped(body, inner, of_field))
            case Field():
                found = Field(self.mapped(node.record, bound, of_field), node.name)
                return of_field(found, self.place(node, bound))
        return map_children(node, lambda child: self.mapped(child, bound, of_field))

    def source(self, node: Any, bound: Bound) -> FieldPath | None:
        """Where the elements are that a ``for`` goes through; ``None`` where they are not of the table."""
        match node:
            case Relation(self.table):
                return ()
            case Flatten(Sing(term)):
                return self.place(term, bound)
        return None

    def place(self, term: Any, bound: Bound) -> FieldPath | None:
        match term:
            case Var(name):
                return bound.get(name)
            case Field(of, name):
                outer = self.place(of, bound)
                return None if outer is None else (*outer, name)
        return None
