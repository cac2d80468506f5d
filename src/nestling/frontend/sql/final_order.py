"""The ORDER BY that a view ends with: the order in which it is read.

It is by what is selected: by a column of the result, by its place, by an expression that the select list has, or by a
field of a struct there.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.calculus.types import Record, Scalar, Type
from nestling.frontend.catalog import FieldPath
from nestling.frontend.sql.by_content import is_array
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.ordering import Key, keys_of
from nestling.frontend.view_query import Order, OrderKey


def unordered(tree: Any) -> Any:
    """``tree`` without an ORDER BY that only says how it is read."""
    tree = _whole(tree)
    if tree.args.get("order") is None or _is_cut(tree):
        return tree
    plain = tree.copy()
    plain.set("order", None)
    return plain


def final_order(tree: Any, names: tuple[str, ...], record: Record, env: SqlEnv) -> Order:
    """The order that ``tree`` ends with; its columns are called ``names``, and the fields of its rows as in ``record``.

    The first rows of an order that they do not hold are a bag without one.
    """
    tree = _whole(tree)
    found: list[OrderKey] = []
    for key in keys_of(tree, names, env):
        path = _path(key, tree, names, record, env)
        if path is None:
            if _is_cut(tree):
                return ()
            what = "a view is read in the order of what it selects"
            raise env.error(
                key.node, what, "select it too, and order by its name: SELECT …, x AS k … ORDER BY k"
            )
        if not isinstance(_at(record, path), Scalar):
            if _is_cut(tree) and is_array(_at(record, path)):
                return ()  # the first rows are taken; they are read in another order
            raise env.error(
                key.node,
                "rows are read in the order of scalars",
                "order by a field, an element or a count of it",
            )
        found.append(OrderKey(path, key.descending, key.nulls_first))
    return tuple(found)


def _whole(tree: Any) -> Any:
    """The query in parentheses around which nothing stands."""
    while isinstance(tree, exp.Subquery) and not any(v for k, v in tree.args.items() if k != "this"):
        tree = tree.this
    return tree


def _is_cut(tree: Any) -> bool:
    return tree.args.get("limit") is not None or tree.args.get("offset") is not None


def _path(key: Key, tree: Any, names: tuple[str, ...], record: Record, env: SqlEnv) -> FieldPath | None:
    if key.column is not None:
        if not isinstance(key.node, exp.Literal) and sum(same(name, names[key.column]) for name in names) > 1:
            what = f"column {names[key.column]} stands twice in the select list"
            raise env.error(key.node, what, "rename one of them: … AS name")
        return (record.names[key.column],)
    place = _selected(key.node, tree)
    if place is None:
        place = _behind_star(key.node, tree, names)
    return (record.names[place],) if place is not None else _in_struct(key.node, names, record)


def _selected(node: Any, tree: Any) -> int | None:
    """The place of the item of the select list that ``node`` is, where places are known: before any ``*``."""
    for place, item in enumerate(tree.expressions if isinstance(tree, exp.Select) else ()):
        if item.is_star:
            break
        selected = item.this if isinstance(item, exp.Alias) else item
        if selected == node or _is_same_column(selected, node, tree):
            return place
    return None


def _behind_star(node: Any, tree: Any, names: tuple[str, ...]) -> int | None:
    """The column that ``table.column`` is where ``*`` brings it, and no other of its name."""
    if not isinstance(tree, exp.Select) or not any(item.is_star for item in tree.expressions):
        return None
    found = [
        place for place, name in enumerate(names) if isinstance(node, exp.Column) and same(name, node.name)
    ]
    return found[0] if len(found) == 1 and _is_same_column(node, node, tree) else None


def _is_same_column(one: Any, two: Any, tree: Any) -> bool:
    """Whether both name one column, with its table or without; a name alone is that of one table only."""
    if not (isinstance(one, exp.Column) and isinstance(two, exp.Column) and same(one.name, two.name)):
        return False
    tables = {part.table.lower() for part in (one, two) if part.table}
    joins = tree.args.get("joins") or ()
    if len(tables) > 1 or any(join.args.get("using") or join.args.get("method") for join in joins):
        return False
    parts = [tree.args.get("from_"), *joins, *(tree.args.get("laterals") or ())]
    known = {part.this.alias_or_name.lower() for part in parts if part is not None and part.this is not None}
    return tables <= known and not (one.args.get("db") or two.args.get("db"))


def _in_struct(node: Any, names: tuple[str, ...], record: Record) -> FieldPath | None:
    """The field of a selected struct that ``node`` names: ``address.city``."""
    if not isinstance(node, exp.Column | exp.Dot) or any(isinstance(p, exp.Star) for p in node.parts):
        return None
    first, *rest = (part.name for part in node.parts)
    place = next((i for i, name in enumerate(names) if same(name, first)), None)
    if place is None:
        return None
    path: FieldPath = (record.names[place],)
    for name in rest:
        step = _at(record, path)
        found = [own for own in step.names if same(own, name)] if isinstance(step, Record) else []
        if not found:
            return None
        path = (*path, found[0])
    return path


def _at(record: Record, path: FieldPath) -> Type:
    step: Type = record
    for name in path:
        assert isinstance(step, Record)
        step = dict(step.fields)[name]
    return step
