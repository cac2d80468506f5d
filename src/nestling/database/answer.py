"""What a query answers on the tables as they are: its reference meaning, with every condition asked for early.

Law: ``answer(q) = evaluate(q)``. A WHERE stands behind all of FROM: without ``hoist`` a condition on the first of five
tables would be tried for every combination of rows of all five. A part of a loop that depends on no row is the same for
every row: it is evaluated when it is first asked for, and not again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import BagVar, Empty, Expr, For, Group, Guard, Relation, Sing
from nestling.calculus.traverse import free_vars, is_term, map_children
from nestling.calculus.types import Bag
from nestling.calculus.typing import element_type
from nestling.transform.hoist import hoist
from nestling.values.bag import ZBag

Shared = tuple[Expr, Mapping[str, Expr]]


def answer(query: Expr, tables: Mapping[str, ZBag]) -> ZBag:
    """The rows of ``query`` over ``tables``."""
    whole, parts = _shared(query)
    return evaluate(whole, _TablesAndParts(tables, parts))


@lru_cache(maxsize=256)
def _shared(query: Expr) -> Shared:
    """``query``, its parts that depend on no row as relations, and what each of these is."""
    parts: dict[str, Expr] = {}

    def visit(node: Any, is_repeated: bool) -> Any:
        if is_repeated and _is_shared(node):
            name = f"·part {len(parts)}"
            parts[name] = node  # the name is taken before those inside
            parts[name] = map_children(node, lambda child: visit(child, False))
            return Relation(name, Bag(element_type(node)))
        match node:
            case For(var, source, body):
                return For(var, visit(source, is_repeated), visit(body, True))
            case Group():
                return map_children(node, lambda child: visit(child, True))
        return map_children(node, lambda child: visit(child, is_repeated))

    return visit(hoist(query), False), parts


def _is_shared(node: Any) -> bool:
    """Whether ``node`` is a bag that depends on no row, and takes more than a look."""
    return not is_term(node) and not isinstance(node, _SHORT) and not free_vars(node)


_SHORT = (Relation, BagVar, Empty, Guard, Sing)


class _TablesAndParts(Mapping[str, Any]):
    """The tables, and beside them parts of a query, each evaluated once."""

    def __init__(self, tables: Mapping[str, ZBag], parts: Mapping[str, Expr]) -> None:
        self.tables, self.parts = tables, parts
        self.known: dict[str, ZBag] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.parts:
            return self.tables[name]
        if name not in self.known:
            self.known[name] = evaluate(self.parts[name], self)
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.tables
        yield from self.parts

    def __len__(self) -> int:
        return len(self.tables) + len(self.parts)
