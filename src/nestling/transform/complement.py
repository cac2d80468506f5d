"""Counts of what differs, as differences of counts.

Law (18): ``evaluate(complement(e)) = evaluate(e)``. ``[a ≠ b] = 1 − [a = b]``: the line items of an order from other
suppliers are those of the order less those from this one. Both are looked up; rows that differ are not. It holds of
sums, and of ``exists`` of ``⟨⟩``, where only the total counts. Of what may be null, ``[not a = b]`` is
``[neither is null] − [a = b]``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nestling.calculus.build import call, conjunction, const, where
from nestling.calculus.logic import conjuncts, inward, is_two_valued
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Call, CountWise, Expr, Fold, For, Guard, Term, Var
from nestling.calculus.traverse import Names, free_vars, is_term, map_children, substitute, walk
from nestling.calculus.types import INT, UNIT, Scalar
from nestling.calculus.typing import element_type, term_type

#: A sum as parts of a sign each.
Parts = list[tuple[int, Expr]]
MOST = 4


def complement(expr: Expr) -> Expr:
    """``expr`` without inequalities between a counted row and its surroundings.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)"), "S": parse_type("Bag(int)")}
    >>> text = "for x in R union fold n := count(for y in S where x != y union sng(y)) in [n > 2]"
    >>> print(show(complement(parse(text, catalog))))
    for x in R union
    fold n1 := count(for y in S union sng(y)) in
    fold n2 := count(for y in S where x == y union sng(y)) in
      [n1 - n2 > 2]
    """
    names = Names.of(expr)

    def parts_of(source: Expr) -> Parts:
        # What is asked of some rows only need not have a value of the others.
        total = all(is_total(node) for node in walk(source) if is_term(node))
        return _split(source, frozenset()) if total else []

    def visit(node: Any) -> Any:
        node = map_children(node, visit)
        match node:
            case Fold(Var(_, Scalar("int" | "decimal")) as var, "count" | "sum", source, body):
                # Not of floats: a difference of two sums is not the sum to the last digit.
                return _folded(node.aggregate, var, parts_of(source), body, names) or node
            case For(Var("_"), CountWise("exists", (source,)), body) if element_type(source) == UNIT:
                var = Var(names.fresh("n"), INT)
                some = where(call("!=", var, const(0)), body)
                return _folded("count", var, parts_of(source), some, names) or node
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
        case For(Var("_") as var, Guard(test), body):
            return [
                (s * t, For(var, Guard(conjunction(tests)), part) if tests else part)
                for t, part in _split(body, bound)
                for s, tests in _products(conjuncts(inward(test)), bound)
            ]
        case For(var, source, body):
            inner = _split(body, bound | {var.name})
            return [(s * t, For(var, a, b)) for s, a in _split(source, bound) for t, b in inner]
    return [(1, expr)]


def _products(tests: list[Term], bound: frozenset[str]) -> list[tuple[int, list[Term]]]:
    """``[t and …]`` as a sum of products without inequalities, the first of them positive."""
    found: list[tuple[int, list[Term]]] = [(1, [])]
    for test in tests:
        parts = _difference(test, bound)
        found = [(s * t, [*some, *more]) for s, some in found for t, more in parts]
    return found


def _difference(test: Term, bound: frozenset[str]) -> list[tuple[int, list[Term]]]:
    """``[a ≠ b]  →  1 − [a = b]``"""
    match test:
        case Call("!=", (left, right)) if _relates(left, right, bound):
            return [(1, []), (-1, [Call("==", (left, right))])]
        case Call("not", (Call("=", (left, right)) as same,)) if _relates(
            left, right, bound
        ) and not is_two_valued(same):
            there = [call("not", call("is_null", side)) for side in (left, right) if _may_be_null(side)]
            return [(1, list(there)), (-1, [same])]
    return [(1, [test])]


def _may_be_null(term: Term) -> bool:
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def _relates(left: Any, right: Any, bound: frozenset[str]) -> bool:
    """Whether one side is of the counted row and the other of its surroundings."""
    one, two = free_vars(left).keys(), free_vars(right).keys()
    return any(a and b and a <= bound and bound.isdisjoint(b) for a, b in ((one, two), (two, one)))
