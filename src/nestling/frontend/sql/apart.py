"""Counts of what differs, as differences of counts.

Law: ``evaluate(apart(e)) = evaluate(e)``. ``[a ≠ b] = 1 − [a = b]``: the line items of an order from other suppliers
are those of the order less those from this one. Both are looked up; rows that differ are not. It holds of sums, and of
``exists`` of ``⟨⟩``, where only the total counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nestling.calculus.build import call, const, where
from nestling.calculus.terms import Call, CountWise, Expr, Fold, For, Guard, Term, Var
from nestling.calculus.traverse import Names, free_vars, map_children, substitute
from nestling.calculus.types import INT, UNIT, Scalar
from nestling.calculus.typing import element_type

#: A sum as parts of a sign each.
Parts = list[tuple[int, Expr]]
MOST = 4


def apart(expr: Expr) -> Expr:
    """``expr`` without inequalities between a counted row and its surroundings.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)"), "S": parse_type("Bag(int)")}
    >>> text = "for x in R union fold n := count(for y in S where x != y union sng(y)) in [n > 2]"
    >>> print(show(apart(parse(text, catalog))))
    for x in R union
    fold n1 := count(for y in S union sng(y)) in
    fold n2 := count(for y in S where x == y union sng(y)) in
      [n1 - n2 > 2]
    """
    names = Names.of(expr)

    def visit(node: Any) -> Any:
        node = map_children(node, visit)
        match node:
            case Fold(Var(_, Scalar("int" | "decimal")) as var, "count" | "sum", source, body):
                # Not of floats: a difference of two sums is not the sum to the last digit.
                return _folded(node.aggregate, var, _split(source, frozenset()), body, names) or node
            case For(Var("_"), CountWise("exists", (source,)), body) if element_type(source) == UNIT:
                var = Var(names.fresh("n"), INT)
                some = where(call("!=", var, const(0)), body)
                return _folded("count", var, _split(source, frozenset()), some, names) or node
        return node

    found: Expr = visit(expr)
    return found


def _folded(aggregate: str, var: Var, parts: Parts, body: Expr, names: Names) -> Expr | None:
    """``body`` with ``var`` as the sum of the aggregates of ``parts``, if they are several and few."""
    if not 1 < len(parts) <= MOST:
        return None
    variables = [replace(var, name=names.fresh(var.name)) for _ in parts]
    total: Term = variables[0]
    for (sign, _), other in list(zip(parts, variables, strict=True))[1:]:
        total = call("+" if sign > 0 else "-", total, other)
    found: Expr = substitute(body, {var.name: total})
    for (_, part), other in reversed(list(zip(parts, variables, strict=True))):
        found = Fold(other, aggregate, part, found)
    return found


def _split(expr: Expr, bound: frozenset[str]) -> Parts:
    """``expr`` as a sum of parts, the first of them positive."""
    match expr:
        case For(var, Guard(Call("!=", (left, right))), body) if _relates(left, right, bound):
            rest, test = _split(body, bound), Guard(Call("==", (left, right)))
            return [*rest, *((-sign, For(var, test, part)) for sign, part in rest)]
        case For(var, source, body):
            inner = _split(body, bound | {var.name})
            return [(s * t, For(var, a, b)) for s, a in _split(source, bound) for t, b in inner]
    return [(1, expr)]


def _relates(left: Any, right: Any, bound: frozenset[str]) -> bool:
    """Whether one side is of the counted row and the other of its surroundings."""
    one, two = free_vars(left).keys(), free_vars(right).keys()
    return any(a and b and a <= bound and bound.isdisjoint(b) for a, b in ((one, two), (two, one)))
