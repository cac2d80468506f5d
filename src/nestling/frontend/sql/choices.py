"""CASE and IF: one of several values. A struct is chosen field by field, an array by its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.build import FALSE, TRUE, call, conjunction, union
from nestling.calculus.terms import Term
from nestling.calculus.types import Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.context import SqlEnv, where
from nestling.frontend.sql.convert import alike, condition, converted, is_nullable, scalar_of, scalar_type
from nestling.frontend.values import Many, Null, One, Row, Value, all_fields


def of_case(node: Any, env: SqlEnv) -> Value:
    """``CASE WHEN …`` and ``CASE x WHEN …``; without an ELSE it is null."""
    subject = env.value(node.this) if node.this is not None else None
    tests: list[Term] = []
    for branch in node.args["ifs"]:
        if subject is None:
            tests.append(condition(branch.this, env))
        else:
            tests.append(compared("=", subject, env.value(branch.this), branch, env))
    default = node.args.get("default")
    results = [env.value(branch.args["true"]) for branch in node.args["ifs"]]
    return chosen(tests, [*results, env.value(default) if default is not None else Null()], node, env)


def chosen(tests: Sequence[Term], results: Sequence[Value], node: Any, env: SqlEnv) -> Value:
    """The first of ``results`` whose test is true, or else the last."""
    if all(isinstance(result, Null) for result in results):
        return Null()
    values = alike(results, node, env)
    if any(isinstance(value, Many) or all_fields(value) is not None for value in values):
        return _chosen_inside(tests, values, node, env)
    terms = [scalar_of(value, node, env) for value in values]
    # The result is one type, and null in any branch makes it nullable in all.
    if any(map(is_nullable, terms)):
        type_ = Scalar(scalar_type(terms[0]).name, True)
        terms = [scalar_of(converted(One(term), type_, node, env), node, env) for term in terms]
    found = terms[-1]
    for test, term in reversed(list(zip(tests, terms[:-1], strict=True))):
        found = call("if", test, term, found)
    return One(found)


def _chosen_inside(tests: Sequence[Term], values: Sequence[Value], node: Any, env: SqlEnv) -> Value:
    """The same of structs, field by field, and of arrays: the elements of the one that is chosen."""
    fields = [all_fields(value) for value in values]
    if None not in fields:
        columns = zip(*(found or () for found in fields), strict=True)
        return Row(
            tuple(
                (column[0][0], chosen(tests, [value for _, value in column], node, env)) for column in columns
            )
        )
    parts, before = [], list[Term]()
    for test, value in zip([*tests, TRUE], values, strict=True):
        assert isinstance(value, Many)
        is_true = call("coalesce", test, FALSE) if is_nullable(test) else test
        parts.append(where(conjunction([*(call("not", each) for each in before), is_true]), value.expr))
        before.append(is_true)
    return Many(union(element_type(parts[0]), *parts))


def of_if(node: Any, env: SqlEnv) -> Value:
    """``IF(test, a, b)``."""
    other = node.args.get("false")
    results = [env.value(node.args["true"]), env.value(other) if other is not None else Null()]
    return chosen([condition(node.this, env)], results, node, env)
