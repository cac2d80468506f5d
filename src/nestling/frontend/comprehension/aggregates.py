"""Aggregates and quantifiers: ``sum len min max any all``.

Of nothing, ``sum`` is 0 and ``any`` false, as in Python. ``min`` and ``max`` of nothing are ``default=``, or
``None`` where Python would raise: a view has a value for every state of its tables.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from nestling.calculus.build import call, const, for_
from nestling.calculus.terms import Expr, Term, Var
from nestling.calculus.types import NUMERIC, Scalar, Type, show_type
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.comprehension.bags import loops
from nestling.frontend.comprehension.compare import opposite
from nestling.frontend.comprehension.conditions import YES, guard_by, guarded, truth
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import applied, bag, bag_of, refuse_generator, scalar, scalar_of
from nestling.frontend.comprehension.values import Items, Sorted, shown
from nestling.frontend.values import Many, Null, One, Some, Value, of_term

_LEAVE_OUT = "leave them out: … for x in … if x is not None"


def of_sum(node: ast.Call, env: PythonEnv) -> Value:
    """``sum(bag)``; of bools it counts the true ones."""
    source, *start = _arguments(node, "sum", 2, env, ("start",))
    for part in start:
        if env.value(part) != One(const(0)):
            raise env.error(part, "sum(…, start) is not supported", "add it: start + sum(…)")
    expr = bag(source, env).expr
    element = element_type(expr)
    if element == Scalar("bool"):
        return One(env.run.fold("count", _true_ones(expr, source, env)))
    _check(element, "sum adds up numbers", NUMERIC, source, env)
    return One(env.run.fold("sum", expr))


def _check(element: Type, what: str, names: tuple[str, ...], node: ast.expr, env: PythonEnv) -> None:
    """Raise unless ``element`` is a scalar of ``names`` that is never null."""
    match element:
        case Scalar(name, False) if name in names or not names:
            return
        case Scalar(name, True) if name in names or not names:
            raise env.error(node, f"{what}, and these may be None", _LEAVE_OUT)
    raise env.error(node, f"{what}, not {show_type(element)}", "take one column: … x.column for x in …")


def of_len(node: ast.Call, env: PythonEnv) -> Value:
    """``len`` of a bag or of a string."""
    (source,) = _arguments(node, "len", 1, env)
    value = env.value(source)
    refuse_generator(value, source, env, "of no length")
    match value:
        case Many(expr) | Sorted(expr):
            return One(env.run.fold("count", expr))
        case Items(values, "list"):
            return One(const(len(values)))
        case Items():
            return One(env.run.fold("count", bag_of(value, source, env).expr))
        case One(term) if isinstance(term_type(term), Scalar):
            return One(applied("length", [term], node, env, "len"))
    raise env.error(node, f"len takes a bag or a string, not {shown(value)}")


def of_extreme(name: str) -> Callable[[ast.Call, PythonEnv], Value]:
    """``min`` or ``max``, of a bag or of several scalars."""

    def of_call(node: ast.Call, env: PythonEnv) -> Value:
        for keyword in node.keywords:
            if keyword.arg != "default" or len(node.args) != 1:
                hint = f"take the {name} of the key, then the elements that have it"
                raise env.error(keyword.value, f"{name}(…, {keyword.arg}=…) is not supported", hint)
        if len(node.args) > 1:
            return One(_extreme_of(name, [scalar(part, env) for part in node.args], node, env))
        (source,) = _arguments(node, name, 1, env, ("default",))[:1]
        expr = bag(source, env).expr
        _check(element_type(expr), f"{name} compares scalars", (), source, env)
        return One(_or_default(env.run.fold(name, expr), node, env))

    return of_call


def _or_default(term: Term, node: ast.Call, env: PythonEnv) -> Term:
    if not node.keywords:
        return term
    value = env.value(node.keywords[0].value)
    if isinstance(value, Null):
        return term
    other = scalar_of(value, node.keywords[0].value, env)
    return applied("coalesce", [term, other], node, env, "default")


def _extreme_of(name: str, terms: list[Term], node: ast.expr, env: PythonEnv) -> Term:
    """The first of the least or greatest, as Python takes it."""
    result = terms[0]
    for term in terms[1:]:
        better = applied("<" if name == "min" else ">", [term, result], node, env, name)
        result = call("if", better, term, result)
    return result


def of_any(node: ast.Call, env: PythonEnv) -> Value:
    """``any(bag)``: whether a true element is there."""
    (source,) = _arguments(node, "any", 1, env)
    return Some(_with_truth(source, True, env))


def of_all(node: ast.Call, env: PythonEnv) -> Value:
    """``all(bag)``: whether no false element is there."""
    (source,) = _arguments(node, "all", 1, env)
    return Some(_with_truth(source, False, env), False)


def _with_truth(source: ast.expr, holds: bool, env: PythonEnv) -> Expr:
    """``⟨⟩`` for every element of ``source`` that is true, or false."""
    if isinstance(source, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        found = source.elt
        test = found if holds else ast.copy_location(ast.UnaryOp(ast.Not(), found), found)
        return loops(source.generators, env, lambda inner: guarded(test, inner, lambda _: YES))
    return _true_ones(bag(source, env).expr, source, env, holds)


def _true_ones(expr: Expr, node: ast.expr, env: PythonEnv, holds: bool = True) -> Expr:
    var = Var(env.run.names.fresh("x"), element_type(expr))

    def test() -> Expr:
        value = One(truth(of_term(var), node, env))
        return guard_by(value if holds else opposite(value), node, env, YES)

    return for_(var, expr, env.run.enclosed(test))


def _arguments(
    node: ast.Call, name: str, most: int, env: PythonEnv, keywords: tuple[str, ...] = ()
) -> list[ast.expr]:
    """The arguments of a builtin, those with a name last."""
    for part in node.args:
        if isinstance(part, ast.Starred):
            raise env.error(part, f"{name}(*…) is not supported", f"pass the bag itself: {name}(…)")
    for keyword in node.keywords:
        if keyword.arg not in keywords:
            raise env.error(keyword.value, f"{name} has no parameter {keyword.arg!r} here")
    found = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not node.args or len(found) > most + ("default" in keywords):
        raise env.error(node, f"{name} takes {most} argument{'s' * (most > 1)}, not {len(found)}")
    return found
