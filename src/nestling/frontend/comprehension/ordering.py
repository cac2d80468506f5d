"""``sorted(…)[:k]``: the place where order enters a query.

A bag has no order, so ``sorted`` alone says nothing; only its first ``k`` elements do. Python leaves elements of equal
keys as they stand, which says nothing of a bag either: among them, lesser elements come first.
"""

from __future__ import annotations

import ast

from nestling.calculus.build import first, for_
from nestling.calculus.terms import Const, Expr, Field, Sing, Var
from nestling.calculus.types import Type, bag_levels
from nestling.calculus.typing import element_type
from nestling.frontend.comprehension.context import PythonEnv
from nestling.frontend.comprehension.convert import bag, stored
from nestling.frontend.comprehension.values import Object
from nestling.frontend.values import Many, One, Row, Value, of_term, singleton, type_of

#: What an element is called while its key is computed: no name that can be written.
ROW = "·row"


def is_sorted(node: ast.expr, env: PythonEnv) -> bool:
    """Whether ``node`` calls the builtin ``sorted``."""
    match node:
        case ast.Call(ast.Name() as function):
            return env.value(function) == Object(sorted)
    return False


def first_of_sorted(node: ast.Subscript, env: PythonEnv) -> Value:
    """``sorted(bag, key=…, reverse=…)[:k]``."""
    limit = _limit(node, env)
    call = node.value
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        raise env.error(node, "sorted takes one bag", "write sorted(bag, key=…, reverse=…)[:k]")
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    for name, value in options.items():
        if name not in ("key", "reverse"):
            raise env.error(value, f"sorted takes no {name}", "write sorted(bag, key=…, reverse=…)[:k]")
    source = bag(call.args[0], env).expr
    greatest = _flag(options["reverse"], env) if "reverse" in options else False
    if "key" not in options:
        _ordered(element_type(source), call.args[0], env)
        return Many(first(limit, source, greatest))
    taken = first(limit, _keyed(source, options["key"], env), greatest)
    row = Var(env.run.names.fresh("row"), element_type(taken))
    return Many(for_(row, taken, Sing(Field(row, "row"))))


def _keyed(source: Expr, key: ast.expr, env: PythonEnv) -> Expr:
    """``⟨key, row⟩`` for every row of ``source``."""
    var = Var(env.run.names.fresh("x"), element_type(source))
    call = ast.copy_location(ast.Call(key, [ast.copy_location(ast.Name(ROW, ast.Load()), key)], []), key)

    def body() -> Expr:
        inner = env.binding({ROW: of_term(var)})
        value = stored(inner.value(call), key, inner)
        _ordered(type_of(value), key, env)
        return singleton(Row((("key", value), ("row", of_term(var)))), env.run.site)

    return env.run.enclosed(lambda: for_(var, source, env.run.enclosed(body)))


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


def of_sorted(node: ast.Call, env: PythonEnv) -> Value:
    """``sorted(bag)`` without a bound."""
    raise env.error(
        node, "a bag has no order: sorted(…) says nothing", "drop it, or take the first k: sorted(…)[:k]"
    )
