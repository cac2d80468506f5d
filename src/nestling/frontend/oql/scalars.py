"""Scalars: constants, arithmetic, strings and functions."""

from __future__ import annotations

from datetime import date, datetime

from nestling.calculus.build import call, const
from nestling.calculus.terms import Call, Const, Term
from nestling.calculus.types import Scalar
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.convert import applied, scalar, scalar_of, scalar_type
from nestling.frontend.oql.tree import Binary, Constant, Invoke, Query, StructOf, Unary
from nestling.frontend.values import Many, One, Row, Value

_ARITHMETIC = {"+": "+", "-": "-", "*": "*", "/": "/", "mod": "remainder", "||": "+"}
_TYPES: dict[type, str] = {
    bool: "bool", int: "int", float: "float", str: "str", date: "date", datetime: "datetime"
}  # fmt: skip
#: Functions of scalars, by the names they have here.
FUNCTIONS = {
    "abs": "abs", "length": "length", "upper": "upper", "lower": "lower", "trim": "strip", "year": "year",
    "month": "month", "monthIndex": "month", "day": "day", "hour": "hour", "minute": "minute", "second": "second",
}  # fmt: skip


def of_constant(node: Constant, env: OqlEnv) -> Value:
    return One(Const(node.value, Scalar(_TYPES[type(node.value)])))


def of_struct(node: StructOf, env: OqlEnv) -> Value:
    return Row(tuple((name, env.value(query)) for name, query in node.fields), named=True)


def of_arithmetic(node: Binary, env: OqlEnv) -> Value:
    left, right = env.value(node.left), env.value(node.right)
    if isinstance(left, Many | Ordered) or isinstance(right, Many | Ordered):
        what = f"{node.operator} does not take collections"
        raise env.error(node, what, "union adds them, except takes away")
    terms = [scalar_of(left, node.left, env), scalar_of(right, node.right, env)]
    if node.operator == "||" and any(scalar_type(term).name != "str" for term in terms):
        raise env.error(node, "|| joins strings", "numbers are added with +")
    return One(applied(_ARITHMETIC[node.operator], terms, node, env, node.operator))


def of_sign(node: Unary, env: OqlEnv) -> Value:
    """``-a``, ``+a``."""
    found = applied("neg", [scalar(node.operand, env)], node, env, node.operator)
    assert isinstance(found, Call)
    (operand,) = found.args
    if node.operator == "+":
        return One(operand)
    return One(Const(-operand.value, operand.type) if isinstance(operand, Const) else found)


def of_function(name: str, args: list[Term], node: Invoke, env: OqlEnv) -> Value:
    """A function of scalars."""
    if len(args) != 1:
        raise env.error(node, f"{name} takes one argument, not {len(args)}", f"{name}(x)")
    return One(applied(FUNCTIONS[name], args, node, env, name))


def of_nvl(node: Invoke, env: OqlEnv) -> Value:
    """``nvl(a, b)``: b where a is absent."""
    if len(node.args) != 2:
        raise env.error(node, f"nvl takes two arguments, not {len(node.args)}", "nvl(x, 0)")
    with env.run.skipping(False):
        terms = [scalar(arg, env) for arg in node.args]
    return One(applied("coalesce", terms, node, env, "nvl"))


def character(text: Term, position: Query, env: OqlEnv) -> Value:
    """``s[i]``, from 0; beyond the end, nothing."""
    place = scalar(position, env)
    return One(_part(text, place, const(1), position, env))


def part(text: Term, first: Query, last: Query, env: OqlEnv) -> Value:
    """``s[i:j]``, both included."""
    start, end = scalar(first, env), scalar(last, env)
    length = call("+", applied("-", [end, start], last, env), const(1))
    return One(_part(text, start, length, first, env))


def _part(text: Term, start: Term, length: Term, node: Query, env: OqlEnv) -> Term:
    return applied("substring", [text, applied("+", [start, const(1)], node, env), length], node, env, "[]")


def position(node: Query, env: OqlEnv) -> int:
    """A position that is written out."""
    if isinstance(node, Constant) and type(node.value) is int:
        return node.value
    raise env.error(node, "a position in a list is a number, written out", "[0], [1:9]")
