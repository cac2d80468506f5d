"""Several arrays as one: one after another, or each element once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nestling.calculus.build import call, conjunction, const, countwise, for_, union
from nestling.calculus.lists import is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Const, Expr, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.comparing import compared, identical
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import alike, is_nullable, stored
from nestling.frontend.sql.positions import array_of, joined_lists, plain, takes, written_list
from nestling.frontend.values import Many, One, Row, Value, bag_of, of_term, singleton, there, type_of


def three_valued(true: Term, unknown: Term) -> Term:
    """True, or else null, or else false."""
    null = Scalar("bool", True)
    return call("if", true, Const(True, null), call("if", unknown, Const(None, null), Const(False, null)))


def added(values: Sequence[Value], node: Any, env: SqlEnv) -> Value:
    """``concat`` of arrays: of lists one after another, of bags all their elements; null where one is."""
    found = [bag_of(value) for value in values]
    arrays = [array for array in found if array is not None]
    if len(arrays) < len(values):
        raise env.error(node, "concat takes strings or arrays, not both", "make an array of it: array(…)")
    if any(is_map(type_of(array)) for array in arrays):
        raise env.error(node, "concat takes arrays, not maps", "explode them and group by key")
    flags = [flag for value in values if (flag := there(value)) is not None]
    alike_ = [value for value in alike(arrays, node, env) if isinstance(value, Many)]
    if is_list(type_of(alike_[0])):
        whole = joined_lists(alike_, env)
    else:
        whole = Many(union(element_type(alike_[0].expr), *(value.expr for value in alike_)))
    if not flags:
        return whole
    return Row(((THERE, One(conjunction(flags))), (ITEMS, Many(where(conjunction(flags), whole.expr)))))


def _sides(node: Any, env: SqlEnv) -> list[Expr]:
    """Two arrays of one type, without their order."""
    takes(node, 2, 2, env)
    arrays = [plain(array_of(node, place, env), env) for place in (0, 1)]
    return [value.expr for value in alike(arrays, node, env) if isinstance(value, Many)]


def _within(var: Var, other: Expr, node: Any, env: SqlEnv) -> Term:
    """Whether an element is in another array; a null is a null."""
    it = env.run.var("y", other)
    body = env.run.enclosed(lambda: where(identical(of_term(var), of_term(it), node, env), YES))
    return call("!=", env.run.fold("count", for_(it, other, body)), const(0))


def of_array_set(kind: str) -> Callable[[Any, SqlEnv], Value]:
    """``array_union``, ``array_intersect``, ``array_except``: each element once, in no order."""

    def of(node: Any, env: SqlEnv) -> Value:
        one, two = _sides(node, env)
        if kind == "union":
            return Many(countwise("distinct", union(element_type(one), one, two)))
        var = env.run.var("x", one)

        def kept() -> Expr:
            test = _within(var, two, node, env)
            test = test if kind == "intersect" else call("not", test)
            return where(test, singleton(of_term(var), env.run.site))

        return Many(countwise("distinct", for_(var, one, env.run.enclosed(kept))))

    return of


def of_arrays_overlap(node: Any, env: SqlEnv) -> Value:
    """``arrays_overlap(a, b)``: true, or null where a null may be shared, or false."""
    one, two = _sides(node, env)
    x, y = env.run.var("x", one), env.run.var("y", two)
    tests: list[Term] = []

    def pairs() -> Expr:
        tests.append(compared("=", of_term(x), of_term(y), node, env))
        return where(tests[0], YES)

    true = call("!=", env.run.fold("count", for_(x, one, for_(y, two, env.run.enclosed(pairs)))), const(0))
    if not is_nullable(tests[0]):
        return One(true)
    x, y = env.run.var("x", one), env.run.var("y", two)
    lost = for_(
        x, one, for_(y, two, where(call("is_null", compared("=", of_term(x), of_term(y), node, env)), YES))
    )
    return One(three_valued(true, call("!=", env.run.fold("count", lost), const(0))))


def of_array_repeat(node: Any, env: SqlEnv) -> Value:
    """``array_repeat(x, 3)``."""
    takes(node, 2, 2, env)
    value, number = stored(env.value(node.expressions[0]), node, env), env.value(node.expressions[1])
    times = number.term.value if isinstance(number, One) and isinstance(number.term, Const) else None
    if not isinstance(times, int) or not 0 < times <= 1000:
        raise env.error(node, "array_repeat takes a number from 1 to 1000 that is written out")
    return written_list([value] * times, env)


ARRAY_SETS: dict[str, Callable[[Any, SqlEnv], Value]] = {
    **{f"array_{kind}": of_array_set(kind) for kind in ("union", "intersect", "except")},
    "arrays_overlap": of_arrays_overlap,
    "array_repeat": of_array_repeat,
}
