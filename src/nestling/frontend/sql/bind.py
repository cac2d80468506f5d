"""Parameters: the marks ``?`` and ``:name`` of a script stand for values.

A value takes the place of its mark in the tree and never in the text: whatever it holds, the statement has the same
structure. An int or a text is there as if it were written out; anything else is a constant of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from sqlglot import exp

from nestling.calculus.terms import Const
from nestling.calculus.types import Scalar
from nestling.errors import QueryError
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.scalars import written_decimal
from nestling.frontend.sql.text import Text
from nestling.frontend.values import One, Value

Params = Sequence[Any] | Mapping[str, Any]
#: Where a number is a place, the first column or the second, and where a word is a name.
_NO_VALUES = (exp.Ordered, exp.Group, exp.Table, exp.TableAlias)
_TYPES = {
    float: "float",
    bytes: "bytes",
    date: "date",
    datetime: "datetime",
    time: "time",
    timedelta: "timedelta",
}


class BoundValue(exp.Expression):  # type: ignore[misc]  # sqlglot has no types here
    """A constant that was given beside the text."""

    arg_types: ClassVar = {"this": True}


def of_bound(node: Any, env: SqlEnv) -> Value:
    """What was given for a mark."""
    value = node.this
    if isinstance(value, Decimal):
        return One(written_decimal(value))
    return One(Const(value, Scalar(_TYPES[type(value)])))


def bind(trees: Sequence[Any], params: Params, source: Text) -> list[Any]:
    """The trees with values in the place of their marks; each value is used, and each mark has one."""
    marks = [mark for tree in trees for mark in tree.find_all(exp.Placeholder)]
    marks.sort(key=lambda mark: mark.meta["start"])
    named = isinstance(params, Mapping)
    for mark in marks:
        if isinstance(mark.parent, _NO_VALUES) or mark.arg_key == "alias":
            raise _refused(mark, source, "a parameter stands for a value", "write the name here")
        if bool(mark.this) != named:
            hint = 'db.sql("… = :name", {"name": 7})' if mark.this else 'db.sql("… = ?", [7])'
            raise _refused(mark, source, "no value is given for this parameter", hint)
    keys = [mark.this for mark in marks] if named else list(range(len(marks)))
    given = set(params) if isinstance(params, Mapping) else set(range(len(params)))
    for mark, key in zip(marks, keys, strict=True):
        if key not in given:
            count = (
                f"{len(given)} are given: {', '.join(map(str, sorted(given)))}"
                if named
                else f"{len(given)} are given"
            )
            raise _refused(mark, source, "no value is given for this parameter", count)
    if unused := given - set(keys):
        what = (
            f"the parameter {min(unused)!r} stands nowhere in the text"
            if named
            else (f"{len(given)} values are given for {len(marks)} parameters")
        )
        raise QueryError(what, hint="a parameter is written ? or :name")
    for mark, key in zip(marks, keys, strict=True):
        mark.replace(_node(params[key], mark))  # type: ignore[index]  # by name, or by place
    return list(trees)


def _node(value: Any, mark: Any) -> Any:
    match value:
        case None:
            found: Any = exp.Null()
        case bool():
            found = exp.Boolean(this=value)
        case int():
            found = exp.Literal.number(str(abs(value)))
            found = exp.Neg(this=found) if value < 0 else found
        case str():
            found = exp.Literal.string(value)
        case _:
            found = BoundValue(this=value)
    found.meta.update(mark.meta)
    return found


def _refused(mark: Any, source: Text, what: str, hint: str) -> QueryError:
    return QueryError(what, at=source.span(mark), hint=hint)
