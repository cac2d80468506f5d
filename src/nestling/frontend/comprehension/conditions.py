"""Truth: tests as terms, and tests as guards of a bag.

A conjunct that asks whether a bag has an element guards what follows by that bag; every other one is a term.
Conjuncts guard one after the other, so that what a test protects is looked at only where it holds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from nestling.calculus.build import FALSE, TRUE, call, for_, where
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Call, Const, Expr, Sing, Term, Tuple, Var
from nestling.calculus.types import BOOL, UNIT, Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import refuse_generator, scalar, scalar_of, scalar_type
from nestling.frontend.comprehension.nulls import facts, narrowed_term, negated
from nestling.frontend.comprehension.values import Items, shown
from nestling.frontend.values import Many, Null, One, Some, Value, default, fields_of, present

Rest: TypeAlias = Callable[[PythonEnv], Expr]
YES: Expr = Sing(Tuple(()))


def test(node: ast.expr, env: PythonEnv) -> Term:
    """The truth of ``node``, never null."""
    if isinstance(node, ast.BoolOp):
        return _connective(node, env)
    return truth(env.value(node), node, env)


def truth(value: Value, node: ast.expr, env: PythonEnv) -> Term:
    """Whether Python takes ``value`` for true."""
    refuse_generator(value, node, env, "always true")
    match value:
        case One(term) if isinstance(term_type(term), Scalar):
            return _scalar_truth(term, scalar_type(term))
        case Many(expr):
            return scalar_of(Some(expr), node, env)
        case Items(values):
            return Const(bool(values), BOOL)
        case Null():
            return FALSE
    if fields_of(value) is not None:
        raise env.error(node, f"a record is always true: {shown(value)}", "test one of its fields")
    return scalar_of(value, node, env)


def _scalar_truth(term: Term, type_: Scalar) -> Term:
    """``coalesce(t, d) != d`` with the false value d of the type; dates have none."""
    solid = call("coalesce", term, default(type_)) if type_.nullable else term
    if type_.name == "bool":
        return solid
    if type_.name in ("date", "datetime"):
        return call("not", call("is_null", term)) if type_.nullable else TRUE
    return call("!=", solid, default(type_))


def _connective(node: ast.BoolOp, env: PythonEnv) -> Term:
    """``and`` and ``or`` of truths; the right side is looked at only where the left leaves it open."""
    both = isinstance(node.op, ast.And)
    result: Term | None = None
    for part in node.values:
        term = _in_turn(part, result, both, env)
        result = term if result is None else call("and" if both else "or", result, term)
        env = env.knowing(facts(term, both))
    return TRUE if result is None else result


def _in_turn(part: ast.expr, before: Term | None, both: bool, env: PythonEnv) -> Term:
    path = before if before is None or both else negated(before)
    return env.run.lazily(path, lambda: test(part, env))


def of_boolop(node: ast.BoolOp, env: PythonEnv) -> Value:
    """``a and b`` as a value: of truths a truth, of other scalars the one that decides."""
    first, *others = node.values
    rest: ast.expr = others[0]
    if len(others) > 1:
        rest = ast.copy_location(ast.BoolOp(node.op, others), others[0])
    both = isinstance(node.op, ast.And)
    left = env.value(first)
    if isinstance(left, Many | Items | Null) or fields_of(left) is not None:
        raise env.error(
            first, f"{'and' if both else 'or'} joins scalars, not {shown(left)}", "test it: len(…) > 0"
        )
    term = scalar_of(left, first, env)
    holds = truth(One(term), first, env)
    inner = env.knowing(facts(holds, both))
    right = env.run.lazily(holds if both else negated(holds), lambda: scalar(rest, inner))
    if scalar_type(term) == BOOL and scalar_type(right) == BOOL:
        return One(call("and" if both else "or", term, right))
    solid = narrowed_term(term, facts(holds))
    then, otherwise = (right, term) if both else (solid, right)
    return One(_deciding(holds, then, otherwise, node, env))


def _deciding(holds: Term, then: Term, otherwise: Term, node: ast.expr, env: PythonEnv) -> Term:
    if FUNCTIONS["if"].result([BOOL, scalar_type(then), scalar_type(otherwise)]) is None:
        types = f"{scalar_type(then).name} and {scalar_type(otherwise).name}"
        raise env.error(node, f"the sides have no type in common: {types}", "write a if test else b")
    return call("if", holds, then, otherwise)


def of_not(node: ast.UnaryOp, env: PythonEnv) -> Value:
    """``not a``; of the truth of a bag it is one again."""
    if isinstance(node.operand, ast.BoolOp):
        return One(negated(test(node.operand, env)))
    value = env.value(node.operand)
    refuse_generator(value, node.operand, env, "always true")
    match value:
        case Some(expr, holds):
            return Some(expr, not holds)
        case Many(expr):
            return Some(expr, False)
    return One(negated(truth(value, node.operand, env)))


def guarded(node: ast.expr, env: PythonEnv, rest: Rest) -> Expr:
    """``rest`` where ``node`` is true."""
    match node:
        case ast.BoolOp(ast.And(), [first, *others]) if others:
            remaining = ast.copy_location(ast.BoolOp(ast.And(), others), others[0])
            return guarded(first, env, lambda inner: guarded(remaining, inner, rest))
        case ast.BoolOp(ast.And(), [only]):
            return guarded(only, env, rest)
        case ast.BoolOp():
            return env.run.enclosed(lambda: _where(test(node, env), env, rest))
    return env.run.enclosed(lambda: _guard(env.value(node), node, env, rest))


def _guard(value: Value, node: ast.expr, env: PythonEnv, rest: Rest) -> Expr:
    refuse_generator(value, node, env, "always true")
    match value:
        case Some(expr, True) | Many(expr):
            return for_(Var("_", UNIT), present(expr, env.run.names), env.run.enclosed(lambda: rest(env)))
    return _where(truth(value, node, env), env, rest)


def guard_by(value: Value, node: ast.expr, env: PythonEnv, body: Expr) -> Expr:
    """``body`` where ``value`` is true."""
    return _guard(value, node, env, lambda _: body)


def _where(holds: Term, env: PythonEnv, rest: Rest) -> Expr:
    inner = env.knowing(facts(holds))
    return where(_bare(holds), env.run.enclosed(lambda: rest(inner)))


def _bare(holds: Term) -> Term:
    """``holds`` for a guard, which takes null for false by itself."""
    match holds:
        case Call("coalesce", (inner, other)) if other == FALSE:
            return inner
        case Call("and" | "or" as name, (left, right)):
            return call(name, _bare(left), _bare(right))
    return holds
