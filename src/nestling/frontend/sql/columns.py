"""Names: columns by name or by table and name, fields of structs, aliases of the select list.

Names are compared without regard to case. The innermost query that knows a name decides what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from nestling.calculus.typing import term_type
from nestling.frontend import paths
from nestling.frontend.sql.context import Scope, ScopeColumn, SqlEnv
from nestling.frontend.sql.values import shown
from nestling.frontend.values import Barred, Many, One, Perhaps, Value, fields_of


def same(left: str, right: str) -> bool:
    """Whether two names are one."""
    return left.lower() == right.lower()


def of_column(node: Any, env: SqlEnv) -> Value:
    """``c``, ``t.c``, ``c.f``, ``t.c.f.g``."""
    return _settled(_column(node, env), [node], env)


def _column(node: Any, env: SqlEnv) -> Value:
    parts = [env_part for env_part in node.parts if isinstance(env_part, exp.Identifier)]
    if len(parts) < len(node.parts):
        raise env.error(node, "* stands alone in the select list", "name the columns")
    value = _found([part.name for part in parts], parts, env)
    if value is not None:
        return value
    if (name := parts[0].name.lower()) in env.aliases:
        # An alias must not mean itself.
        inner = replace(env, aliases={other: n for other, n in env.aliases.items() if other != name})
        return _followed(inner.value(env.aliases[name]), parts[1:], env)
    raise _unknown(parts, env)


def _found(names: list[str], parts: Sequence[Any], env: SqlEnv) -> Value | None:
    for bound, value in env.bound.items():
        if same(bound, names[0]):
            return _followed(value, parts[1:], env)
    for scope in env.scopes:
        if len(names) > 1:
            hits = [c for c in scope if same(c.table, names[0]) and same(c.name, names[1])]
            if hits:
                return _followed(_single(hits, parts[1], env), parts[2:], env)
        hits = [c for c in scope if c.open and same(c.name, names[0])]
        if hits:
            return _followed(_single(hits, parts[0], env), parts[1:], env)
    return None


def _single(hits: Sequence[ScopeColumn], part: Any, env: SqlEnv) -> Value:
    if len(hits) > 1:
        names = ", ".join(f"{c.table}.{c.name}" if c.table else c.name for c in hits)
        raise env.error(part, f"{part.name} is ambiguous: {names}", "write the table's name before it")
    value = hits[0].value
    if isinstance(value, Barred):
        raise env.error(part, value.what, value.hint)
    return value


def fields(value: Value, path: Iterable[Any], env: SqlEnv) -> Value:
    """The field at ``path`` of a struct, or of the row that a reference leads to."""
    return _settled(_followed(value, path, env), path, env)


def _followed(value: Value, path: Iterable[Any], env: SqlEnv) -> Value:
    for part in path:
        if (attribute := _through_reference(value, part, env)) is not None:
            value = attribute
            continue
        found = fields_of(value)
        if found is None:
            hint = (
                "explode the array first: LATERAL VIEW explode(…) t AS x" if "ARRAY" in shown(value) else ""
            )
            raise env.error(part, f"{shown(value)} has no field {part.name}", hint)
        hits = [inner for name, inner in found if same(name, part.name)]
        if len(hits) != 1:
            names = ", ".join(name for name, _ in found)
            raise env.error(part, f"there is no field {part.name}", f"the fields are {names}")
        value = hits[0]
        if isinstance(value, Barred):
            raise env.error(part, value.what, value.hint)
    return value


def _through_reference(value: Value, part: Any, env: SqlEnv) -> Value | None:
    """``r.name`` where ``r`` refers to a row: that column of it; ``None`` where it does not."""
    match value:
        case Perhaps(expr):
            return paths.inside(env.run, expr, lambda one: _followed(one, [part], env))
        case One(term) if (of := paths.identity(term_type(term))) is not None and not of.is_row:
            names = paths.attributes(env.run.catalog, term_type(term))
            hits = [name for name in names if same(name, part.name)]
            found = paths.member(env.run, value, hits[0]) if len(hits) == 1 else None
            if found is None:
                hint = f"it has {', '.join(names)}"
                raise env.error(part, f"the row of {of.table} has no column {part.name}", hint)
            return replace(found, form="list") if isinstance(found, Many) else found
    return None


def _settled(value: Value, path: Iterable[Any], env: SqlEnv) -> Value:
    if not isinstance(value, Perhaps):
        return value
    found = paths.settled(env.run, value)
    if found is None:
        raise env.error([*path][-1], "a struct that may be absent is no value", "take one of its fields")
    return found


def _unknown(parts: Sequence[Any], env: SqlEnv) -> Exception:
    names = [column.name for scope in env.scopes for column in scope if column.open]
    tables = [column.table for scope in env.scopes for column in scope if column.table]
    text = ".".join(part.name for part in parts)
    if len(parts) > 1 and not any(same(parts[0].name, name) for name in (*names, *tables)):
        close = get_close_matches(parts[0].name.lower(), {t.lower() for t in tables}, n=1)
        known = ", ".join(dict.fromkeys(tables)) or "none"
        hint = f"did you mean {close[0]}?" if close else f"the tables here are {known}"
        return env.error(parts[0], f"there is no table {parts[0].name} in this query", hint)
    wanted = parts[-1].name.lower()
    close = get_close_matches(wanted, {name.lower(): name for name in names}, n=1)
    known = ", ".join(dict.fromkeys(names)) or "none"
    hint = f"did you mean {close[0]}?" if close else f"the columns here are {known}"
    return env.error(parts[-1], f"there is no column {text}", hint)


def of_dot(node: Any, env: SqlEnv) -> Value:
    """``(…).f``: a field of a struct that is no column."""
    if not isinstance(node.expression, exp.Identifier):
        raise env.error(node, "this is not the name of a field", "write s.field")
    return _settled(_dotted(node, env), [node], env)


def _dotted(node: Any, env: SqlEnv) -> Value:
    """``(…).f`` as it is, perhaps absent: only the whole path is a value."""
    inner = node.this
    if env.match is None and isinstance(inner, exp.Column | exp.Dot):
        base = _column(inner, env) if isinstance(inner, exp.Column) else _dotted(inner, env)
    else:
        base = env.value(inner)
    return _followed(base, [node.expression], env)


def of_identifier(node: Any, env: SqlEnv) -> Value:
    """The parameter of a lambda, or a column."""
    value = _found([node.name], [node], env)
    if value is None:
        raise _unknown([node], env)
    return _settled(value, [node], env)


def starred(node: Any, scope: Scope, env: SqlEnv) -> list[tuple[str, Value, Any]]:
    """What ``*``, ``t.*`` or ``s.*`` stands for: names with values."""
    star = node.this if isinstance(node, exp.Column) else node
    for key, part in star.args.items():
        if part and key != "except_":
            raise env.error(node, f"* {key.rstrip('_').upper()} is not supported", "name the columns")
    if star.args.get("except_"):
        return _without(node, star, scope, env)
    if not isinstance(node, exp.Column):
        return [(c.name, _usable(c, node, env), node) for c in scope if c.open]
    table = node.parts[0]
    hits = [c for c in scope if c.table and same(c.table, table.name)]
    if hits and len(node.parts) == 2:
        return [(c.name, _usable(c, node, env), node) for c in hits]
    path = [part for part in node.parts if isinstance(part, exp.Identifier)]
    value = _found([part.name for part in path], path, env)
    found = fields_of(value) if value is not None else None
    if found is None:
        raise _unknown(path, env) if value is None else env.error(node, f"{shown(value)} has no fields")
    return [(name, inner, node) for name, inner in found]


def _without(node: Any, star: Any, scope: Scope, env: SqlEnv) -> list[tuple[str, Value, Any]]:
    """``* EXCEPT (a, b)``: all columns but these."""
    gone, plain = star.args["except_"], star.copy()
    plain.set("except_", None)
    whole = plain if star is node else node.copy()
    if whole is not plain:
        whole.set("this", plain)
    found = starred(whole, scope, env)
    for part in gone:
        if not any(same(name, part.name) for name, _, _ in found):
            raise env.error(node, f"there is no column {part.name} to leave out of *")
    return [each for each in found if not any(same(each[0], part.name) for part in gone)]


def _usable(column: ScopeColumn, node: Any, env: SqlEnv) -> Value:
    if isinstance(column.value, Barred):
        raise env.error(node, f"{column.name}: {column.value.what}", column.value.hint)
    return column.value
