"""Truth: tests as terms, and tests as guards of what follows them.

Three-valued, as in SQL: a condition holds where it is true, not where it is absent. A conjunct guards by itself, and
may end the row where a path in it is absent. Quantifiers are true or false.
"""

from __future__ import annotations

from dataclasses import replace

from nestling.calculus.build import call, conjunction, const, countwise
from nestling.calculus.terms import Const, Expr, Sing, Term, Tuple
from nestling.calculus.types import BOOL, Scalar, nullable
from nestling.calculus.typing import term_type
from nestling.frontend.oql.compare import compared, is_absent
from nestling.frontend.oql.context import OqlEnv
from nestling.frontend.oql.convert import (
    applied,
    boolean,
    boolean_of,
    collection,
    collection_of,
    scalar,
    scalar_of,
    scalar_type,
    solid_truth,
    type_of,
)
from nestling.frontend.oql.tree import Among, Between, Binary, Invoke, Like, Quantifier, Query, Unary, Versus
from nestling.frontend.values import Null, One, Perhaps, Some, Value, of_term, present

YES: Expr = Sing(Tuple(()))


def guard(node: Query, env: OqlEnv) -> None:
    """What follows is taken only where ``node`` is true."""
    if isinstance(node, Binary) and node.operator in ("and", "andthen"):
        guard(node.left, env)
        guard(node.right, _after(node.left, env))
        return
    with env.run.skipping(True):
        value = env.value(node)
    match value:
        case Some(expr, True):
            env.run.present(present(expr, env.run.names))
        case _:
            env.run.holds(boolean_of(value, node, env))


def _after(node: Query, env: OqlEnv) -> OqlEnv:
    """Where ``and`` follows a quantifier, whose variable has ended."""
    ended = {part.name for part in _last(node) if isinstance(part, Quantifier)}
    return replace(env, ended=env.ended | ended)


def _last(node: Query) -> list[Query]:
    """``node`` and what it ends with."""
    match node:
        case Binary(_, _, right):
            return [node, *_last(right)]
        case Unary(_, operand):
            return [node, *_last(operand)]
        case Quantifier(_, _, _, test):
            return [node, *_last(test)]
    return [node]


def of_connective(node: Binary, env: OqlEnv) -> Value:
    """``and``, ``or`` after Kleene; what has no value is looked at only where the left side leaves it open."""
    both = node.operator in ("and", "andthen")
    with env.run.skipping(False):
        left = boolean(node.left, env)
        after = _after(node.left, env)
        right = env.run.lazily(_is_open(left, both), lambda: boolean(node.right, after))
    return One(call("and" if both else "or", left, right))


def _is_open(left: Term, both: bool) -> Term:
    """Where the left side of ``and`` or ``or`` does not decide."""
    deciding = call("not", left) if both else left
    return call("not", solid_truth(deciding))


def of_not(node: Unary, env: OqlEnv) -> Value:
    value = env.value(node.operand)
    if isinstance(value, Some):
        return Some(value.expr, not value.holds)
    return One(call("not", boolean_of(value, node.operand, env)))


def of_quantifier(node: Quantifier, env: OqlEnv) -> Value:
    """``exists x in c: p``: an element for which p is true; ``for all``: none for which it is not."""
    many = collection(node.collection, env)

    def build() -> Expr:
        inner = env.binding({node.name: of_term(env.run.generated(node.name, many.expr))})
        if node.kind == "exists":
            guard(node.test, inner)
        else:
            refuse(inner.value(node.test), node.test, inner)
        return YES

    return Some(env.run.enclosed(build), node.kind == "exists")


def refuse(value: Value, node: Query, env: OqlEnv) -> None:
    """What follows is taken only where ``value`` is not true."""
    match value:
        case Some(expr, False):
            env.run.present(present(expr, env.run.names))
        case Some(expr, True):
            env.run.holds(call("==", env.run.fold("count", countwise("exists", expr)), const(0)))
        case _:
            env.run.holds(call("not", solid_truth(boolean_of(value, node, env))))


