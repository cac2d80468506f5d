"""The one element of a bag that has none or one: null where it has none."""

from __future__ import annotations

from collections.abc import Callable

from nestling.calculus.build import call, const, for_
from nestling.calculus.optional import ITEMS, THERE, is_optional
from nestling.calculus.terms import Expr, Field, Flatten, Term
from nestling.calculus.types import Bag, Record, Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import without_null
from nestling.frontend.values import Many, One, Row, Value, of_term, singleton


def picked(source: Expr, env: SqlEnv) -> Value:
    """The element of ``source``: a scalar by its greatest value, a struct field by field, an array by its elements."""
    type_ = element_type(source)
    if isinstance(type_, Bag):
        return Row(((THERE, One(_some(source, env))), (ITEMS, _inside(source, env))))
    if not isinstance(type_, Record):
        return One(_scalar(source, env))
    flag = _projected(source, THERE, env) if is_optional(type_) else None
    fields = type_.fields[1:] if flag is not None else type_.fields
    there = _some(source if flag is None else _true(flag, env), env)
    if fields and fields[0][0] == ITEMS:
        return Row(((THERE, One(there)), (ITEMS, _inside(_projected(source, ITEMS, env), env))))
    parts = [(name, picked(_projected(source, name, env), env)) for name, _ in fields]
    return Row(((THERE, One(there)), *parts))


def _some(source: Expr, env: SqlEnv) -> Term:
    var = env.run.var("x", source)
    return call("!=", env.run.fold("count", for_(var, source, YES)), const(0))


def _true(flags: Expr, env: SqlEnv) -> Expr:
    return _each(flags, env, lambda value: where(_term(value), YES))


def _inside(source: Expr, env: SqlEnv) -> Value:
    return Many(Flatten(source))


def _projected(source: Expr, name: str, env: SqlEnv) -> Expr:
    var = env.run.var("x", source)
    return for_(var, source, singleton(of_term(Field(var, name)), env.run.site))


def _each(source: Expr, env: SqlEnv, body: Callable[[Value], Expr]) -> Expr:
    var = env.run.var("x", source)
    return for_(var, source, body(of_term(var)))


def _term(value: Value) -> Term:
    assert isinstance(value, One)
    return value.term


def _scalar(source: Expr, env: SqlEnv) -> Term:
    type_ = element_type(source)
    assert isinstance(type_, Scalar)

    def body(value: Value) -> Expr:
        solid = singleton(without_null(value), env.run.site)
        return where(call("not", call("is_null", _term(value))), solid) if type_.nullable else solid

    return env.run.fold("max", _each(source, env, body))
