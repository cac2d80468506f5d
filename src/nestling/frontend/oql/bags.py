"""Collections: constructors, operators, aggregates, ``element`` and ``flatten``."""

from __future__ import annotations

from nestling.calculus.build import call, const, countwise, flatten, union
from nestling.calculus.terms import Expr, Term
from nestling.calculus.types import NUMERIC, Bag, Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.oql.alike import alike
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.convert import answer, collection, described, element
from nestling.frontend.oql.order import numbered
from nestling.frontend.oql.tree import Binary, Collect, Constant, Interval, Invoke, Query
from nestling.frontend.paths import identity, solid
from nestling.frontend.values import Form, Many, One, Perhaps, Value, of_term

_OPERATORS = {"intersect": "min", "except": "monus"}
#: The longest ``list(a..b)``.
LONGEST = 10_000


def of_collect(node: Collect, env: OqlEnv) -> Value:
    """``set(…)``, ``bag(…)``, ``list(…)`` written out."""
    if not node.items:
        what = f"{node.kind}() has no elements, and so no type"
        raise env.error(node, what, "leave it out, or write exists(…), count(…) = 0")
    made = [element(_item(item, env), env) for item in node.items]
    bags = alike(env.run, made)
    if node.kind == "list":
        return numbered(bags, env)
    whole = union(element_type(bags[0]), *bags)
    return Many(countwise("distinct", whole), "set") if node.kind == "set" else Many(whole)


def _item(node: Query, env: OqlEnv) -> Value:
    value = env.value(node)
    if isinstance(value, Ordered):
        raise env.error(node, "a list inside a collection has no order here", "write bag(…)")
    return answer(value, node, env)


def of_interval(node: Interval, env: OqlEnv) -> Value:
    """``list(a..b)``, of ints written out."""
    ends = []
    for end in (node.low, node.high):
        value = env.value(end)
        found = getattr(value.term, "value", None) if isinstance(value, One) else None
        if type(found) is not int:
            raise env.error(end, "an end of list(a..b) is an int, written out", "list(1..9)")
        ends.append(found)
    low, high = ends
    if not 0 <= high - low < LONGEST:
        what = f"list({low}..{high}) has {max(0, high - low + 1)} elements"
        raise env.error(node, what, f"from 1 to {LONGEST} of them")
    return of_collect(
        Collect("list", tuple(Constant(i, node.at) for i in range(low, high + 1)), node.at), env
    )


def of_operator(node: Binary, env: OqlEnv) -> Value:
    """``union``, ``intersect``, ``except``: of two sets a set, else a bag."""
    left, right = collection(node.left, env), collection(node.right, env)
    one, two = alike(env.run, [left.expr, right.expr])
    form: Form = "set" if left.form == right.form == "set" else "list"
    if node.operator == "union":
        both = union(element_type(one), one, two)
        return Many(countwise("distinct", both), "set") if form == "set" else Many(both)
    return Many(countwise(_OPERATORS[node.operator], one, two), form)


def of_distinct(node: Invoke, env: OqlEnv) -> Value:
    """``distinct(c)``, ``listtoset(c)``."""
    return Many(countwise("distinct", collection(node.args[0], env).expr), "set")


def of_flatten(node: Invoke, env: OqlEnv) -> Value:
    """``flatten(c)``: a set where the collections in c are sets."""
    many = collection(node.args[0], env)
    inner = element_type(many.expr)
    if not isinstance(inner, Bag):
        what = f"flatten takes a collection of collections, not of {described(inner)}"
        raise env.error(node, what, "leave flatten out")
    flat = flatten(many.expr)
    return Many(countwise("distinct", flat), "set") if inner.is_set else Many(flat)


def of_aggregate(node: Invoke, env: OqlEnv) -> Value:
    """``count``, ``sum``, ``min``, ``max``, ``avg``; all but count leave out what is absent."""
    (query,) = node.args
    many = collection(query, env)
    if node.name == "count":
        return One(env.run.fold("count", many.expr))
    type_ = element_type(many.expr)
    if not isinstance(type_, Scalar) or identity(type_) is not None:
        what = f"{node.name} takes scalars, not {described(type_)}"
        raise env.error(query, what, f"{node.name}(select x.… from x in {env.written(query)})")
    if node.name in ("sum", "avg") and type_.name not in NUMERIC:
        raise env.error(
            query, f"{node.name} takes numbers, not {described(type_)}", "count(…), min(…), max(…)"
        )
    return One(env.run.fold(node.name, solid(env.run, many.expr)))


def of_unique(node: Invoke, env: OqlEnv) -> Value:
    """``unique(c)``: it has exactly one element."""
    return One(call("==", env.run.fold("count", collection(node.args[0], env).expr), const(1)))


def of_element(node: Invoke, env: OqlEnv) -> Value:
    """``element(c)``: its one element; the query has no value where there are none or several."""
    many = collection(node.args[0], env)
    is_one: Term = call("only", env.run.fold("count", many.expr))
    if env.run.open_where is None:
        env.run.holds(is_one)
        return of_term(env.run.generated("x", many.expr))
    # Where nobody looks there may be none, and the row stays.
    env.run.holds(call("if", env.run.open_where, is_one, const(True)))
    return Perhaps(many.expr)


def generated(name: str, expr: Expr, env: OqlEnv) -> Value:
    """A new variable for the elements of ``expr``."""
    found = of_term(env.run.generated(name, expr))
    type_ = element_type(expr)
    if isinstance(found, Many) and isinstance(type_, Bag) and type_.is_set:
        return Many(found.expr, "set", found.term)
    return found
