"""Values as what the place where they stand asks for: a scalar, a truth, a collection, an element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nestling.calculus.build import call, const, countwise, for_
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.maps import is_map
from nestling.calculus.terms import Expr, Field, Sing, Term, Var
from nestling.calculus.types import BOOL, Bag, Record, Scalar, Type
from nestling.calculus.typing import element_type, term_type
from nestling.errors import QueryError
from nestling.frontend import paths
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.tree import Query
from nestling.frontend.paths import identity
from nestling.frontend.values import (
    Many,
    Null,
    One,
    Perhaps,
    Row,
    Some,
    Value,
    bag_of,
    fields_of,
    singleton,
    there,
    without_positions,
)

_WORDS = {
    "bool": "a boolean", "int": "an int", "float": "a float", "decimal": "a decimal", "str": "a string",
    "bytes": "bytes", "date": "a date", "datetime": "a timestamp", "time": "a time", "timedelta": "a span",
}  # fmt: skip


def type_of(value: Value) -> Type:
    """The type of a value, absent or not; ``QueryError`` where it has none."""
    match value:
        case One(term):
            return term_type(term)
        case Perhaps(expr):
            return element_type(expr)
        case Row(fields):
            return Record(tuple((name, type_of(field)) for name, field in fields))
        case Many(expr, form):
            return Bag(element_type(expr), is_set=form == "set")
        case Ordered(expr):
            found = element_type(expr)
            assert isinstance(found, Record)
            return Bag(dict(found.fields)["v"])
        case Some():
            return BOOL
    raise QueryError("nil has no type here", hint="compare with it, or write is_undefined(…)")


def described(type_: Type) -> str:
    """What values of ``type_`` are, in words."""
    of = identity(type_)
    if of is not None:
        return f"an object of {of.table}"
    match type_:
        case Scalar(name):
            return _WORDS[name]
        case Record():
            return "a struct"
        case Bag(_, _, is_set):
            return "a set" if is_set else "a bag"
    return "a value"


def shown(value: Value) -> str:
    """What ``value`` is, in words."""
    return "nil" if isinstance(value, Null) else described(type_of(value))


# -- scalars


def scalar(node: Query, env: OqlEnv) -> Term:
    """The scalar of ``node``, null where it is absent."""
    return scalar_of(env.value(node), node, env)


def scalar_of(value: Value, node: Query, env: OqlEnv) -> Term:
    match value:
        case One(term):
            type_ = term_type(term)
            of = identity(type_)
            if of is not None and of.is_row:
                return paths.key_of(env.run, term)
            if isinstance(type_, Scalar) or of is not None:
                return term
        case Perhaps():
            return scalar_of(_settled(value, node, env), node, env)
        case Some(expr, holds):
            found = env.run.fold("count", countwise("exists", expr))
            return call("!=" if holds else "==", found, const(0))
        case Null():
            raise env.error(node, "nil has no type here", "compare with it: … = nil, or is_undefined(…)")
    hint = (
        "take one of its attributes" if fields_of(value) is not None else "count it, or take its element(…)"
    )
    raise env.error(node, f"a scalar is expected here, not {shown(value)}", hint)


def _settled(value: Perhaps, node: Query, env: OqlEnv) -> One:
    found = paths.settled(env.run, value)
    if found is None:
        raise env.error(node, "a record that may be absent is no value", "take one of its attributes")
    return found


def scalar_type(term: Term) -> Scalar:
    type_ = term_type(term)
    if not isinstance(type_, Scalar):
        raise QueryError("the key of this object is a record", hint="compare it with =, or take a part of it")
    return type_


def boolean(node: Query, env: OqlEnv) -> Term:
    """The truth of ``node``."""
    return boolean_of(env.value(node), node, env)


def boolean_of(value: Value, node: Query, env: OqlEnv) -> Term:
    if isinstance(value, Many | Ordered | Row) or identity(type_of(value)) is not None:
        what = f"a condition is a boolean, not {shown(value)}"
        raise env.error(node, what, f"compare it, or write exists({env.written(node)})")
    term = scalar_of(value, node, env)
    if scalar_type(term).name != "bool":
        what = f"a condition is a boolean, not {described(term_type(term))}"
        raise env.error(node, what, f"compare it: {env.written(node)} = …")
    return term


def solid_truth(term: Term) -> Term:
    """``term``, false where it is absent."""
    return call("coalesce", term, const(False)) if scalar_type(term).nullable else term


def applied(function: str, terms: Sequence[Term], node: Query, env: OqlEnv, word: str = "") -> Term:
    """``function(terms)``, if it takes terms of such types."""
    types = [scalar_type(term) for term in terms]
    for type_ in types:
        if identity(type_) is not None:
            what = f"{word or function} does not take {described(type_)}"
            raise env.error(node, what, "take one of its attributes")
    if FUNCTIONS[function].result(types) is None:
        given = " and ".join(described(type_) for type_ in types)
        what = f"{word or function} does not take {given}"
        raise env.error(node, what, f"it takes {FUNCTIONS[function].takes}")
    return call(function, *terms)


# -- collections


def collection(node: Query, env: OqlEnv) -> Many:
    """The collection that ``node`` is, without its order; behind what is absent it is empty."""
    return collection_of(env.loose(node), node, env)


def collection_of(value: Value, node: Query, env: OqlEnv) -> Many:
    if there(value) is not None and (bag := bag_of(value)) is not None:
        value = bag
    match value:
        case Many() if is_map(type_of(value)):
            raise env.error(node, "a map is no collection here", "write the view in SQL: explode(…) AS k, v")
        case Many():
            return without_positions(value, env.run.names, env.run.site)
        case Ordered(expr):
            var = Var(env.run.names.fresh("x"), element_type(expr))
            return Many(for_(var, expr, singleton(_element(var), env.run.site)))
    raise env.error(node, f"a collection is expected here, not {shown(value)}", "a set, a bag or a list")


def _element(var: Var) -> Value:
    return One(Field(var, "v"))


# -- answers


def answer(value: Value, node: Query, env: OqlEnv) -> Value:
    """``value`` as it may stand in an answer: what may be absent is null, a list inside is refused."""
    match value:
        case Perhaps():
            return _settled(value, node, env)
        case Some():
            return One(scalar_of(value, node, env))
        case Row(fields):
            return replace(value, fields=tuple((name, _inner(field, node, env)) for name, field in fields))
        case Null():
            raise env.error(node, "nil alone has no type", "write an expression that may be nil")
    return value


def _inner(value: Value, node: Query, env: OqlEnv) -> Value:
    if isinstance(value, Ordered):
        what = "a list inside an element has no order here"
        raise env.error(node, what, "take its first elements: (select … order by …)[0:9], or drop order by")
    return answer(value, node, env)


def element(value: Value, env: OqlEnv) -> Expr:
    """The bag of the one element ``value``."""
    return singleton(value, env.run.site)


def each(expr: Expr, env: OqlEnv, make: Any) -> Expr:
    """``make`` of every element of ``expr``."""
    var = Var(env.run.names.fresh("x"), element_type(expr))
    return for_(var, expr, Sing(make(var)))
