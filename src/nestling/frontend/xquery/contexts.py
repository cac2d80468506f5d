"""Less to look up, and less to keep: tables of those contexts alone that a query names, and contexts that follow.

Laws, where ``C`` holds the contexts of ``E``, each once, and ``C[a = v]``, ``E[a = v]`` their rows of contexts that
have this attribute:

    for n in C where n.a == v union … for m in E where m.ctx == n.id union e
                                         =   for n in C[a = v] union … for m in E[a = v] where m.ctx == n.id union e
    for n in C union … for m in E where m.ctx == n.id union e(n.id)    =    for m in E union … e(m.ctx)
    exists(for s in exists(e) union sng⟨⟩)                             =    exists(e)        of bags of units

A view of one person keeps that person's row. A row of a relative table says of itself below which node it stands: that
spares an index of ``E`` by its contexts, and often the table ``C``. The third spares one of two counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nestling.calculus.build import for_
from nestling.calculus.terms import (
    Call,
    Const,
    CountWise,
    Expr,
    Field,
    For,
    Guard,
    Relation,
    Sing,
    Tuple,
    Var,
)
from nestling.calculus.traverse import binders, free_vars, map_children, walk
from nestling.xml.patterns import Navigation


def narrowed(query: Expr, tables: dict[str, Navigation]) -> Expr:
    """``query`` over fewer rows, with fewer look-ups; ``tables`` has the navigation tables, and gets the new ones."""

    def visit(node: Any) -> Any:
        match node:
            case For(n, Relation(name), _) if (
                name in tables and not tables[name].context and (tested := _tested(node)) is not None
            ):
                return visit(_narrow(n, tables[name], *tested, tables))
        found = map_children(node, visit)
        match found:
            case For(n, Relation(name), body) if name in tables:
                return _from_below(n, tables[name], body, tables) or found
            case CountWise("exists", (For(_, CountWise("exists", (inner,)) as counted, body),)) if (
                body == Sing(Tuple(())) and _is_of_units(inner)
            ):
                return counted
        return found

    result: Expr = visit(query)
    return result


def _tested(loop: For) -> tuple[str, str, For] | None:
    """An attribute of the rows of a loop that must have a value, the value, and the loop without that test."""
    passed: list[For] = []
    at: Expr = loop.body
    while isinstance(at, For):
        if (
            isinstance(at.source, Guard)
            and isinstance(at.source.test, Call)
            and at.source.test.function == "=="
        ):
            match at.source.test.args:
                case (Field(n, name), Const(str() as value)) | (Const(str() as value), Field(n, name)) if (
                    n == loop.var and name.startswith("@")
                ):
                    rest = at.body
                    for step in reversed(passed):
                        rest = replace(step, body=rest)
                    return name[1:], value, replace(loop, body=rest)
        passed.append(at)
        at = at.body
    return None


def _narrow(
    n: Var, context: Navigation, name: str, value: str, loop: For, tables: dict[str, Navigation]
) -> Expr:
    def narrow(table: Navigation, source: Expr) -> Relation:
        assert isinstance(source, Relation)
        new = replace(table, conditions=tuple(sorted({*table.conditions, (name, value)})))
        tables[new.name] = new
        return Relation(new.name, source.type)

    def visit(node: Any) -> Any:
        found = map_children(node, visit)
        if isinstance(found, For) and _leads_from(n, context, found, tables):
            assert isinstance(found.source, Relation)
            return replace(found, source=narrow(tables[found.source.name], found.source))
        return found

    return For(n, narrow(context, loop.source), visit(loop.body))


def _leads_from(n: Var, context: Navigation, loop: For, tables: Mapping[str, Navigation]) -> bool:
    """Whether a loop is over the rows of a relative table whose context is the row ``n``."""
    if not isinstance(loop.source, Relation) or loop.source.name not in tables:
        return False
    below = tables[loop.source.name]
    test = loop.body.source if isinstance(loop.body, For) else None
    return (
        below.document == context.document
        and below.context == context.pattern
        and isinstance(test, Guard)
        and test.test == Call("==", (Field(loop.var, "ctx"), Field(n, "id")))
    )


def _is_of_units(bag: Expr) -> bool:
    while isinstance(bag, For):
        bag = bag.body
    return isinstance(bag, Guard) or bag == Sing(Tuple(()))


def _from_below(n: Var, context: Navigation, body: Expr, tables: Mapping[str, Navigation]) -> Expr | None:
    """The second law, where ``n`` is known by its key alone, and a relative table leads on from it in any case."""
    passed: list[For] = []
    at = body
    while isinstance(at, For) and not context.context:
        if _leads_from(n, context, at, tables):
            assert isinstance(at.source, Relation)
            if set(context.conditions) <= set(tables[at.source.name].conditions):
                return _replaced(n, passed, at)
        passed.append(at)
        at = at.body
    return None


def _replaced(n: Var, passed: list[For], below: For) -> Expr | None:
    assert isinstance(below.body, For)
    m, rest = below.var, below.body.body
    for step in reversed(passed):
        rest = replace(step, body=rest)
    if any(var.name in (n.name, m.name) for node in walk(rest) for var in binders(node)):
        return None
    key = Field(n, "id")

    def visit(node: Any) -> Any:
        return Field(m, "ctx") if node == key else map_children(node, visit)

    found: Expr = visit(rest)
    # Where another column of it is read, the row is needed.
    return None if n.name in free_vars(found) else for_(m, below.source, found)
