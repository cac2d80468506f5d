"""Python comprehensions to the calculus.

Law: for every database, ``evaluate(translate(f, catalog), db)`` is the bag of what ``f`` returns when it is
called with the rows of its tables as lists of named tuples, inner bags as lists. Three things differ, where
Python would raise: ordering comparisons with ``None`` are false, arithmetic and methods on ``None`` are
``None``, and ``min`` and ``max`` of nothing are ``None``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from nestling.calculus.terms import Expr
from nestling.calculus.traverse import number_sites
from nestling.calculus.types import Type
from nestling.calculus.typing import check
from nestling.depth import room
from nestling.errors import QueryError
from nestling.frontend.catalog import unknown
from nestling.frontend.comprehension.bags import of_comprehension, of_list, of_set_comprehension
from nestling.frontend.comprehension.calls import of_call
from nestling.frontend.comprehension.compare import of_compare
from nestling.frontend.comprehension.conditions import of_boolop
from nestling.frontend.comprehension.context import Construct, PythonEnv, PythonTranslation
from nestling.frontend.comprehension.convert import bag_of
from nestling.frontend.comprehension.dicts import of_dict_comprehension
from nestling.frontend.comprehension.inline import defaults_of, parameters, result
from nestling.frontend.comprehension.names import of_attribute, of_lambda, of_name, of_subscript, relation
from nestling.frontend.comprehension.orders import released
from nestling.frontend.comprehension.read import Body, PythonDefinition, read
from nestling.frontend.comprehension.records import of_dict, of_tuple
from nestling.frontend.comprehension.scalars import (
    of_binop,
    of_conditional,
    of_constant,
    of_fstring,
    of_unary,
)
from nestling.frontend.comprehension.values import Items, shown
from nestling.frontend.values import Many, Value
from nestling.frontend.view_query import Orders, ViewQuery

CONSTRUCTS: dict[type, Construct] = {
    ast.Attribute: of_attribute,
    ast.BinOp: of_binop,
    ast.BoolOp: of_boolop,
    ast.Call: of_call,
    ast.Compare: of_compare,
    ast.Constant: of_constant,
    ast.Dict: of_dict,
    ast.DictComp: of_dict_comprehension,
    ast.GeneratorExp: of_comprehension,
    ast.IfExp: of_conditional,
    ast.JoinedStr: of_fstring,
    ast.Lambda: of_lambda,
    ast.List: of_list,
    ast.ListComp: of_comprehension,
    ast.Name: of_name,
    ast.Set: of_list,
    ast.SetComp: of_set_comprehension,
    ast.Subscript: of_subscript,
    ast.Tuple: of_tuple,
    ast.UnaryOp: of_unary,
}


def translate(source: Callable[..., Any] | str, catalog: Mapping[str, Type]) -> Expr:
    """The bag that a view is: of a function whose parameters are tables or views by name, or of a text.

    >>> from nestling.calculus.show import show
    >>> from nestling.calculus.types import INT, STR, record
    >>> catalog = {"orders": record(customer=STR, qty=INT)}
    >>> print(show(translate("[(o.customer, o.qty * 2) for o in orders if o.qty > 1]", catalog)))
    for o in orders where o.qty > 1 union sng⟨customer: o.customer, _1: o.qty * 2⟩
    """
    return view_query(source, catalog).expr


def view_query(source: Callable[..., Any] | str, catalog: Mapping[str, Type]) -> ViewQuery:
    """What ``translate`` yields, and the orders that it ends with."""
    try:
        with room():
            found = _translated(read(source), catalog)
            check(found.expr)
    except RecursionError:
        raise QueryError(
            "the view is nested too deeply", hint="split it into views that read each other"
        ) from None
    return found


def _translated(definition: PythonDefinition, catalog: Mapping[str, Type]) -> ViewQuery:
    run = PythonTranslation(catalog, CONSTRUCTS)
    env = PythonEnv(run, definition.source)
    node = definition.node
    orders: Orders = ()

    def build() -> Expr:
        nonlocal orders
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            value = result(node, env.binding(_tables(definition, node, env)))
        else:
            value = env.binding({name: relation(run, name) for name in catalog}).value(node)
        found, orders = released(value)
        return _whole(found, _returned(node), env)

    return ViewQuery(number_sites(run.enclosed(build)), orders)


def _tables(found: PythonDefinition, node: ast.FunctionDef | ast.Lambda, env: PythonEnv) -> dict[str, Value]:
    """What the parameters of a view stand for: tables and views, or the constants of their defaults."""
    defaults, tables = defaults_of(found, node.args, env), dict[str, Value]()
    for name in parameters(node.args, env):
        if name in env.run.catalog:
            tables[name] = relation(env.run, name)
        elif name in defaults:
            tables[name] = defaults[name]
        else:
            raise unknown(name, env.run.catalog).located(env.source.span(_parameter(node, name)))
    return tables


def _parameter(node: ast.FunctionDef | ast.Lambda, name: str) -> ast.AST:
    return next((arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg) and arg.arg == name), node)


def _returned(node: Body) -> ast.expr:
    """The expression whose value the view is."""
    match node:
        case ast.Lambda(_, body):
            return body
        case ast.FunctionDef(body=statements):
            returns = [part.value for part in statements if isinstance(part, ast.Return) and part.value]
            return returns[0]
    return node


def _whole(value: Value, node: ast.expr, env: PythonEnv) -> Expr:
    """The bag that a view is."""
    match value:
        case Many(expr):
            return expr
        case Items():
            return bag_of(value, node, env).expr
    raise env.error(node, f"a view is a bag, not {shown(value)}", "return a list of it: […]")
