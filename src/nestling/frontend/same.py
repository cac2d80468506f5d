"""Collections compared by counts of equal pairs, which are maintained also where both are inside one row.

Law: ``⟨x, y⟩`` being the number of pairs of equal elements of two bags, ``⟨x, x⟩ + ⟨y, y⟩ = 2 ⟨x, y⟩`` iff the two
hold the same elements equally often; and ``⟨x, y⟩ = |x|`` iff the set ``x`` is part of the set ``y``.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from nestling.calculus.build import call, const, equal_terms, for_, where
from nestling.calculus.terms import BagVar, Expr, Sing, Term, Tuple, Var
from nestling.calculus.traverse import binders, map_children, walk
from nestling.calculus.typing import element_type
from nestling.frontend.bindings import Bindings


def same_elements(run: Bindings, one: Expr, two: Expr) -> Term:
    """Whether two bags of one type hold the same elements, equally often."""
    both = call("+", _pairs(run, one, _copy(run, one)), _pairs(run, two, _copy(run, two)))
    return call("==", both, call("*", const(2), _pairs(run, _copy(run, one), _copy(run, two))))


def is_part(run: Bindings, one: Expr, two: Expr, *, strictly: bool = False) -> Term:
    """Whether the set ``one`` is part of the set ``two``; ``strictly``: and not the whole."""
    few, pairs = _count(run, one), _pairs(run, _copy(run, one), two)
    found = call("==", pairs, few)
    return call("and", found, call("<", few, _count(run, _copy(run, two)))) if strictly else found


def _pairs(run: Bindings, one: Expr, two: Expr) -> Term:
    """``⟨one, two⟩``: how many pairs of equal elements there are."""
    left = Var(run.names.fresh("x"), element_type(one))
    right = Var(run.names.fresh("y"), element_type(two))
    equal = where(equal_terms(left, right), Sing(Tuple(())))
    return _count(run, for_(left, one, for_(right, two, equal)))


def _count(run: Bindings, source: Expr) -> Term:
    return run.known_fold("count", source) or run.folded("count", source)


def _copy(run: Bindings, expr: Expr) -> Expr:
    """``expr`` once more, with binders of its own: no two of a term have one name."""
    own = {
        var.name: run.names.fresh(var.name) for node in walk(expr) for var in binders(node) if var.name != "_"
    }

    def visit(node: Any) -> Any:
        if isinstance(node, Var | BagVar):
            return replace(node, name=own.get(node.name, node.name))
        made = map_children(node, visit)
        # What still has its name is no child, but what the node binds.
        bound = {
            f.name: visit(v)
            for f in fields(made)
            if isinstance(v := getattr(made, f.name), Var | BagVar) and v.name in own
        }
        return replace(made, **bound) if bound else made

    return visit(expr) if own else expr
