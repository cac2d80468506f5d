"""Which statements the driver may run: those of which it makes, to the last digit, what Spark makes of them.

An entry that Spark added must go when the driver takes it away. So functions of texts and of moments, divisions, and
products of decimals are Spark's, and so are keys that are floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from nestling.calculus.terms import Call, Const, Field, InL, Term, Tuple, Var
from nestling.calculus.traverse import walk
from nestling.calculus.types import INT, LabelType, Scalar, Type
from nestling.engine.spark.aggregates import ordered_type, read_cell
from nestling.engine.spark.columns import Layout
from nestling.engine.spark.terms import Sql, sql
from nestling.program.flat import first_of, is_ordered
from nestling.program.statements import (
    Assign,
    Both,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import uses

#: Sums that need no rounding, if their arguments are ints or their result has no more digits than they have.
ARITHMETIC = ("+", "-", "*", "neg", "abs")

_COMPARES = ("==", "!=", "=", "<", "<=", ">", ">=")
_CHOOSES = ("and", "or", "not", "if", "is_null", "coalesce", "nullable")

Types = Mapping[str, Layout]


def is_exact(statement: Statement, layouts: Types, target: Layout, params: Sequence[Var] = ()) -> bool:
    """Whether the driver may run ``statement`` over relations with these columns."""
    scope = {param.name: Sql(param.name, param.type) for param in params}
    for step in statement.steps:
        if not all(_is_plain(term, scope) for term in uses(step)):
            return False
        found = _bound(step, layouts, scope)
        if found is None:
            return False
        scope |= {name: Sql(name, type_) for name, type_ in found.items()}
    return all(map(is_key, target.keys)) and all(
        _is_plain(term, scope) for term in (*statement.keys, *statement.amounts)
    )


def is_key(type_: Type) -> bool:
    """Whether values of a type are the same for Python and for Spark: floats have two zeros, and no number."""
    return isinstance(type_, LabelType) or (isinstance(type_, Scalar) and type_.name != "float")


def arithmetic(term: Term) -> Iterator[Call]:
    """The parts of a term that may have more than 64 bits."""
    return (n for n in walk(term) if isinstance(n, Call) and n.function in ARITHMETIC)


def _bound(step: Step, layouts: Types, scope: Mapping[str, Sql]) -> dict[str, Type] | None:  # noqa: C901 - one arm per step
    """What ``step`` binds; ``None`` where it is not for the driver."""
    match step:
        case Find(source, args, known, counts):
            layout = layouts[source]
            if not all(is_key(layout.keys[i]) for i in known) or not all(map(_is_read, layout.keys)):
                return None
            free = [(arg, layout.keys[i]) for i, arg in enumerate(args) if i not in known]
            if any(isinstance(arg, Tuple) for arg, _ in free):
                return None
            return {arg.name: type_ for arg, type_ in free if isinstance(arg, Var)} | {
                count.name: type_ for count, type_ in zip(counts, layout.measures, strict=False)
            }
        case Measure(var, aggregate, source, args, measures, ()):
            layout = layouts[source]
            if not all(map(is_key, layout.keys)):
                return None
            if is_ordered(aggregate):
                return (
                    None if first_of(aggregate) is not None else {var.name: ordered_type(aggregate, layout)}
                )
            cell = [Sql("", layout.measures[i]) for i in measures]
            return {var.name: read_cell(aggregate, cell).type} if aggregate in ("count", "sum") else None
        case Check():
            return {}
        case Assign(var, term):
            return {var.name: sql(term, scope).type}
        case Combine(var):
            return {var.name: INT}
        case Both(var, sign, aggregate, new, _):
            if aggregate not in ("count", "sum", "min", "max", "count_distinct"):
                return None
            type_ = read_cell(aggregate, [sql(t, scope) for t in new]).type
            return {var.name: type_, sign.name: INT} if is_key(type_) else None
        case Measure() | Range() | Where() | Total() | Each():
            return None
        case _:
            assert_never(step)


def _is_read(type_: Type) -> bool:
    return isinstance(type_, LabelType | Scalar)


def _is_plain(term: Term, scope: Mapping[str, Sql]) -> bool:
    """Whether a term is made of what both sides compute alike."""
    match term:
        case Var(name):
            return _is_read(scope[name].type)
        case Const(_, type_):
            return isinstance(type_, Scalar)
        case InL(_, args):
            return all(_is_plain(arg, scope) and is_key(sql(arg, scope).type) for arg in args)
        case Call(name, args):
            return all(_is_plain(arg, scope) for arg in args) and _is_alike(name, args, scope)
        case Tuple() | Field():
            return False
        case _:
            assert_never(term)


def _is_alike(name: str, args: Sequence[Term], scope: Mapping[str, Sql]) -> bool:
    types = [sql(arg, scope).type for arg in args]
    kinds = {type_.name for type_ in types if isinstance(type_, Scalar)}
    if name in _COMPARES:
        # Of an int and a float Spark compares floats, Python numbers; those that are written are small.
        return len(kinds) == 1 or not kinds & {"float", "decimal"} or any(isinstance(a, Const) for a in args)
    if name in _CHOOSES:
        return len(kinds - {"bool"}) <= 1
    if name not in ARITHMETIC:
        return False
    # Of decimals a product has the digits of both.
    exact = name != "*" or sum(type_ == Scalar("decimal") for type_ in map(_not_null, types)) < 2
    return kinds <= {"int", "float"} or (kinds <= {"int", "decimal"} and exact)


def _not_null(type_: Type) -> Type:
    return Scalar(type_.name) if isinstance(type_, Scalar) else type_
