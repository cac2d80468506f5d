"""Conditions as early as they can be asked.

Law: ``evaluate(early(e)) = evaluate(e)``. WHERE stands behind all of FROM; a condition on the first of five tables
would be asked of every combination of the five. ``[t]`` moves out of the loops and folds whose variable it does not
use; one that may be undefined stays behind the conditions before it.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Call, Expr, Fold, For, Guard
from nestling.calculus.traverse import free_vars, map_children, walk


def early(expr: Expr) -> Expr:
    """``expr`` with its guards as far out as they go.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)"), "S": parse_type("Bag(int)")}
    >>> print(show(early(parse("for x in R union for y in S where x > 1 union sng(y)", catalog))))
    for x in R where x > 1 union for y in S union sng(y)
    """
    moved: Expr = _early(expr)
    return moved


def _early(node: Any) -> Any:
    node = map_children(node, _early)
    match node:
        case For(var, Guard(), _):
            return node
        case For(var, source, body):
            passing, kept = _parted(body, var.name)
            return _guarded(passing, For(var, source, kept)) if passing else node
        case Fold(var, aggregate, source, body):
            passing, kept = _parted(body, var.name)
            return _guarded(passing, Fold(var, aggregate, source, kept)) if passing else node
    return node


def _parted(body: Expr, name: str) -> tuple[list[For], Expr]:
    """The conditions at the head of ``body`` that do not need ``name``, and ``body`` without them."""
    passing: list[For] = []
    staying: list[For] = []
    while isinstance(body, For) and isinstance(body.source, Guard):
        free = name not in free_vars(body.source.test)
        (passing if free and not (staying and _may_fail(body.source)) else staying).append(body)
        body = body.body
    return passing, _guarded(staying, body)


def _guarded(guards: list[For], body: Expr) -> Expr:
    for guard in reversed(guards):
        body = For(guard.var, guard.source, body)
    return body


def _may_fail(guard: Guard) -> bool:
    return any(isinstance(part, Call) and FUNCTIONS[part.function].partial for part in walk(guard))
