"""Functions that yield rows: ``explode`` and ``inline`` of an array, with ``_outer`` a row of nulls of an empty one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const, for_, union
from nestling.calculus.lists import AT, ITEM, is_list
from nestling.calculus.maps import KEY, VALUE, is_entry
from nestling.calculus.optional import optional
from nestling.calculus.terms import Expr, Field
from nestling.calculus.typing import element_type
from nestling.frontend.sql.comparing import DECLARE
from nestling.frontend.sql.context import QueryRows, SqlEnv, only, where
from nestling.frontend.sql.convert import converted, null_of
from nestling.frontend.sql.json_texts import json_tuple
from nestling.frontend.sql.positions import plain
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import shown
from nestling.frontend.values import One, Row, Value, bag_of, fields_of, of_term, singleton, type_of

GENERATORS = (
    "explode",
    "explode_outer",
    "inline",
    "inline_outer",
    "posexplode",
    "posexplode_outer",
    "stack",
    "json_tuple",
)


def generated(node: Any, names: Sequence[str], outer: bool, env: SqlEnv) -> QueryRows:
    """The rows of ``explode(array)`` or ``inline(array of structs)``."""
    name = node.name.lower()
    if name == "json_tuple":
        return json_tuple(node, names, env)
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
    if name.startswith("posexplode"):
        if not is_list(type_of(bag)):
            hint = f"{DECLARE}; or keep the position in the element, ARRAY<STRUCT<at: INT, …>>"
            raise env.error(node, "posexplode needs positions, and this array is a bag", hint)
        return _rows(bag.expr, name, names, outer, node, env)
    return _rows(plain(bag, env).expr, name, names, outer, node, env)


def unnested(node: Any, names: Sequence[str], env: SqlEnv) -> QueryRows:
    """``UNNEST(array) WITH ORDINALITY AS t(x, n)``: positions are counted from 1."""
    only(node, env, "expressions", "alias", "offset", what="UNNEST")
    if len(node.expressions) != 1:
        raise env.error(node, "UNNEST takes one array", "write explode(arrays_zip(a, b))")
    (part,) = node.expressions
    value = env.value(part)
    bag = bag_of(value)
    if bag is None:
        raise env.error(part, f"UNNEST takes an array, not {shown(value)}", "name an ARRAY column")
    at = node.args.get("offset")
    if not at:
        return _rows(plain(bag, env).expr, "explode", names, False, node, env)
    if not is_list(type_of(bag)):
        raise env.error(node, "WITH ORDINALITY needs positions, and this array is a bag", DECLARE)
    var = env.run.var("e", bag.expr)
    place = One(call("+", Field(var, AT), const(1)))
    called = (*names, at.name if isinstance(at, exp.Identifier) else "ordinality")
    row = _row(called, (("", of_term(Field(var, ITEM))), ("", place)))
    return QueryRows(for_(var, bag.expr, singleton(row, env.run.site)), called)


def _only_argument(node: Any, env: SqlEnv) -> list[Any]:
    if len(node.expressions) != 1:
        raise env.error(node, f"{node.name} takes one array")
    return list(node.expressions)


def _rows(array: Expr, name: str, names: Sequence[str], outer: bool, node: Any, env: SqlEnv) -> QueryRows:
    var, inline = env.run.var("e", array), name.startswith("inline")
    parts: Sequence[tuple[str, Value]] = (("col", of_term(var)),)
    if is_entry(element_type(array)):
        if inline:
            raise env.error(node, "inline takes an array of structs, not a map", "write explode")
        parts = (("key", of_term(Field(var, KEY))), ("value", of_term(Field(var, VALUE))))
    elif name.startswith("posexplode"):
        parts = (("pos", of_term(Field(var, AT))), ("col", of_term(Field(var, ITEM))))
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
