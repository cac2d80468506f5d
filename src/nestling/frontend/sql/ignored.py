"""IGNORE NULLS: which window functions say it, and the rows that they then look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, for_
from nestling.calculus.terms import Expr, Var
from nestling.frontend.sql.context import SqlEnv, where
from nestling.frontend.sql.convert import is_nullable, scalar
from nestling.frontend.values import of_term, singleton

NAMES = ("lag", "lead", "first_value", "first", "last_value", "last", "nth_value")


def ignores_nulls(node: Any) -> bool:
    """Whether a window function says IGNORE NULLS, or ``last(x, true)``, which is the same."""
    if isinstance(node.this, exp.IgnoreNulls):
        return True
    return _flag(node.this) is True


def _flag(function: Any) -> bool | None:
    """The truth that ``first(x, true)`` ends with, if there is one."""
    if not isinstance(function, exp.Anonymous) or function.name.lower() not in NAMES[2:6]:
        return None
    args = function.expressions
    return bool(args[1].this) if len(args) == 2 and isinstance(args[1], exp.Boolean) else None


def without_flag(function: Any) -> Any:
    """``first(x)`` for ``first(x, true)`` and ``first(x, false)``."""
    if _flag(function) is None:
        return function
    found = function.copy()
    found.set("expressions", found.expressions[:1])
    return found


def present_rows(node: Any, bag: Expr, place: Callable[[Var], SqlEnv], env: SqlEnv) -> Expr:
    """Those of ``bag`` whose value is there."""
    call_ = node.this.this if isinstance(node.this, exp.IgnoreNulls) else node.this
    if not isinstance(call_, exp.Anonymous) or call_.name.lower() not in NAMES or not call_.expressions:
        raise env.error(
            node, "IGNORE NULLS is not supported here", f"of {', '.join(NAMES)}; others pass nulls over"
        )
    var = env.run.var("p", bag)

    def kept() -> Expr:
        value = scalar(call_.expressions[0], place(var))
        row = singleton(of_term(var), env.run.site)
        return where(call("not", call("is_null", value)), row) if is_nullable(value) else row

    return for_(var, bag, env.run.enclosed(kept))
