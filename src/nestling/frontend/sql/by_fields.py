"""The least or the greatest struct: the least or greatest first field, then the next of those that have it.

A null comes before all else. Every field is the aggregate of a group by the fields before it, which is maintained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nestling.calculus.build import TRUE, call, conjunction, const, for_
from nestling.calculus.optional import THERE
from nestling.calculus.terms import Const, Expr, Field, Term, Var
from nestling.calculus.types import Record, Scalar, leaf_types, nullable
from nestling.calculus.typing import element_type
from nestling.frontend.sql.context import YES, where
from nestling.frontend.sql.convert import scalar_type, without_null
from nestling.frontend.values import One, Row, of_term, singleton


def extreme_by_fields(name: str, source: Expr, run: Any) -> Row:
    """The ``name``, ``min`` or ``max``, of the structs of ``source``; null where it has none."""
    type_ = element_type(source)
    assert isinstance(type_, Record)
    found: list[tuple[str, Term]] = []
    for field, of in type_.fields:
        may_be_null = any(isinstance(leaf, Scalar) and leaf.nullable for _, leaf in leaf_types(of))
        found.append((field, _extreme(name, field, may_be_null, found, source, run)))
    number = run.fold("count", for_(run.var("x", source), source, YES))
    some = One(call("!=", number, const(0)))
    return Row(((THERE, some), *((field, One(value)) for field, value in found)))


def _extreme(
    name: str, field: str, may_be_null: bool, found: list[tuple[str, Term]], source: Expr, run: Any
) -> Term:
    def those(test: Callable[[Var], Term], body: Callable[[Var], Expr]) -> Expr:
        row = run.var("x", source)
        alike = [call("==", Field(row, other), value) for other, value in found]
        tests = [part for part in (*alike, test(row)) if part is not TRUE]
        return for_(row, source, where(conjunction(tests), body(row)) if tests else body(row))

    def absent(row: Var) -> Term:
        return call("is_null", Field(row, field))

    def present(row: Var) -> Term:
        return call("not", absent(row)) if may_be_null else TRUE

    def value(row: Var) -> Expr:
        return singleton(without_null(of_term(Field(row, field))), run.site)

    best: Term = run.fold(name, those(present, value))
    if not may_be_null or name == "max":
        return best
    none = run.fold("count", those(absent, lambda _: YES))
    return call("if", call("==", none, const(0)), best, Const(None, nullable(scalar_type(best))))
