"""Bags: comprehensions, lists and sets written out, and the operators on them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from nestling.calculus.build import countwise, for_, union, where
from nestling.calculus.terms import Expr, Term, Var
from nestling.calculus.typing import element_type
from nestling.frontend.comprehension.conditions import Rest, guarded
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import (
    added,
    bag,
    bag_of,
    distinct,
    elementwise,
    joined,
    stored,
)
from nestling.frontend.comprehension.nulls import narrowed, negated
from nestling.frontend.comprehension.orders import held
from nestling.frontend.comprehension.values import Items, Sorted, shown
from nestling.frontend.values import Data, Form, Many, Value, fields_of, of_term, singleton
from nestling.frontend.view_query import Orders

_SET_OPERATORS: dict[type, str] = {ast.BitAnd: "min", ast.Sub: "monus", ast.BitXor: "differ"}


def of_comprehension(node: ast.ListComp | ast.GeneratorExp, env: PythonEnv) -> Value:
    """``[e for x in … if …]``: loops, guards, and one element, in which lists may have an order."""
    orders: Orders = ()

    def finish(inner: PythonEnv) -> Expr:
        nonlocal orders
        value, orders = held(inner.value(node.elt))
        return singleton(_stored(value, node.elt, inner), env.run.site)

    expr = loops(node.generators, env, finish)
    form: Form = "list" if isinstance(node, ast.ListComp) else "generator"
    return Sorted(expr, orders, form) if orders else Many(expr, form)


def of_set_comprehension(node: ast.SetComp, env: PythonEnv) -> Many:
    """``{e for x in …}``: each element once."""
    expr = loops(node.generators, env, lambda inner: singleton(element(node.elt, inner), env.run.site))
    return Many(distinct(expr, node.elt, env), "set")


def element(node: ast.expr, env: PythonEnv) -> Data:
    """``node`` as an element of a bag; what tests have ruled out is not in its type."""
    return _stored(env.value(node), node, env)


def _stored(value: Value, node: ast.expr, env: PythonEnv) -> Data:
    return stored(narrowed(stored(value, node, env), env.known), node, env)


def loops(generators: Sequence[ast.comprehension], env: PythonEnv, finish: Rest) -> Expr:
    """``for … if …`` one inside the other, around what ``finish`` yields."""
    if not generators:
        return env.run.enclosed(lambda: finish(env))
    first, *others = generators
    return env.run.enclosed(lambda: _loop(first, env, lambda inner: loops(others, inner, finish)))


def _loop(generator: ast.comprehension, env: PythonEnv, rest: Rest) -> Expr:
    if generator.is_async:
        raise env.error(generator.target, "async for is not supported", "write for")
    source = bag(generator.iter, env).expr
    place = env.source.span(generator.target, generator.iter)
    var = Var(env.run.names.fresh(_name(generator.target)), element_type(source), place)
    inner = env.binding(targets(generator.target, of_term(var), env))
    return for_(var, source, _conditions(generator.ifs, inner, rest))


def _conditions(tests: Sequence[ast.expr], env: PythonEnv, rest: Rest) -> Expr:
    if not tests:
        return rest(env)
    first, *others = tests
    return guarded(first, env, lambda inner: _conditions(others, inner, rest))


def _name(target: ast.expr) -> str:
    """A name for the loop variable; ``_`` is what the calculus calls a variable nobody uses."""
    return target.id if isinstance(target, ast.Name) and target.id.strip("_") else "x"


def targets(target: ast.expr, value: Value, env: PythonEnv) -> Mapping[str, Value]:
    """The names that ``target`` binds to ``value`` or to its parts."""
    match target:
        case ast.Name(name):
            return {name: value}
        case ast.Tuple(parts) | ast.List(parts):
            return _unpacked(target, parts, value, env)
    raise env.error(target, "a name is bound here, or several: a, b", "name the element and use its fields")


def _unpacked(
    target: ast.expr, parts: Sequence[ast.expr], value: Value, env: PythonEnv
) -> Mapping[str, Value]:
    fields = fields_of(value)
    if fields is None:
        raise env.error(target, f"only a record is unpacked, not {shown(value)}", "bind one name")
    if len(fields) != len(parts) or any(isinstance(part, ast.Starred) for part in parts):
        names = ", ".join(name for name, _ in fields)
        raise env.error(target, f"{len(fields)} fields are unpacked here: {names}", "give each a name")
    found: dict[str, Value] = {}
    for part, (_, field) in zip(parts, fields, strict=True):
        found.update(targets(part, field, env))
    return found


def of_list(node: ast.List | ast.Set, env: PythonEnv) -> Value:
    """``[a, b, *c]`` or ``{a, b, *c}``."""
    plain = Items(tuple(env.value(part) for part in node.elts if not isinstance(part, ast.Starred)))
    result: Value = plain
    for part in node.elts:
        if isinstance(part, ast.Starred):
            result = added(result, bag(part.value, env), part, env)
    if isinstance(node, ast.List):
        return result
    return Items(result.values, "set") if isinstance(result, Items) else as_set(result, node, env)


def as_set(value: Value, node: ast.expr, env: PythonEnv) -> Many:
    """The set of the elements of ``value``."""
    found = bag_of(value, node, env)
    return found if found.form == "set" else Many(distinct(found.expr, node, env), "set")


def combined(node: ast.BinOp, left: Value, right: Value, env: PythonEnv) -> Value:
    """``a + b`` of lists; ``a | b``, ``a & b``, ``a - b`` and ``a ^ b`` of sets."""
    forms = {value.form if isinstance(value, Many | Items) else "" for value in (left, right)}
    if forms == {"list"} and isinstance(node.op, ast.Add):
        return added(left, right, node, env)
    if forms == {"set"} and isinstance(node.op, ast.BitOr):
        return Many(distinct(bag_of(added(left, right, node, env), node, env).expr, node, env), "set")
    if forms == {"set"} and type(node.op) in _SET_OPERATORS:
        one, two = bag_of(left, node, env).expr, bag_of(right, node, env).expr
        type_ = joined(element_type(one), element_type(two), node, env)
        operator = _SET_OPERATORS[type(node.op)]
        return Many(countwise(operator, elementwise(one, type_, env), elementwise(two, type_, env)), "set")
    raise _not_combined(node, left, right, env)


def _not_combined(node: ast.BinOp, left: Value, right: Value, env: PythonEnv) -> Exception:
    if isinstance(node.op, ast.Sub):
        hint = "keep what is not in the other: [x for x in a if x not in b], or subtract sets"
        return env.error(node, "lists are not subtracted", hint)
    what = f"this operator does not take {shown(left)} and {shown(right)}"
    return env.error(node, what, "+ joins two lists; |, &, - and ^ take two sets")


def chosen(test: Term, then: Value, otherwise: Value, node: ast.expr, env: PythonEnv) -> Value:
    """``then if test else otherwise`` of bags: two guarded bags added up."""
    parts = [(test, then), (negated(test), otherwise)]
    full = [(holds, part) for holds, part in parts if not (isinstance(part, Items) and not part.values)]
    found = [part if isinstance(part, Many) else bag_of(part, node, env) for _, part in full]
    if not found:
        return then
    if len({bag.form for bag in found}) > 1:
        what = f"the branches differ: a {found[0].form} and a {found[1].form}"
        raise env.error(node, what, "make both lists: list(…)")
    bags = [(holds, bag.expr) for (holds, _), bag in zip(full, found, strict=True)]
    type_ = element_type(bags[0][1])
    for _, expr in bags[1:]:
        type_ = joined(type_, element_type(expr), node, env)
    return Many(
        union(type_, *(where(holds, elementwise(expr, type_, env)) for holds, expr in bags)), found[0].form
    )
