"""Conditions as early as they can be asked.

Law (18): ``evaluate(hoist(e)) = evaluate(e)`` wherever ``e`` has a value. A condition on the first of five tables that
stands behind all five would be asked of every combination of the five. ``[t]`` moves out of the loops and folds whose
variable it does not use, conjunct by conjunct; one that may be undefined stays where it is, behind those that stood
before it. A condition that holds of all rows of a sum or of none is no matter of the sum. What stands at one place is
one condition.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from nestling.calculus.build import call, conjunction
from nestling.calculus.logic import conjuncts, inward
from nestling.calculus.partial import is_total
from nestling.calculus.terms import Const, CountWise, Expr, Fold, For, Guard, Term, Var
from nestling.calculus.traverse import free_vars, is_term, map_children, substitute, walk
from nestling.calculus.types import UNIT
from nestling.calculus.typing import fold_type


def hoist(expr: Expr) -> Expr:
    """``expr`` with its guards as far out as they go.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)"), "S": parse_type("Bag(int)")}
    >>> print(show(hoist(parse("for x in R union for y in S where x > 1 and y > x union sng(y)", catalog))))
    for x in R where x > 1 union for y in S where y > x union sng(y)
    """
    found: Expr = _hoist(expr)
    return found


def _hoist(node: Any) -> Any:
    return _moved(map_children(node, _hoist))


def _moved(node: Any) -> Any:
    """``node``, whose parts are as they should be, with the guards at their heads moved out."""
    match node:
        case For(Var("_"), Guard(), _):
            return _guarded(*_parted(node))
        case For(var, For(Var("_"), Guard(), _) as source, body):
            tests, inner = _parted(source)
            return _guarded(tests, _moved(For(var, inner, body)))
        case For(var, source, body):
            passing, kept = _passing(body, var.name)
            return _guarded(passing, For(var, source, kept)) if passing else node
        case Fold(_, "count" | "sum", For(Var("_"), Guard(test), source), _) if _is_total(test, source):
            return _moved(_of_all(node, test, source))
        case Fold(var, aggregate, source, body):
            passing, kept = _passing(body, var.name)
            return _guarded(passing, Fold(var, aggregate, source, kept)) if passing else node
        case CountWise("exists", (For(Var("_"), Guard(), _) as source,)):
            tests, inner = _parted(source)
            return _guarded(tests, _moved(CountWise("exists", (inner,))))
    return node


def _is_total(test: Term, source: Expr) -> bool:
    """Whether ``source`` may be asked for where ``test`` does not hold."""
    return is_total(test) and all(is_total(node) for node in walk(source) if is_term(node))


def _of_all(node: Fold, test: Term, source: Expr) -> Expr:
    """``fold x := sum(for _ in [t] union e) in b  →  fold x := sum(e) in b[x := if(t, x, 0)]``"""
    type_ = fold_type(node.aggregate, source)
    zero = Const({"int": 0, "float": 0.0, "decimal": Decimal(0)}[type_.name], type_)
    value = call("if", test, node.var, zero)
    return Fold(node.var, node.aggregate, source, substitute(node.body, {node.var.name: value}))


def _passing(body: Expr, name: str) -> tuple[list[Term], Expr]:
    """The conditions at the head of ``body`` that do not need ``name``, and ``body`` without them."""
    tests, inner = _parted(body)
    passing = [test for test in tests if name not in free_vars(test) and is_total(test)]
    return passing, _guarded([test for test in tests if test not in passing], inner)


def _parted(body: Expr) -> tuple[list[Term], Expr]:
    """The conditions at the head of ``body``, and what they guard."""
    tests: list[Term] = []
    while isinstance(body, For) and isinstance(body.source, Guard) and body.var.name == "_":
        tests += conjuncts(inward(body.source.test))
        body = body.body
    return tests, body


def _guarded(tests: list[Term], body: Expr) -> Expr:
    """``for _ in [t] union for _ in [u] union b  →  for _ in [t and u] union b`` of a ``u`` that always has a value"""
    more, body = _parted(body)
    joined: list[list[Term]] = []
    for test in dict.fromkeys((*tests, *more)):
        if joined and is_total(test):
            joined[-1].append(test)
        else:
            joined.append([test])
    for group in reversed(joined):
        body = For(Var("_", UNIT), Guard(conjunction(group)), body)
    return body
