"""``sorted(…)[:k]``: the place where order enters a query.

A bag has no order, so ``sorted`` alone says nothing; only its first ``k`` elements do. The calculus has no
node for them yet.
"""

from __future__ import annotations

import ast

from nestling.frontend.comprehension.context import Env
from nestling.frontend.comprehension.values import Object, Value


def is_sorted(node: ast.expr, env: Env) -> bool:
    """Whether ``node`` calls the builtin ``sorted``."""
    match node:
        case ast.Call(ast.Name() as function):
            return env.value(function) == Object(sorted)
    return False


def first_of_sorted(node: ast.Subscript, env: Env) -> Value:
    """``sorted(bag, key=…, reverse=…)[:k]``."""
    raise env.error(
        node, "sorted(...)[:k] is not supported yet", "keep the whole bag, or take min(…) or max(…)"
    )


def of_sorted(node: ast.Call, env: Env) -> Value:
    """``sorted(bag)`` without a bound."""
    raise env.error(
        node, "a bag has no order: sorted(…) says nothing", "drop it, or take the first k: sorted(…)[:k]"
    )
