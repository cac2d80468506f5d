"""Which statements the driver may run: those of which it makes, to the last digit, what Spark makes of them.

An entry that Spark added must go when the driver takes it away. So functions that make texts and moments, divisions,
and products of decimals are Spark's, and so are keys that are floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from nestling.calculus.build import leaves
from nestling.calculus.terms import Call, Const, Field, InL, Term, Tuple, Var
from nestling.calculus.traverse import walk
from nestling.calculus.types import INT, Bag, LabelType, Record, Scalar, Type
from nestling.engine.spark.aggregates import ordered_type, read_cell
from nestling.engine.spark.columns import Layout, joined_type
from nestling.engine.spark.terms import Sql, sql
from nestling.program.flat import Bound, first_of, is_ordered
from nestling.program.statements import (
    Assign,
    Check,
    Combine,
    Each,
    Find,
    Measure,
    NewAndOld,
    Range,
    Statement,
    Step,
    Total,
    Where,
)
from nestling.program.steps import uses

#: Sums that need no rounding, if their arguments are ints or their result has no more digits than they have.
ARITHMETIC = ("+", "-", "*", "neg", "abs")

#: Aggregates that are read off sums without rounding.
SUMS = ("count", "sum")

_COMPARES = ("==", "!=", "=", "<", "<=", ">", ">=")
#: What texts contain, sign by sign, and which numbers they spell: both sides round these once, to the nearest.
_READS = (
    "contains", "starts_with", "ends_with", "read_int", "no_read_int", "some_read_int", "read_float", "no_read_float",
    "some_read_float",
)  # fmt: skip
_CHOOSES = ("and", "or", "not", "if", "is_null", "coalesce", "nullable")

Types = Mapping[str, Layout]


def is_exact(statement: Statement, layouts: Types, target: Layout, params: Sequence[Var] = ()) -> bool:
    """Whether the driver may run ``statement`` over relations with these columns."""
    scope = {param.name: Sql(param.name, param.type) for param in params}
    amounts = _amounts(statement, layouts, scope)
    return amounts is not None and all(map(is_value, target.keys))


def _amounts(statement: Statement, layouts: Types, scope: Mapping[str, Sql]) -> list[Type] | None:
    """The types of what ``statement`` adds; ``None`` where it is not for the driver."""
    scope = dict(scope)
    for step in statement.steps:
        # What is added up inside a step is looked at as a statement of its own, an aggregate has a bag for its value.
        terms = () if isinstance(step, Total | Each | NewAndOld) else uses(step)
        if not all(_is_plain(term, scope) for term in terms):
            return None
        found = _bound(step, layouts, scope)
        if found is None:
            return None
        scope |= {name: Sql(name, type_) for name, type_ in found.items()}
    parts = (part for key in statement.keys for part in (leaves(key) if isinstance(key, Tuple) else (key,)))
    if not all(_is_plain(term, scope) for term in (*parts, *statement.amounts)):
        return None
    return [sql(term, scope).type for term in statement.amounts]


def is_key(type_: Type) -> bool:
    """Whether values of a type are the same for Python and for Spark: floats have two zeros, and no number."""
    return isinstance(type_, LabelType) or (isinstance(type_, Scalar) and type_.name != "float")


def is_value(type_: Type) -> bool:
    """The same of what is not looked up: a record of such values is one."""
    return all(map(is_value, type_.types)) if isinstance(type_, Record) else is_key(type_)


def is_kept_in_order(layout: Layout) -> bool:
    """Whether groups are looked up alike, and their values put in order."""
    return all(map(is_key, layout.keys[:-1])) and is_value(layout.keys[-1])


def _is_summed(layout: Layout) -> bool:
    """Whether the measures of a group are summed alike, in whatever order."""
    return all(map(is_key, layout.keys)) and not any(map(_is_float, layout.measures))


def _is_float(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.name == "float"


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
        case Measure(var, aggregate, source, _, measures, bounds):
            layout = layouts[source]
            if is_ordered(aggregate):
                return {var.name: ordered_type(aggregate, layout)} if is_kept_in_order(layout) else None
            if aggregate not in SUMS or not (
                _is_bounding(layout, bounds, scope) if bounds else _is_cell(layout)
            ):
                return None
            return {var.name: read_cell(aggregate, [Sql("", layout.measures[i]) for i in measures]).type}
        case Range(source, _, bounds, counts):
            layout = layouts[source]
            found = {count.name: type_ for count, type_ in zip(counts, layout.measures, strict=True)}
            return found if _is_bounding(layout, bounds, scope) else None
        case Where():
            return _where(step, layouts, scope)
        case Total(var, aggregate, statements):
            return _total(var, aggregate, [_amounts(s, layouts, scope) for s in statements])
        case Each(bag, pattern, count):
            parts = _elements(pattern, _bag_of(bag, scope))
            return None if parts is None else parts | {count.name: INT}
        case Check():
            return {}
        case Assign(var, term):
            return {var.name: sql(term, scope).type}
        case Combine(var):
            return {var.name: INT}
        case NewAndOld(var, sign, aggregate, new, old):
            return _both(var, sign, aggregate, (*new, *old), scope)
        case _:
            assert_never(step)


def _is_cell(layout: Layout) -> bool:
    return all(map(is_key, layout.keys))


def _is_bounding(layout: Layout, bounds: Sequence[Bound], scope: Mapping[str, Sql]) -> bool:
    """Whether what lies within ``bounds`` is found and summed alike."""
    last = Var("·last", layout.keys[-1])
    inner = {**scope, last.name: Sql("", last.type)}
    compared = all(_is_alike(bound.operator, (last, bound.term), inner) for bound in bounds)
    return _is_summed(layout) and compared


def _where(step: Where, layouts: Types, scope: Mapping[str, Sql]) -> dict[str, Type] | None:
    outer, measure = layouts[step.source], step.measure
    last = {step.key.name: Sql("", outer.keys[-1])}
    found = _bound(measure, layouts, {**scope, **last})
    if found is None or not _is_summed(outer) or _may_be_null(outer.keys[-1]):
        return None
    if not _is_plain(step.test, {**scope, **{name: Sql("", type_) for name, type_ in found.items()}}):
        return None
    return {count.name: type_ for count, type_ in zip(step.counts, outer.measures, strict=True)}


def _may_be_null(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.nullable


def _total(var: Var, aggregate: str, amounts: Sequence[list[Type] | None]) -> dict[str, Type] | None:
    """The type of what statements add up to, where all are for the driver and none adds floats."""
    known = [types for types in amounts if types is not None]
    if (
        len(known) < len(amounts)
        or aggregate not in SUMS
        or any(_is_float(t) for types in known for t in types)
    ):
        return None
    cell = [Sql("", joined_type(list(column))) for column in zip(*known, strict=True)] or [Sql("", INT)]
    return {var.name: read_cell(aggregate, cell).type}


def _both(
    var: Var, sign: Var, aggregate: str, cells: Sequence[Term], scope: Mapping[str, Sql]
) -> dict[str, Type] | None:
    if first_of(aggregate) is not None:
        bag = _bag_of(cells[0], scope)
        return {var.name: bag, sign.name: INT} if bag is not None else None
    if aggregate not in (*SUMS, "min", "max", "count_distinct") or not all(
        _is_plain(t, scope) for t in cells
    ):
        return None
    type_ = read_cell(aggregate, [sql(t, scope) for t in cells[: len(cells) // 2]]).type
    return {var.name: type_, sign.name: INT} if is_key(type_) else None


def _bag_of(term: Term, scope: Mapping[str, Sql]) -> Bag | None:
    """The type of a bag that an aggregate has taken."""
    type_ = scope[term.name].type if isinstance(term, Var) else None
    return type_ if isinstance(type_, Bag) and is_value(type_.element) else None


def _elements(pattern: Term, bag: Bag | None) -> dict[str, Type] | None:
    """What ``pattern`` binds of the elements of ``bag``."""
    match pattern, None if bag is None else bag.element:
        case Var(name), Scalar() | LabelType() as type_:
            return {name: type_}
        case Tuple(fields), Record() as record:
            parts = [
                _elements(item, Bag(type_, True))
                for (_, item), type_ in zip(fields, record.types, strict=True)
            ]
            known = [part for part in parts if part is not None]
            return {n: t for part in known for n, t in part.items()} if len(known) == len(parts) else None
    return None


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
        return name in _READS
    # Of decimals a product has the digits of both.
    exact = name != "*" or sum(type_ == Scalar("decimal") for type_ in map(_not_null, types)) < 2
    return kinds <= {"int", "float"} or (kinds <= {"int", "decimal"} and exact)


def _not_null(type_: Type) -> Type:
    return Scalar(type_.name) if isinstance(type_, Scalar) else type_
