"""Comparisons: of scalars, of objects by their keys, of structs by fields, of collections by counting (``same``)."""

from __future__ import annotations

from nestling.calculus.build import call, conjunction, const, equal_terms
from nestling.calculus.terms import Expr, Term
from nestling.calculus.types import Record, is_base
from nestling.calculus.typing import element_type, term_type
from nestling.frontend import paths
from nestling.frontend.catalog import Catalog
from nestling.frontend.oql.alike import alike
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.convert import (
    applied,
    boolean_of,
    collection_of,
    described,
    each,
    scalar_of,
    scalar_type,
    shown,
    type_of,
)
from nestling.frontend.oql.names import fields
from nestling.frontend.oql.tree import Binary, Nil, Query
from nestling.frontend.paths import identity
from nestling.frontend.same import is_part, same_elements
from nestling.frontend.values import Many, Null, One, Perhaps, Row, Some, Value, there

MIRRORED = {">": "<", ">=": "<="}


def of_comparison(node: Binary, env: OqlEnv) -> Value:
    """``a = b`` and the like; ``a = nil`` asks whether ``a`` is absent."""
    if node.operator in ("=", "!=") and Nil() in (node.left, node.right):
        other = node.right if node.left == Nil() else node.left
        return is_absent(other, env, node.operator == "=")
    return compared(node.operator, env.value(node.left), env.value(node.right), node, env)


def is_absent(node: Query, env: OqlEnv, wanted: bool = True) -> Value:
    """Whether ``node`` is nil: what looks at that does not end the row."""
    value = env.loose(node)
    match value:
        case Null():
            return One(const(wanted))
        case One() | Row() if (is_there := there(value)) is not None:
            return One(call("not", is_there) if wanted else is_there)
        case Perhaps(expr) if isinstance(type_of(value), Record):
            return Some(expr, not wanted)
        case One() | Perhaps() if not isinstance(type_of(value), Record):
            with env.run.skipping(False):
                test = call("is_null", scalar_of(value, node, env))
            return One(test if wanted else call("not", test))
    return One(const(not wanted))


def compared(operator: str, left: Value, right: Value, node: Query, env: OqlEnv) -> Value:
    """``left operator right``."""
    if isinstance(left, Many | Ordered) or isinstance(right, Many | Ordered):
        return _collections(operator, left, right, node, env)
    ours, theirs = fields(left, env), fields(right, env)
    if ours is not None and theirs is not None:
        return One(_structs(operator, dict(ours), dict(theirs), node, env))
    if identity(type_of(left)) is not None or identity(type_of(right)) is not None:
        return One(_objects(operator, left, right, node, env))
    if ours is not None or theirs is not None:
        what = f"{shown(left)} is not compared with {shown(right)}"
        raise env.error(node, what, "compare one of its attributes")
    return One(_scalars(operator, scalar_of(left, node, env), scalar_of(right, node, env), node, env))


def _scalars(operator: str, left: Term, right: Term, node: Query, env: OqlEnv) -> Term:
    is_nullable = scalar_type(left).nullable or scalar_type(right).nullable
    if operator not in ("=", "!="):
        return applied(operator, [left, right], node, env)
    if not is_nullable:
        return applied("==" if operator == "=" else "!=", [left, right], node, env, operator)
    found = applied("=", [left, right], node, env)
    return found if operator == "=" else call("not", found)


def _structs(
    operator: str, ours: dict[str, Value], theirs: dict[str, Value], node: Query, env: OqlEnv
) -> Term:
    if operator not in ("=", "!="):
        raise env.error(node, "structs have no order", "compare one of their fields")
    if list(ours) != list(theirs):
        what = f"structs of different fields: {', '.join(ours)} and {', '.join(theirs)}"
        raise env.error(node, what, "compare one of their fields")
    with env.run.skipping(False):  # one field may differ where another is absent
        tests = [boolean_of(compared("=", ours[name], theirs[name], node, env), node, env) for name in ours]
    found = conjunction(tests)
    return found if operator == "=" else call("not", found)


def _objects(operator: str, left: Value, right: Value, node: Query, env: OqlEnv) -> Term:
    """Objects are the same where their keys are."""
    ours, theirs = identity(type_of(left)), identity(type_of(right))
    if ours is None or theirs is None:
        what = f"{shown(left)} is not compared with {shown(right)}"
        raise env.error(node, what, _key_hint(node, env, ours.table if ours is not None else ""))
    if paths.common_class(env.run.catalog, ours.table, theirs.table) is None:
        what = f"an object of {ours.table} is never one of {theirs.table}"
        raise env.error(node, what, "compare attributes of them")
    if operator not in ("=", "!="):
        raise env.error(node, "objects have no order", "compare one of their attributes")
    one, two = scalar_of(left, node, env), scalar_of(right, node, env)
    if isinstance(term_type(one), Record):
        same = equal_terms(one, two)
        return same if operator == "=" else call("not", same)
    function = "=" if scalar_type(one).nullable or scalar_type(two).nullable else "=="
    same = call(function, one, two)
    return same if operator == "=" else call("not", same)


def _key_hint(node: Query, env: OqlEnv, table: str) -> str:
    if not isinstance(node, Binary) or not table:
        return "compare its key"
    key = env.run.catalog.key(table) if isinstance(env.run.catalog, Catalog) else ()
    parts = f"{env.written(node.left)}.{key[0] if key else 'id'} {node.operator} {env.written(node.right)}"
    return f"compare its key: {parts}"


# -- collections


def _collections(operator: str, left: Value, right: Value, node: Query, env: OqlEnv) -> Value:
    for side in (left, right):
        if not isinstance(side, Many | Ordered):
            what = f"a collection is compared with a collection, not with {shown(side)}"
            raise env.error(node, what, "write in, or = any (…)")
    ours, theirs = collection_of(left, node, env), collection_of(right, node, env)
    one, two = alike(env.run, [_by_key(ours.expr, env), _by_key(theirs.expr, env)])
    if not is_base(element_type(one)):
        what = f"collections of {described(element_type(one))} with collections in it are not compared"
        raise env.error(node, what, "compare one attribute: (select x.… from x in …)")
    if operator in ("=", "!="):
        same = same_elements(env.run, one, two)
        return One(same if operator == "=" else call("not", same))
    if ours.form != "set" or theirs.form != "set":
        what = f"{operator} compares sets: one is part of the other"
        raise env.error(node, what, "make sets of them: distinct(…)")
    if operator in MIRRORED:
        operator, one, two = MIRRORED[operator], two, one
    return One(is_part(env.run, one, two, strictly=operator == "<"))


def _by_key(expr: Expr, env: OqlEnv) -> Expr:
    """Objects as references: they are the same where their keys are."""
    of = identity(element_type(expr))
    if of is None or not of.is_row:
        return expr
    keys = each(expr, env, lambda row: paths.key_of(env.run, row))
    return paths.typed(env.run, keys, paths.reference_type(env.run, of.table))
