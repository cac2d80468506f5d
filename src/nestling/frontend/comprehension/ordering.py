"""``sorted(…)`` and ``sorted(…)[:k]``: the places where order enters a query.

A bag has no order: ``sorted`` says in which a view, or a list inside its rows, is read; and which are its first ``k``
elements. Python leaves elements of equal keys as they stand, which says nothing of a bag: among them, lesser elements
come first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nestling.calculus.build import first, for_
from nestling.calculus.terms import Call, Const, Expr, Field, Sing, Term, Var
from nestling.calculus.types import Record, Type, bag_levels
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import bag_of, stored
from nestling.frontend.comprehension.orders import released
from nestling.frontend.comprehension.values import Object, Ranked, Sorted
from nestling.frontend.values import Data, Null, One, Row, Value, of_term, singleton, type_of
from nestling.frontend.view_query import Order, OrderKey, Orders, by_all, sort_key

#: What an element is called while its key is computed: no name that can be written.
ROW = "·row"


def is_sorted(node: ast.expr, env: PythonEnv) -> bool:
    """Whether ``node`` calls the builtin ``sorted``."""
    match node:
        case ast.Call(ast.Name() as function):
            return env.value(function) == Object(sorted)
    return False


def of_sorted(node: ast.Call, env: PythonEnv) -> Value:
    """``sorted(bag, key=…, reverse=…)``, the order in which it is read."""
    source, inner, options = _read(node, env)
    greatest = _flag(options["reverse"], env) if "reverse" in options else False
    if "key" not in options:
        _ordered(element_type(source), node.args[0], env)
        return Sorted(source, _with_inner(by_all(element_type(source), greatest), inner))
    _, order = _keyed(source, options["key"], greatest, env)
    if order is None:
        what = "a list is read in the order of what its elements hold, and this key is computed"
        hint = "put it into the elements, and sort by that: sorted([(…, key) …], key=lambda x: x[-1])"
        raise env.error(options["key"], what, hint)
    return Sorted(source, _with_inner(order, inner))


def first_of_sorted(node: ast.Subscript, env: PythonEnv) -> Value:
    """``sorted(bag, key=…, reverse=…)[:k]``."""
    limit = _limit(node, env)
    assert isinstance(node.value, ast.Call)
    source, inner, options = _read(node.value, env)
    greatest = _flag(options["reverse"], env) if "reverse" in options else False
    if "key" not in options:
        _ordered(element_type(source), node.value.args[0], env)
        orders = _with_inner(by_all(element_type(source), greatest), inner)
        return Ranked(first(limit, source, greatest), orders=orders)
    keyed, order = _keyed(source, options["key"], greatest, env)
    taken = first(limit, keyed, greatest)
    row = Var(env.run.names.fresh("row"), element_type(taken))
    expr = for_(row, taken, Sing(Field(row, "row")))
    return Ranked(expr, orders=_with_inner(order or (), inner))


def _with_inner(order: Order, inner: Orders) -> Orders:
    return (((), order), *inner) if order else inner


def _read(node: ast.Call, env: PythonEnv) -> tuple[Expr, Orders, dict[str, ast.expr]]:
    """The bag of ``sorted(bag, …)``, the orders of the lists inside its elements, and the options."""
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        raise env.error(node, "sorted takes one bag", "write sorted(bag, key=…, reverse=…)")
    options = {keyword.arg or "**": keyword.value for keyword in node.keywords}
    for name, value in options.items():
        if name not in ("key", "reverse"):
            raise env.error(value, f"sorted takes no {name}", "write sorted(bag, key=…, reverse=…)")
    if isinstance(options.get("key"), ast.Constant) and env.value(options["key"]) == Null():
        del options["key"]
    found, orders = released(env.value(node.args[0]))
    return bag_of(found, node.args[0], env).expr, tuple(each for each in orders if each[0]), options


def _keyed(source: Expr, key: ast.expr, greatest: bool, env: PythonEnv) -> tuple[Expr, Order | None]:
    """``⟨key, row⟩`` for every row of ``source``; and the order that this is, if rows hold what it is by."""
    var = Var(env.run.names.fresh("x"), element_type(source))
    call = ast.copy_location(ast.Call(key, [ast.copy_location(ast.Name(ROW, ast.Load()), key)], []), key)
    order: Order | None = None

    def body() -> Expr:
        nonlocal order
        inner = env.binding({ROW: of_term(var)})
        value = stored(inner.value(call), key, inner)
        _ordered(type_of(value), key, env)
        order = _order(value, var, greatest)
        return singleton(Row((("key", value), ("row", of_term(var)))), env.run.site)

    return env.run.enclosed(lambda: for_(var, source, env.run.enclosed(body))), order


def _order(value: Data, row: Var, greatest: bool) -> Order | None:
    """The order by ``value``, from left to right; None where a part of it does not stand in ``row``."""
    found: list[OrderKey] = []
    for term in _scalars(value):
        key = _sort_key(term, row)
        if key is None and not isinstance(term, Const):
            return None
        if key is not None:
            found.append(OrderKey(key.path, not key.descends, not key.nulls_first) if greatest else key)
    return tuple(found)


def _scalars(value: Value) -> Iterator[Term]:
    match value:
        case Row(fields):
            for _, field in fields:
                yield from _scalars(field)
        case One(term):
            type_ = term_type(term)
            if isinstance(type_, Record):
                for name in type_.names:
                    yield from _scalars(One(Field(term, name)))
            else:
                yield term


def _sort_key(term: Term, row: Var) -> OrderKey | None:
    if isinstance(term, Call) and term.function == "neg":  # of a null, a null: it stays where it is
        key = _sort_key(term.args[0], row)
        return None if key is None else OrderKey(key.path, not key.descends, key.nulls_first)
    path: list[str] = []
    while isinstance(term, Field):
        path.insert(0, term.name)
        term = term.record
    return sort_key(tuple(path)) if term == row else None


def _ordered(type_: Type, node: ast.expr, env: PythonEnv) -> None:
    """Refuse what Python would compare by the order of its lists."""
    if any(True for _ in bag_levels(type_)):
        raise env.error(node, "a bag has no order to sort by", "sort by scalars: key=lambda x: x.name")


def _limit(node: ast.Subscript, env: PythonEnv) -> int:
    match node.slice:
        case ast.Slice(None | ast.Constant(0), ast.expr() as upper, None):
            match env.value(upper):
                case One(Const(int(limit))) if limit >= 0 and not isinstance(limit, bool):
                    return limit
            raise env.error(upper, "the number of elements is a constant", "write sorted(…)[:10]")
    hint = "take min(…) or max(…) for one element, sorted(…)[:k] for the first k, reverse=True for the last"
    raise env.error(node, "only the first elements of a sorted bag can be taken", hint)


def _flag(node: ast.expr, env: PythonEnv) -> bool:
    match env.value(node):
        case One(Const(bool(value))):
            return value
    raise env.error(node, "reverse is a constant", "write reverse=True")
