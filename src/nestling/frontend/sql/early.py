"""Conditions as early as they can be asked.

Law: ``evaluate(early(e)) = evaluate(e)``. WHERE stands behind all of FROM; a condition on the first of five tables
would be asked of every combination of the five. ``[t]`` moves out of the loops and folds whose variable it does not
use; one that may be undefined stays where it is. A condition that holds of all rows of a sum or of none is no matter
of the sum.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from nestling.calculus.build import call
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Const, CountWise, Expr, Fold, For, Guard, Term
from nestling.calculus.traverse import free_vars, map_children, substitute
from nestling.calculus.typing import fold_type


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
        case For(_, Guard(), _):
            return node
        case For(var, For(none, Guard() as guard, source), body):
            return For(none, guard, _early(For(var, source, body)))
        case For(var, source, body):
            passing, kept = _parted(body, var.name)
            return _guarded(passing, For(var, source, kept)) if passing else node
        case Fold(_, "count" | "sum", For(_, Guard(test), source), _) if is_total(test):
            return _early(_of_all(node, test, source))
        case Fold(var, aggregate, source, body):
            passing, kept = _parted(body, var.name)
            return _guarded(passing, Fold(var, aggregate, source, kept)) if passing else node
        case CountWise("exists", (For(none, Guard() as guard, body),)):
            return For(none, guard, _early(CountWise("exists", (body,))))
    return node


def _of_all(node: Fold, test: Term, source: Expr) -> Expr:
    """``fold x := sum(for _ in [t] union e) in b  →  fold x := sum(e) in b[x := if(t, x, 0)]``"""
    type_ = fold_type(node.aggregate, source)
    zero = Const({"int": 0, "float": 0.0, "decimal": Decimal(0)}[type_.name], type_)
    value = call("if", test, node.var, zero)
    return Fold(node.var, node.aggregate, source, substitute(node.body, {node.var.name: value}))


def _parted(body: Expr, name: str) -> tuple[list[For], Expr]:
    """The conditions at the head of ``body`` that do not need ``name``, and ``body`` without them."""
    passing: list[For] = []
    staying: list[For] = []
    while isinstance(body, For) and isinstance(body.source, Guard):
        test = body.source.test
        (passing if name not in free_vars(test) and is_total(test) else staying).append(body)
        body = body.body
    return passing, _guarded(staying, body)


def _guarded(guards: list[For], body: Expr) -> Expr:
    for guard in reversed(guards):
        body = For(guard.var, guard.source, body)
    return body
