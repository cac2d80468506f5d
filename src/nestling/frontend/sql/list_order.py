"""Arrays in order, put into another order or side by side; see ``positions``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, union
from nestling.calculus.lists import AT
from nestling.calculus.optional import optional
from nestling.calculus.terms import Expr, Field, Term, Var
from nestling.calculus.types import UNIT
from nestling.calculus.typing import element_type
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import converted, is_nullable, null_of, scalar_of, stored
from nestling.frontend.sql.positions import (
    Builder,
    each,
    element,
    entry,
    item,
    lambda_of,
    list_of,
    size_of,
    takes,
)
from nestling.frontend.values import Many, Row, Value, fields_of, there, type_of


def of_sorted(nulls_first: bool) -> Builder:
    """``sort_array(array, ascending)`` and ``array_sort(array)``: the place of an element is how many come before it.

    These are those that are equal in the first fields and less in the next, or in all and stand before it: a sum of
    counts, each with one bound.
    """

    def of(node: Any, env: SqlEnv) -> Value:
        takes(node, 1, 2 if nulls_first else 1, env)
        array, less = list_of(node, 0, env), "<"
        if len(node.expressions) == 2:
            if not isinstance(node.expressions[1], exp.Boolean):
                raise env.error(node.expressions[1], f"{node.name} takes true or false written out")
            less = "<" if node.expressions[1].this else ">"

        def numbered(var: Var) -> Expr:
            def in_front(other: Var, place: int) -> Expr:
                tests = _before_in_all(item(other), item(var), less, nulls_first, node, env)
                same = call("<", Field(other, AT), Field(var, AT))
                found = [*tests.less, *([*one, same] for one in tests.equal)]
                return _where_all(found[place], YES)

            probe = _before_in_all(item(var), item(var), less, nulls_first, node, env)
            parts = [
                each(array.expr, env, lambda other, place=place: in_front(other, place))  # type: ignore[misc]
                for place in range(len(probe.less) + len(probe.equal))
            ]
            return entry(env.run.fold("count", union(UNIT, *parts)), item(var), env)

        return Many(each(array.expr, env, numbered))

    return of


@dataclass(frozen=True)
class _Cases:
    """When a value comes before another, and when they are equal: the one case or the other, each of several tests."""

    less: list[list[Term]]
    equal: list[list[Term]]


def _before_in_all(one: Value, two: Value, less: str, nulls_first: bool, node: Any, env: SqlEnv) -> _Cases:
    ours, theirs = fields_of(one), fields_of(two)
    flags = there(one), there(two)
    if ours is not None and theirs is not None:
        found = _Cases([], [[]])
        for (_, a), (_, b) in zip(ours, theirs, strict=True):
            field = _before_in_all(a, b, less, True, node, env)
            found = _Cases(
                [*found.less, *([*same, *test] for same in found.equal for test in field.less)],
                [[*same, *test] for same in found.equal for test in field.equal],
            )
        if flags[0] is None or flags[1] is None:
            return found
        nulls = call("not", flags[0]), call("not", flags[1])
        full: list[Term] = [flags[0], flags[1]]
        found = _Cases([[*full, *test] for test in found.less], [[*full, *test] for test in found.equal])
    else:
        x, y = scalar_of(one, node, env), scalar_of(two, node, env)
        found = _Cases([[call(less, x, y)]], [[call("=" if is_nullable(x) else "==", x, y)]])
        if not is_nullable(x):
            return found
        nulls = call("is_null", x), call("is_null", y)
    first = nulls_first == (less == "<")
    apart: list[Term] = [nulls[0], call("not", nulls[1])] if first else [call("not", nulls[0]), nulls[1]]
    return _Cases([*found.less, apart], [*found.equal, list(nulls)])


def _where_all(tests: list[Term], body: Expr) -> Expr:
    for test in reversed(tests):
        body = where(test, body)
    return body


# -- several lists side by side


def of_zip_with(node: Any, env: SqlEnv) -> Value:
    """``zip_with(a, b, (x, y) -> …)``: the shorter is filled up with nulls."""
    takes(node, 3, 3, env)
    arrays = [list_of(node, 0, env), list_of(node, 1, env)]
    body = lambda_of(node, 2, env)
    if len(body.expressions) != 2:
        raise env.error(node, "zip_with takes a lambda of two elements", "write (x, y) -> …")
    names = [part.name for part in body.expressions]

    def made(values: list[Value]) -> Value:
        inner = replace(env, bound={**env.bound, **dict(zip(names, values, strict=True))}, match=None)
        return stored(inner.value(body.this), body.this, inner)

    return _zipped(arrays, made, node, env)


def of_arrays_zip(node: Any, env: SqlEnv) -> Value:
    """``arrays_zip(a, b, …)``: structs of their elements, called as the columns are, or by their places."""
    arrays = [list_of(node, i, env) for i in range(len(node.expressions))]
    names = [part.name if isinstance(part, exp.Column) else str(i) for i, part in enumerate(node.expressions)]
    return _zipped(arrays, lambda values: Row(tuple(zip(names, values, strict=True))), node, env)


def _zipped(arrays: list[Many], made: Callable[[list[Value]], Value], node: Any, env: SqlEnv) -> Many:
    """The elements at each position, those of an array that is longer than all before it beside nulls."""
    parts: list[Expr] = []
    types = [optional(type_of(item(env.run.var("x", array.expr)))) for array in arrays]
    for place, array in enumerate(arrays):

        def side_by_side(var: Var, place: int = place) -> Expr:
            at = Field(var, AT)
            values = [null_of(type_, node, env) for type_ in types[:place]]
            values.append(converted(item(var), types[place], node, env))
            values += [element(other, at, env) for other in arrays[place + 1 :]]
            found = entry(at, made(values), env)
            for other in arrays[:place]:
                found = where(call(">=", at, size_of(other.expr, env)), found)
            return found

        parts.append(each(array.expr, env, side_by_side))
    return Many(union(element_type(parts[0]), *parts))


ORDERED: dict[str, Builder] = {
    "sort_array": of_sorted(True), "array_sort": of_sorted(False), "zip_with": of_zip_with, "arrays_zip": of_arrays_zip,
}  # fmt: skip
