"""Elements of one type: what may stand in one collection, and on both sides of ``union``.

Numbers widen, what may be absent on one side may be on both, and an object meets a reference as a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from nestling.calculus.build import call, for_
from nestling.calculus.terms import Expr, Field, Sing, Term, Tuple, Var
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.calculus.typing import element_type, term_type
from nestling.errors import QueryError
from nestling.frontend import paths
from nestling.frontend.bindings import Bindings
from nestling.frontend.oql.convert import described
from nestling.frontend.paths import identity


def alike(run: Bindings, bags: Sequence[Expr]) -> list[Expr]:
    """``bags`` with elements of one type."""
    wanted = reduce(lambda one, two: joined(run, one, two), map(element_type, bags))
    return [_fitted(run, bag, wanted) for bag in bags]


def joined(run: Bindings, one: Type, two: Type) -> Type:
    """The type of which values of both are."""
    if identity(one) is not None or identity(two) is not None:
        return _joined_objects(run, one, two)
    match one, two:
        case Scalar(), Scalar():
            return _joined_scalars(one, two)
        case Record(ours), Record(theirs) if one.names == two.names:
            pairs = zip(ours, theirs, strict=True)
            return Record(tuple((name, joined(run, a, b)) for (name, a), (_, b) in pairs))
        case Record(), Record():
            what = f"structs of different fields: {', '.join(one.names)} and {', '.join(two.names)}"
            raise QueryError(what, hint="give them the same fields, in the same order")
        case Bag(a), Bag(b) if a == b:
            return replace(one, is_set=one.is_set and two.is_set)
    raise _differ(one, two)


def _differ(one: Type, two: Type) -> QueryError:
    what = f"elements of one type are expected, not {described(one)} and {described(two)}"
    return QueryError(what, hint="convert one of them, or make two collections")


def _joined_scalars(one: Scalar, two: Scalar) -> Scalar:
    null = one.nullable or two.nullable
    if one.name == two.name:
        return replace(one, nullable=null)
    if {one.name, two.name} == {"int", "float"}:
        return Scalar("float", null)
    raise _differ(one, two)


def _joined_objects(run: Bindings, one: Type, two: Type) -> Type:
    ours, theirs = identity(one), identity(two)
    if ours is None or theirs is None:
        raise QueryError(
            f"an object and a value: {described(one)} and {described(two)}",
            hint="take the key of the object: x.id",
        )
    table = paths.common_class(run.catalog, ours.table, theirs.table)
    if table is None:
        what = f"an object of {ours.table} is never one of {theirs.table}"
        raise QueryError(what, hint="take an attribute of both")
    if ours == theirs and ours.is_row:
        return one
    found = paths.reference_type(run, table)
    null = any(isinstance(side, Scalar) and side.nullable for side in (one, two))
    of = replace(identity(found), is_kept=ours.is_kept and theirs.is_kept)  # type: ignore[type-var] # it has one
    return replace(found, nullable=null, of=of) if isinstance(found, Scalar) else replace(found, of=of)  # type: ignore[arg-type]


def _fitted(run: Bindings, bag: Expr, wanted: Type) -> Expr:
    type_ = element_type(bag)
    if type_ == wanted and identity(type_) == identity(wanted):
        return bag
    var = Var(run.names.fresh("x"), type_)
    return paths.typed(run, for_(var, bag, Sing(fitted(run, var, wanted))), wanted)


def fitted(run: Bindings, term: Term, wanted: Type) -> Term:
    """``term`` as a value of ``wanted``, which holds it."""
    type_ = term_type(term)
    of = identity(type_)
    if of is not None and of.is_row and identity(wanted) != of:
        term = paths.key_of(run, term)
        type_ = term_type(term)
    match type_, wanted:
        case Scalar(), Scalar():
            if type_.name != wanted.name:
                term = call("to_float", term)
            return call("nullable", term) if wanted.nullable and not type_.nullable else term
        case Record(), Record() if type_ != wanted:
            return Tuple(tuple((n, fitted(run, Field(term, n), inner)) for n, inner in wanted.fields))
    return term
