"""Clauses that are short for others: QUALIFY and WINDOW, written out before a SELECT is read."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.time_windows import with_time_windows


def written_out(node: Any, env: SqlEnv) -> Any:
    """``node`` without WINDOW, QUALIFY, hopping windows and sessions; the same node where it has none."""
    if node.args.get("windows"):
        node = _with_windows(node, env)
    if node.args.get("qualify") is not None:
        return _qualified(node, env)
    return with_time_windows(node, env)


def _with_windows(node: Any, env: SqlEnv) -> Any:
    """``f() OVER w … WINDOW w AS (…)`` as ``f() OVER (…)``."""
    found = node.copy()
    named = {window.this.name.lower(): window for window in found.args["windows"]}
    found.set("windows", None)
    for window in list(found.find_all(exp.Window)):
        name = window.args.get("alias")
        if name is None:
            continue
        meant = named.get(name.name.lower())
        if meant is None:
            raise env.error(node, f"there is no window {name.name}", f"it has {', '.join(named)}")
        for key in ("partition_by", "order", "spec"):
            if window.args.get(key) and meant.args.get(key):
                raise env.error(node, f"OVER ({name.name} …) says again what {name.name} says", "say it once")
            if meant.args.get(key):
                part = meant.args[key]
                window.set(key, [p.copy() for p in part] if isinstance(part, list) else part.copy())
        window.set("alias", None)
    return found


def _qualified(node: Any, env: SqlEnv) -> Any:
    """``SELECT a … QUALIFY c`` as ``SELECT a FROM (SELECT a, c AS q …) WHERE q``."""
    stars = (isinstance(i, exp.Star) or (isinstance(i, exp.Column) and isinstance(i.this, exp.Star))
             for i in node.expressions)  # fmt: skip
    inner = node.copy()
    test = inner.args["qualify"].this
    inner.set("qualify", None)
    outer_parts = {key: inner.args.get(key) for key in ("order", "limit", "offset", "with_")}
    for key in outer_parts:
        inner.set(key, None)
    hidden = exp.to_identifier("·q")
    if any(stars):
        items: list[Any] = [exp.Star(**{"except_": [hidden.copy()]})]
    else:
        for i, item in enumerate(list(inner.expressions)):
            if not isinstance(item, exp.Alias | exp.Column):
                inner.expressions[i].replace(exp.alias_(item.copy(), f"_{i}"))
        items = [exp.column(exp.to_identifier(item.alias_or_name)) for item in inner.expressions]
    inner.append("expressions", exp.Alias(this=test, alias=hidden.copy()))
    return exp.Select(
        expressions=items,
        from_=exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("·s")))),
        where=exp.Where(this=exp.column(hidden.copy())),
        **outer_parts,
    )