def of_exists(node: Invoke, env: OqlEnv) -> Value:
    """``exists(c)``: it has an element."""
    value = env.loose(node.args[0])
    if isinstance(value, Perhaps):
        return is_absent(node.args[0], env, False)
    return Some(collection_of(value, node.args[0], env).expr)


def of_undefined(node: Invoke, env: OqlEnv) -> Value:
    """``is_undefined(e)``, ``is_defined(e)``."""
    return is_absent(node.args[0], env, node.name == "is_undefined")


def of_among(node: Among, env: OqlEnv) -> Value:
    """``x in c``: an element equals x; absent where x is. Of strings: it is part of the other."""
    found = env.value(node.element)
    container = env.loose(node.collection)
    if isinstance(container, One | Perhaps) and getattr(type_of(container), "name", "") == "str":
        terms = [scalar_of(container, node.collection, env), scalar_of(found, node.element, env)]
        return One(applied("contains", terms, node, env, "in"))
    if isinstance(found, Null):
        raise env.error(node.element, "nil is in no collection", "exists x in …: x = nil")
    many = collection_of(container, node.collection, env)
    is_scalar = isinstance(found, Perhaps) or isinstance(type_of(found), Scalar)
    if not is_scalar:
        return Some(_equal(many.expr, found, node, env))
    # Before the collection is searched: a path in it is not to be followed for every element.
    term = scalar_of(found, node.element, env)
    matches = _equal(many.expr, One(term), node, env)
    type_ = term_type(term)
    if not isinstance(type_, Scalar) or not type_.nullable:
        return Some(matches)
    if env.run.skips_absent:
        env.run.holds(call("not", call("is_null", term)))
        return Some(matches)
    count = env.run.fold("count", countwise("exists", matches))
    nothing = Const(None, nullable(BOOL))
    return One(call("if", call("is_null", term), nothing, call("nullable", call("!=", count, const(0)))))


def _equal(many: Expr, value: Value, node: Among, env: OqlEnv) -> Expr:
    """One ⟨⟩ for each element that equals ``value``."""

    def build() -> Expr:
        other = of_term(env.run.generated("y", many))
        env.run.holds(boolean_of(compared("=", value, other, node, env), node, env))
        return YES

    return env.run.enclosed(build)


def of_versus(node: Versus, env: OqlEnv) -> Value:
    """``x < any c``: true of an element; ``x < all c``: of no element not true."""
    left = _at_hand(node.left, env)
    many = collection(node.right, env)

    def build() -> Expr:
        other = of_term(env.run.generated("y", many.expr))
        test = boolean_of(compared(node.operator, left, other, node, env), node, env)
        env.run.holds(test if node.which == "any" else call("not", solid_truth(test)))
        return YES

    return Some(env.run.enclosed(build), node.which == "any")


def _at_hand(node: Query, env: OqlEnv) -> Value:
    """``node`` as it is compared: what may be absent is null, and the row stays."""
    with env.run.skipping(False):
        value = env.value(node)
        return One(scalar_of(value, node, env)) if isinstance(value, Perhaps) else value


def of_like(node: Like, env: OqlEnv) -> Value:
    """``text like pattern``: ``*`` and ``%`` are any signs, ``?`` and ``_`` is one."""
    text, pattern = scalar(node.text, env), scalar(node.pattern, env)
    if isinstance(pattern, Const) and isinstance(pattern.value, str):
        pattern = const(pattern.value.replace("*", "%").replace("?", "_"))
    elif scalar_type(pattern).name == "str":
        for sign, known in (("*", "%"), ("?", "_")):
            pattern = call("replace", pattern, const(sign), const(known))
    return One(applied("like", [text, pattern, const("\\")], node, env))


def of_between(node: Between, env: OqlEnv) -> Value:
    value = env.value(node.value)
    if isinstance(value, Perhaps):
        value = One(scalar_of(value, node.value, env))
    low, high = _at_hand(node.low, env), _at_hand(node.high, env)
    tests = [compared(">=", value, low, node, env), compared("<=", value, high, node, env)]
    return One(conjunction([boolean_of(test, node, env) for test in tests]))
