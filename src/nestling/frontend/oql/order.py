"""Lists: what ``order by`` or ``list(…)`` makes, and the positions in it.

A list is the bag of ⟨k0, …, v⟩. An absent key is less than any other, and elements of equal keys are ordered among
themselves. The calculus takes the first elements in one direction, so a key against it is turned round, which numbers,
truths and moments allow and strings do not. Beyond the end there is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from nestling.calculus.build import call, const, countwise, first, for_, union
from nestling.calculus.terms import Const, Expr, Field, Sing, Term, Tuple, Var
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.catalog import FieldPath
from nestling.frontend.oql import scalars
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.convert import scalar_of, scalar_type, type_of
from nestling.frontend.oql.tree import Index, Invoke, Query, Slice
from nestling.frontend.values import One, Perhaps, Row, Value, of_term, singleton


def numbered(bags: Sequence[Expr], env: OqlEnv) -> Ordered:
    """The list of the elements of ``bags``, one of each."""
    parts = []
    for i, bag in enumerate(bags):
        var = Var(env.run.names.fresh("x"), element_type(bag))
        row = Row((("k0", One(const(i))), ("v", of_term(var))))
        parts.append(for_(var, bag, singleton(row, env.run.site)))
    return Ordered(union(element_type(parts[0]), *parts), (False,), (None,))


def of_end(node: Invoke, env: OqlEnv) -> Value:
    """``first(list)``, ``last(list)``."""
    found = _list(env.loose(node.args[0]), node, env)
    return _elements(_cut(found, 0, 0, node, env, node.name == "last"), env)


def of_index(node: Index, env: OqlEnv) -> Value:
    """``list[i]`` or ``string[i]``, from 0."""
    base = env.value(node.base)
    if _is_string(base):
        return scalars.character(scalar_of(base, node.base, env), node.position, env)
    place = scalars.position(node.position, env)
    return _elements(_cut(_list(base, node, env), place, place, node, env), env)


def of_slice(node: Slice, env: OqlEnv) -> Value:
    """``list[i:j]`` or ``string[i:j]``, both included."""
    base = env.value(node.base)
    if _is_string(base):
        return scalars.part(scalar_of(base, node.base, env), node.first, node.last, env)
    found = _list(base, node, env)
    start, end = scalars.position(node.first, env), scalars.position(node.last, env)
    return Ordered(_cut(found, start, end, node, env), found.descending, found.paths)


def _is_string(value: Value) -> bool:
    return isinstance(value, One | Perhaps) and getattr(type_of(value), "name", "") == "str"


def _list(value: Value, node: Query, env: OqlEnv) -> Ordered:
    if not isinstance(value, Ordered):
        what = "only a list has positions"
        raise env.error(node, what, "give it an order: (select … order by …)[0]")
    return value


def _elements(expr: Expr, env: OqlEnv) -> Perhaps:
    var = Var(env.run.names.fresh("x"), element_type(expr))
    return Perhaps(for_(var, expr, Sing(Field(var, "v"))))


def _cut(found: Ordered, start: int, end: int, node: Query, env: OqlEnv, from_end: bool = False) -> Expr:
    """The elements from ``start`` to ``end``, still ⟨k0, …, v⟩."""
    greatest = all(found.descending)
    expr = found.expr if greatest or not any(found.descending) else _turned(found, node, env)
    taken = first(end + 1, expr, greatest != from_end)
    return countwise("monus", taken, first(start, expr, greatest != from_end)) if start else taken


def _turned(found: Ordered, node: Query, env: OqlEnv) -> Expr:
    """``found`` with all keys in one direction; where a key descends, what is absent comes last."""
    type_ = element_type(found.expr)
    assert isinstance(type_, Record)
    var = Var(env.run.names.fresh("x"), type_)
    fields: list[tuple[str, Term]] = []
    for i, descends in enumerate(found.descending):
        key = Field(var, f"k{i}")
        if descends:
            fields += [(f"n{i}", call("is_null", key)), (f"k{i}", _opposite(key, node, env))]
        else:
            fields.append((f"k{i}", key))
    return for_(var, found.expr, Sing(Tuple((*fields, ("v", Field(var, "v"))))))


def _opposite(term: Term, node: Query, env: OqlEnv) -> Term:
    """What is less where ``term`` is greater."""
    match scalar_type(term).name:
        case "int" | "float" | "decimal" | "timedelta":
            return call("neg", term)
        case "bool":
            return call("not", term)
        case "date":
            return call("days_between", Const(date.min, Scalar("date")), term)
        case "datetime":
            return call("-", Const(datetime.min, Scalar("datetime")), term)
    hint = "order by strings in one direction, all asc or all desc"
    raise env.error(node, "positions need strings that are ordered in the direction of all keys", hint)


def path_in(value: Value, term: Term) -> FieldPath | None:
    """Where in ``value`` the scalar ``term`` stands."""
    match value:
        case Row(fields):
            for name, field in fields:
                inner = path_in(field, term)
                if inner is not None:
                    return (name, *inner)
        case One(found):
            names: list[str] = []
            step = term
            while step != found and isinstance(step, Field):
                names.insert(0, step.name)
                step = step.record
            return tuple(names) if step == found else None
    return None
