"""The least and the greatest struct or array of a bag.

An array in order, and a struct of a group, is the one whose code (``codes``) is the least or the greatest, found as
``max_by`` finds a value: that is maintained. Of a whole table a struct is the first of them in order.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.build import call, countwise, first, for_
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Expr, Sing
from nestling.calculus.typing import element_type
from nestling.frontend.sql.codes import code, is_sorted
from nestling.frontend.sql.context import SqlEnv, where
from nestling.frontend.sql.picked import picked
from nestling.frontend.values import Many, One, Row, Value, of_term, singleton


def extreme(name: str, source: Expr, grouped: bool, node: Any, env: SqlEnv) -> Value:
    """``min`` or ``max`` of ``source``, null of nothing."""
    run, var = env.run, env.run.var("x", source)
    value = of_term(var)
    if not isinstance(value, Many) and not (grouped and is_sorted(element_type(source))):
        return picked(run.let("first", first(1, source, greatest=name == "max")), env)
    best = run.fold(name, codes_of(source, node, env))

    def chosen() -> Expr:
        found = value.expr if isinstance(value, Many) else Sing(var)
        return where(call("=", code(value, node, env), best), found)

    taken = for_(var, source, run.enclosed(chosen))
    if not isinstance(value, Many):
        return picked(taken, env)
    there = One(call("not", call("is_null", best)))
    return Row(((THERE, there), (ITEMS, Many(countwise("distinct", taken)))))


def codes_of(source: Expr, node: Any, env: SqlEnv) -> Expr:
    """The codes of the values of ``source``."""
    run, var = env.run, env.run.var("x", source)
    return for_(var, source, run.enclosed(lambda: singleton(One(code(of_term(var), node, env)), run.site)))
