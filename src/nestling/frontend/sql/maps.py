"""Maps: looking a key up, and what there is of keys, values and entries.

A map is a bag of entries with different keys. A value that is looked up is the aggregate of the one entry that has the
key, so a change of that entry is all that it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const, for_, union
from nestling.calculus.maps import KEY, VALUE, is_map
from nestling.calculus.terms import Const, Expr, Field, Var
from nestling.calculus.typing import element_type
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.conditions import guarded
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import alike, is_nullable, stored
from nestling.frontend.sql.picked import picked
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Many, Null, One, Row, Value, of_term, singleton, type_of

Entry = Callable[[Var], Value]


def _map(node: Any, env: SqlEnv, number: int = 1) -> Many:
    """The map that is the first of ``number`` arguments."""
    if len(node.expressions) != number:
        raise env.error(node, f"{node.name} takes {number} argument{'s' * (number > 1)}")
    value = env.value(node.expressions[0])
    if not isinstance(value, Many) or not is_map(type_of(value)):
        raise env.error(node.expressions[0], f"{node.name} takes a map, not {shown(value)}")
    return value


def _each(entries: Expr, env: SqlEnv, of: Entry) -> Many:
    var = env.run.var("e", entries)
    return Many(for_(var, entries, singleton(of(var), env.run.site)))


def key_of(entry: Var) -> Value:
    """The key of an entry."""
    return of_term(Field(entry, KEY))


def value_of(entry: Var) -> Value:
    """The value of an entry."""
    return of_term(Field(entry, VALUE))


def of_map_keys(node: Any, env: SqlEnv) -> Value:
    """``map_keys(map)``."""
    return _each(_map(node, env).expr, env, key_of)


def of_map_values(node: Any, env: SqlEnv) -> Value:
    """``map_values(map)``."""
    return _each(_map(node, env).expr, env, value_of)


def of_map_entries(node: Any, env: SqlEnv) -> Value:
    """``map_entries(map)``: structs of key and value."""
    return _each(
        _map(node, env).expr, env, lambda entry: Row((("key", key_of(entry)), ("value", value_of(entry))))
    )


def of_map_contains_key(node: Any, env: SqlEnv) -> Value:
    """``map_contains_key(map, key)``."""
    found = _with_key(_map(node, env, 2), env.value(node.expressions[1]), node, env, lambda entry: YES)
    return One(call("!=", env.run.fold("count", found), const(0)))


def _with_key(map_: Many, key: Value, node: Any, env: SqlEnv, body: Callable[[Var], Expr]) -> Expr:
    entry = env.run.var("e", map_.expr)
    return for_(entry, map_.expr, where(compared("=", key_of(entry), key, node, env), body(entry)))


def looked_up(map_: Many, key: Value, node: Any, env: SqlEnv) -> Value:
    """``map[key]``: the value there, null where there is none."""
    found = _with_key(map_, key, node, env, lambda entry: singleton(value_of(entry), env.run.site))
    return picked(found, env)


def of_map_filter(node: Any, env: SqlEnv) -> Value:
    """``map_filter(map, (k, v) -> …)``."""
    map_ = _map(node, env, 2)
    names, test = _parameters(node, env)
    entry = env.run.var("e", map_.expr)
    inner = _bound(env, names, entry)
    kept = env.run.enclosed(lambda: guarded(test, inner, lambda _: singleton(One(entry), env.run.site)))
    return Many(for_(entry, map_.expr, kept))


def of_transform_values(node: Any, env: SqlEnv) -> Value:
    """``transform_values(map, (k, v) -> …)``."""
    map_ = _map(node, env, 2)
    names, body = _parameters(node, env)
    entry = env.run.var("e", map_.expr)
    inner = _bound(env, names, entry)

    def changed() -> Expr:
        value = stored(inner.value(body), body, inner)
        return singleton(Row(((KEY, key_of(entry)), (VALUE, value))), env.run.site)

    return Many(for_(entry, map_.expr, env.run.enclosed(changed)))


def _parameters(node: Any, env: SqlEnv) -> tuple[tuple[str, str], Any]:
    found = node.expressions[1]
    if not isinstance(found, exp.Lambda) or len(found.expressions) != 2:
        raise env.error(node, f"{node.name} takes a lambda of key and value", "write (k, v) -> …")
    key, value = (part.name for part in found.expressions)
    return (key, value), found.this


def _bound(env: SqlEnv, names: tuple[str, str], entry: Var) -> SqlEnv:
    values = dict(zip(names, (key_of(entry), value_of(entry)), strict=True))
    return replace(env, bound={**env.bound, **values}, match=None)


def of_map(node: Any, env: SqlEnv) -> Value:
    """``map(key, value, …)``, whose keys are written out and differ."""
    keys, values = node.expressions[::2], node.expressions[1::2]
    if not keys or len(keys) != len(values):
        raise env.error(node, "map takes keys and values in turn", "write map('a', x, 'b', y)")
    ours = alike([env.value(part) for part in keys], node, env)
    constants = [key.term for key in ours if isinstance(key, One) and isinstance(key.term, Const)]
    written = {key.value for key in constants if key.value is not None}
    if len(written) < len(keys):
        hint = "give each its key: map('a', x, 'b', y)"
        raise env.error(node, "the keys of a map are written out, and no two are one", hint)
    theirs = alike([env.value(part) for part in values], node, env)
    if any(is_nullable(value.term) for value in theirs if isinstance(value, One)):
        theirs = alike([*theirs, Null()], node, env)[:-1]
    parts = [
        singleton(Row(((KEY, key), (VALUE, value))), env.run.site)
        for key, value in zip(ours, theirs, strict=True)
    ]
    return Many(union(element_type(parts[0]), *parts))


MAPS: dict[str, Callable[[Any, SqlEnv], Value]] = {
    "map": of_map,
    "map_keys": of_map_keys,
    "map_values": of_map_values,
    "map_entries": of_map_entries,
    "map_contains_key": of_map_contains_key,
    "map_filter": of_map_filter,
    "transform_values": of_transform_values,
}
