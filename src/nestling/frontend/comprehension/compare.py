"""Comparisons: equality of anything flat and of sets, order of scalars, membership, ``is None``."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from nestling.calculus.build import FALSE, TRUE, call, conjunction, for_
from nestling.calculus.terms import CountWise, Expr, Term, Var
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.comprehension.conditions import YES, guard_by
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import applied, bag_of, elementwise, joined, scalar_of
from nestling.frontend.comprehension.nulls import facts, is_nullable, negated
from nestling.frontend.comprehension.values import Items, shown
from nestling.frontend.same import is_part, same_elements
from nestling.frontend.values import Many, Null, One, Row, Some, Value, fields_of, of_term, there

_ORDERS: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def of_compare(node: ast.Compare, env: PythonEnv) -> Value:
    """``a < b``, and ``a < b < c`` as ``a < b and b < c`` with ``b`` read once."""
    if len(node.ops) == 1:
        return _pair(node.ops[0], env.value(node.left), env.value(node.comparators[0]), node, env)
    links = list(zip(node.ops, node.comparators, strict=True))
    return One(_chain(_settled(node.left, env), links, node, env))


def _chain(left: Value, links: Sequence[tuple[ast.cmpop, ast.expr]], node: ast.expr, env: PythonEnv) -> Term:
    (operator, operand), *others = links
    right = _settled(operand, env)
    link = scalar_of(_pair(operator, left, right, node, env), node, env)
    if not others:
        return link
    inner = env.knowing(facts(link))
    return call("and", link, env.run.lazily(link, lambda: _chain(right, others, node, inner)))


def _settled(node: ast.expr, env: PythonEnv) -> Value:
    """An operand that is looked at twice: a scalar, or elements written out."""
    value = env.value(node)
    return value if isinstance(value, Null | Items | Row) else One(scalar_of(value, node, env))


def _pair(operator: ast.cmpop, left: Value, right: Value, node: ast.expr, env: PythonEnv) -> Value:
    match operator:
        case ast.Eq():
            return equal(left, right, node, env)
        case ast.NotEq():
            return opposite(equal(left, right, node, env))
        case ast.In():
            return _member(left, right, node, env)
        case ast.NotIn():
            return opposite(_member(left, right, node, env))
        case ast.Is():
            return One(_is_none(left, right, node, env))
        case ast.IsNot():
            return One(negated(_is_none(left, right, node, env)))
    return _ordered(_ORDERS[type(operator)], left, right, node, env)


def opposite(value: One | Some) -> One | Some:
    """``not value``, of a truth."""
    return Some(value.expr, not value.holds) if isinstance(value, Some) else One(negated(value.term))


def equal(left: Value, right: Value, node: ast.expr, env: PythonEnv) -> One | Some:
    """``left == right``, total: ``None`` equals ``None`` and nothing else."""
    if isinstance(left, Null) or isinstance(right, Null):
        return One(
            _is_none(left, right, node, env) if isinstance(right, Null) else _is_none(right, left, node, env)
        )
    one, two = fields_of(left), fields_of(right)
    if one is not None and two is not None:
        found = _equal_records(one, two, node, env)
        flags = [TRUE if (is_there := there(value)) is None else is_there for value in (left, right)]
        if flags == [TRUE, TRUE]:
            return found
        # None is equal to None, and not to a record of which all is None.
        return One(call("and", call("==", *flags), scalar_of(found, node, env)))
    if isinstance(left, Many | Items) and isinstance(right, Many | Items):
        return _equal_bags(left, right, node, env)
    if (one is None) != (two is None):
        raise env.error(
            node,
            f"a record is not compared with a scalar: {shown(left)} and {shown(right)}",
            _column_hint(left, right),
        )
    return One(applied("==", [scalar_of(left, node, env), scalar_of(right, node, env)], node, env))


def _equal_records(
    one: Sequence[tuple[str, Value]], two: Sequence[tuple[str, Value]], node: ast.expr, env: PythonEnv
) -> One:
    if len(one) != len(two):
        raise env.error(
            node, f"records of {len(one)} and {len(two)} fields are never equal", "compare their fields"
        )
    pairs = zip(one, two, strict=True)
    return One(conjunction([scalar_of(equal(a, b, node, env), node, env) for (_, a), (_, b) in pairs]))


def _equal_bags(left: Many | Items, right: Many | Items, node: ast.expr, env: PythonEnv) -> One | Some:
    for bag, other in ((left, right), (right, left)):
        if isinstance(other, Items) and not other.values:
            return Some(bag_of(bag, node, env).expr, False)
    if left.form != "set" or right.form != "set":
        raise env.error(
            node, "lists are compared in order, and a bag has none", "compare them as sets: set(a) == set(b)"
        )
    return One(same_elements(env.run, *_alike(left, right, node, env)))


def _alike(left: Value, right: Value, node: ast.expr, env: PythonEnv) -> tuple[Expr, Expr]:
    """Two bags brought to one type."""
    one, two = bag_of(left, node, env).expr, bag_of(right, node, env).expr
    type_ = joined(element_type(one), element_type(two), node, env)
    return elementwise(one, type_, env), elementwise(two, type_, env)


def _ordered(operator: str, left: Value, right: Value, node: ast.expr, env: PythonEnv) -> One | Some:
    """An ordering comparison, false where a side is ``None``; of sets it is inclusion."""
    if (
        isinstance(left, Many | Items)
        and isinstance(right, Many | Items)
        and left.form == right.form == "set"
    ):
        return _included(operator, left, right, node, env)
    if fields_of(left) is not None or fields_of(right) is not None:
        raise env.error(
            node,
            f"records are not ordered: {shown(left)} {operator} {shown(right)}",
            "compare their fields one by one",
        )
    if isinstance(left, Null) or isinstance(right, Null):
        raise env.error(node, "nothing is less or greater than None", "compare with is None")
    term = applied(operator, [scalar_of(left, node, env), scalar_of(right, node, env)], node, env)
    return One(call("coalesce", term, FALSE) if is_nullable(term) else term)


def _included(operator: str, left: Value, right: Value, node: ast.expr, env: PythonEnv) -> One:
    one, two = _alike(left, right, node, env)
    if operator in (">", ">="):
        one, two = two, one
    return One(is_part(env.run, one, two, strictly=operator in ("<", ">")))


def _member(left: Value, right: Value, node: ast.expr, env: PythonEnv) -> One | Some:
    """``left in right``: an element of a bag, one of the values written out, or a part of a string."""
    if isinstance(left, Some):
        left = One(scalar_of(left, node, env))
    match right:
        case Items(values):
            return One(_any_of([scalar_of(equal(left, item, node, env), node, env) for item in values]))
        case Row(fields, False):
            return One(_any_of([scalar_of(equal(left, item, node, env), node, env) for _, item in fields]))
        case One(term) if isinstance(term_type(term), Scalar):
            found = applied("contains", [term, scalar_of(left, node, env)], node, env, "in")
            return One(call("coalesce", found, FALSE) if is_nullable(found) else found)
    source = _support(bag_of(right, node, env).expr)
    var = Var(env.run.names.fresh("y"), element_type(source))
    return Some(
        for_(
            var,
            source,
            env.run.enclosed(lambda: guard_by(equal(left, of_term(var), node, env), node, env, YES)),
        )
    )


def _support(expr: Expr) -> Expr:
    """``expr``, or a shorter bag that has the same elements, however often."""
    match expr:
        case CountWise("distinct", (inner,)):
            return inner
    return expr


def _any_of(terms: list[Term]) -> Term:
    """``t₁ or … or tₙ`` as a balanced tree: a long list must not become a deep term."""
    if len(terms) <= 1:
        return terms[0] if terms else FALSE
    half = len(terms) // 2
    return call("or", _any_of(terms[:half]), _any_of(terms[half:]))


def _is_none(value: Value, none: Value, node: ast.expr, env: PythonEnv) -> Term:
    if not isinstance(none, Null):
        if isinstance(value, Null):
            return _is_none(none, value, node, env)
        raise env.error(node, "is compares with None only", "write ==")
    match value:
        case Null():
            return TRUE
        case One(term) if is_nullable(term):
            return call("is_null", term)
        case One() | Row() if (is_there := there(value)) is not None:
            return negated(is_there)
        case One() | Row() | Many() | Items() | Some():
            return FALSE
    raise env.error(node, f"a value is needed here, not {shown(value)}")


def _column_hint(left: Value, right: Value) -> str:
    for value in (left, right):
        if isinstance(value, One):
            type_ = term_type(value.term)
            if isinstance(type_, Record) and type_.names:
                return f"take one of its fields: [x.{type_.names[0]} for x in …]"
    return "take one of its fields"
