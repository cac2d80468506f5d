"""Functions that yield rows: ``explode`` and ``inline`` of an array, with ``_outer`` a row of nulls of an empty one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nestling.calculus.build import call, const, for_, union
from nestling.calculus.maps import KEY, VALUE, is_entry
from nestling.calculus.optional import optional
from nestling.calculus.terms import Expr, Field
from nestling.calculus.typing import element_type
from nestling.frontend.sql.context import QueryRows, SqlEnv, where
from nestling.frontend.sql.convert import converted, null_of
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Row, Value, bag_of, fields_of, of_term, singleton, type_of

GENERATORS = ("explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "stack")


def generated(node: Any, names: Sequence[str], outer: bool, env: SqlEnv) -> QueryRows:
    """The rows of ``explode(array)`` or ``inline(array of structs)``."""
    name = node.name.lower()
    if name.startswith("posexplode"):
        raise env.error(
            node,
            "posexplode is not supported: an array is a bag and has no positions",
            "keep the position in the element, ARRAY<STRUCT<at: INT, …>>, and write explode(…)",
        )
    if name not in GENERATORS or name == "stack":
        raise env.error(node, f"{node.name} yields no rows that are supported", "write explode(array)")
    outer = outer or name.endswith("_outer")
    (array,) = _only_argument(node, env)
    value = env.value(array)
    bag = bag_of(value)
    if bag is None:
        raise env.error(
            array, f"{name} takes an array or a map, not {shown(value)}", "name an ARRAY or MAP column"
        )
    return _rows(bag.expr, name.startswith("inline"), names, outer, node, env)


def _only_argument(node: Any, env: SqlEnv) -> list[Any]:
    if len(node.expressions) != 1:
        raise env.error(node, f"{node.name} takes one array")
    return list(node.expressions)


def _rows(array: Expr, inline: bool, names: Sequence[str], outer: bool, node: Any, env: SqlEnv) -> QueryRows:
    var = env.run.var("e", array)
    parts: Sequence[tuple[str, Value]] = (("col", of_term(var)),)
    if is_entry(element_type(array)):
        if inline:
            raise env.error(node, "inline takes an array of structs, not a map", "write explode")
        parts = (("key", of_term(Field(var, KEY))), ("value", of_term(Field(var, VALUE))))
    elif inline:
        found = fields_of(of_term(var))
        if found is None:
            raise env.error(
                node, f"inline takes an array of structs, not of {shown(of_term(var))}", "write explode"
            )
        parts = found
    if names and len(names) != len(parts):
        raise env.error(node, f"{len(names)} names are given to {len(parts)} columns")
    shown_names = tuple(names) or tuple(name for name, _ in parts)
    if not outer:
        return QueryRows(for_(var, array, singleton(_row(shown_names, parts), env.run.site)), shown_names)
    wide = [optional(type_of(value)) for _, value in parts]
    full = [(name, converted(value, t, node, env)) for (name, value), t in zip(parts, wide, strict=True)]
    empty = [(name, null_of(t, node, env)) for (name, _), t in zip(parts, wide, strict=True)]
    none = call("==", env.run.fold("count", array), const(0))
    rows = for_(var, array, singleton(_row(shown_names, full), env.run.site))
    lonely = where(none, singleton(_row(shown_names, empty), env.run.site))
    return QueryRows(union(element_type(rows), rows, lonely), shown_names)


def _row(names: Sequence[str], parts: Sequence[tuple[str, Value]]) -> Row:
    return row_of([(name, value) for name, (_, value) in zip(names, parts, strict=True)])
