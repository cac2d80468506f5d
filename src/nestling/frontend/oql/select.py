"""``select … from … where … group by … having … order by …``.

One select is one bag: its variables, its conditions, and the paths and aggregates in them are bound around its element.
With ``group by`` there are two: the rows with their keys, and the element of every group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nestling.calculus.build import countwise, for_
from nestling.calculus.terms import BagVar, Expr, Field, Group, Sing, Term, Var
from nestling.calculus.types import Bag, Record, Type, is_base
from nestling.frontend import paths
from nestling.frontend.catalog import FieldPath
from nestling.frontend.oql.bags import generated
from nestling.frontend.oql.conditions import guard
from nestling.frontend.oql.context import OqlEnv, Ordered
from nestling.frontend.oql.convert import (
    answer,
    collection,
    collection_of,
    element,
    scalar_of,
    shown,
    type_of,
)
from nestling.frontend.oql.names import as_class
from nestling.frontend.oql.order import path_in
from nestling.frontend.oql.tree import FromClause, Projection, Query, Select, SortKey, label_of
from nestling.frontend.paths import identity
from nestling.frontend.values import Many, One, Perhaps, Row, Value


@dataclass(slots=True)
class _Head:
    """What is selected, once it is read: the keys of its order and where in an element they stand."""

    paths: tuple[FieldPath | None, ...] = ()


def of_select(node: Select, env: OqlEnv) -> Value:
    head = _Head()
    if node.groups:
        expr = _grouped(node, env, head)
    else:

        def build() -> Expr:
            inner, own = _variables(node, env)
            if node.where is not None:
                guard(node.where, inner)
            return _element(node, inner, own, head)

        expr = env.run.enclosed(build)
    if node.distinct:
        expr = countwise("distinct", expr)
    if not node.order:
        return Many(expr, "set" if node.distinct else "list")
    return Ordered(expr, tuple(key.descending for key in node.order), head.paths, is_sorted=True)


# -- from


def _variables(node: Select, env: OqlEnv) -> tuple[OqlEnv, dict[str, Value]]:
    """The variables of ``from``, each bound for those after it."""
    own: dict[str, Value] = {}
    for clause in node.clauses:
        many = collection(clause.collection, env)
        name = _name(clause, own)
        if name in own:
            raise env.error(clause, f"{name} stands twice", "rename one of the variables")
        value = generated(name, many.expr, env)
        if clause.class_name is not None:
            value = _of_class(value, clause, env)
        own[name] = value
        env = env.binding({name: value}) if clause.name else replace(env, anonymous=(*env.anonymous, value))
    return env, own


def _name(clause: FromClause, own: dict[str, Value]) -> str:
    return clause.name or label_of(clause.collection) or f"_{len(own)}"


def _of_class(value: Value, clause: FromClause, env: OqlEnv) -> Value:
    """``x as C in e``: only the objects of that class."""
    assert clause.class_name is not None
    found = as_class(value, clause.class_name, clause, env)
    return generated(clause.class_name, found.expr, env) if isinstance(found, Perhaps) else found


# -- select


def _element(node: Select, env: OqlEnv, own: dict[str, Value], head: _Head) -> Expr:
    """The bag of what is selected for one row; with an order, of ⟨k0, …, v⟩."""
    selected = _selected(node, env, own)
    if not node.order:
        return element(selected, env)
    labels = dict(selected.fields) if isinstance(selected, Row) else {}
    there = replace(env, names={**labels, **env.names})
    found = [_sort_key(key, node, selected, there) for key in node.order]
    head.paths = tuple(path for _, path in found)
    keys = [(f"k{i}", value) for i, (value, _) in enumerate(found)]
    return element(Row((*keys, ("v", selected))), env)


def _selected(node: Select, env: OqlEnv, own: dict[str, Value]) -> Value:
    if not node.projections:
        return Row(tuple((name, answer(value, node, env)) for name, value in own.items()))
    (first, *others) = node.projections
    if not others and first.label is None:
        value = env.value(first.query)
        if isinstance(value, Ordered):
            value = collection_of(value, first.query, env)
        return answer(value, first.query, env)
    fields: dict[str, Value] = {}
    for i, projection in enumerate(node.projections):
        label = _label(projection, env)
        if label in fields:
            raise env.error(projection, f"{label} stands twice in the select list", f"rename one: x{i}: …")
        row = answer(Row(((label, env.value(projection.query)),)), projection.query, env)
        assert isinstance(row, Row)
        fields[label] = row.fields[0][1]
    return Row(tuple(fields.items()))


def _label(projection: Projection, env: OqlEnv) -> str:
    label = projection.label or label_of(projection.query)
    if label is None:
        raise env.error(projection, "this needs a name", f"name: {env.written(projection.query)}")
    return label


# -- order by


def _sort_key(key: SortKey, node: Select, selected: Value, env: OqlEnv) -> tuple[Value, FieldPath | None]:
    """A key of the order, and where in an element it stands."""
    for projection in node.projections:
        label = projection.label or label_of(projection.query)
        if projection.query != key.query:
            continue
        if not isinstance(selected, Row) or label is None:
            return One(_scalar(selected, key.query, env)), ()
        return One(_scalar(dict(selected.fields)[label], key.query, env)), (label,)
    term = _scalar(env.value(key.query), key.query, env)
    path = path_in(selected, term)
    if path is None and node.distinct:
        what = "what is distinct is ordered by what is selected"
        raise env.error(key, what, "select it too, or drop distinct")
    return One(term), path


def _scalar(value: Value, node: Query, env: OqlEnv) -> Term:
    if identity(type_of(value)) is not None:
        raise env.error(node, "objects have no order", "order by one of their attributes")
    return scalar_of(value, node, env)


# -- group by


def _grouped(node: Select, env: OqlEnv, head: _Head) -> Expr:
    """``group r in (rows with their keys) by k as X union (the element of a group)``."""
    run = env.run
    keys: dict[str, tuple[Value, Type]] = {}
    own: dict[str, Value] = {}

    def rows() -> Expr:
        inner, found = _variables(node, env)
        own.update(found)
        if node.where is not None:
            guard(node.where, inner)
        keys.update(_keys(node.groups, inner))
        key = Row(tuple((label, value) for label, (value, _) in keys.items()))
        return element(Row((("keys", key), ("row", Row(tuple(own.items()))))), inner)

    source = run.enclosed(rows)
    key_type = Record(tuple((label, type_) for label, (_, type_) in keys.items()))
    row_type = Record((("keys", key_type), ("row", Record(tuple((n, type_of(v)) for n, v in own.items())))))
    row, key = Var(run.names.fresh("r"), row_type), Var(run.names.fresh("k"), key_type)
    group = BagVar(run.names.fresh("group"), Bag(row_type))
    member = Var(run.names.fresh("p"), row_type)
    names: dict[str, Value] = {label: One(Field(key, label)) for label in keys}
    partition = Many(for_(member, group, Sing(Field(member, "row"))))

    def body() -> Expr:
        inner = env.binding({**names, "partition": partition})
        if node.having is not None:
            guard(node.having, inner)
        return _element(node, inner, {**names, "partition": partition}, head)

    return Group(row, source, Field(row, "keys"), key, group, run.enclosed(body))


def _keys(groups: Sequence[Projection], env: OqlEnv) -> dict[str, tuple[Value, Type]]:
    """The keys by label; an object is grouped by its key."""
    found: dict[str, tuple[Value, Type]] = {}
    for group in groups:
        label = _label(group, env)
        if label in found:
            raise env.error(group, f"{label} stands twice", "rename one of the keys")
        value = answer(env.value(group.query), group.query, env)
        type_ = type_of(value)
        of = identity(type_)
        if of is not None and of.is_row and isinstance(value, One):
            value, type_ = One(paths.key_of(env.run, value.term)), paths.reference_type(env.run, of.table)
        if not is_base(type_):
            what = f"{shown(value)} is no key of a group"
            raise env.error(group, what, "group by scalars, objects or structs of them")
        found[label] = value, type_
    return found
