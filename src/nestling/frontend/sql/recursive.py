"""WITH RECURSIVE: a common query that reads itself, as a fixpoint.

``t AS (anchor UNION [ALL] step)``: the parts that do not read ``t`` are where it begins, those that do are its steps. A
step joins ``t`` with tables, filters and computes; where more rows of ``t`` could take rows away, or where SQL's rounds
would make other rows than the least fixpoint has, it is refused, at its place.

The columns have the types that anchor and step agree on, as those of any UNION.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from sqlglot import exp

from nestling.calculus.build import union
from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.terms import Expr
from nestling.calculus.traverse import relations
from nestling.calculus.types import Record, Scalar
from nestling.calculus.typing import element_type
from nestling.errors import QueryError
from nestling.frontend.sql.aggregates import calls
from nestling.frontend.sql.context import Common, QueryRows, SqlEnv
from nestling.frontend.sql.sets import as_type, joined_type
from nestling.frontend.sql.tables import record_fields, renamed

#: What a fixpoint is called in terms: this, and the name of the common query.
RECURSION = "§r "
#: How often the types of the columns may grow until a step has those that it reads.
_MOST_TYPES = 8
#: Where a query in parentheses is a table.
_PLACES = (exp.From, exp.Join, exp.Lateral, exp.Union)
#: The refusal of what was found, with what to write instead.
Refusal: TypeAlias = Callable[..., QueryError]
_OUTSIDE = "aggregate, order and exclude in the query that reads it"


class Recurrence(exp.Expression):  # type: ignore[misc]  # sqlglot has no types here
    """A common query that reads itself, wherever it is read."""

    arg_types: ClassVar = {"this": True}


def recurrence(fixpoint: Fixpoint, names: tuple[str, ...]) -> Any:
    """The tree that stands for the rows of ``fixpoint``."""
    found = Recurrence(this=fixpoint.name)
    found.meta["rows"] = QueryRows(fixpoint.relation, names)
    return found


def is_recursive(part: Any) -> bool:
    """Whether the common query ``part`` reads itself."""
    return any(True for _ in _readings(part.this, _name(part)))


def check_mutual(parts: list[Any], env: SqlEnv) -> None:
    """Refuse a common query that reads one after it, which reads it."""
    names = [_name(part) for part in parts]
    for i, part in enumerate(parts):
        for later, name in zip(parts[i + 1 :], names[i + 1 :], strict=True):
            reading = next(_readings(part.this, name), None)
            if reading is not None and any(True for _ in _readings(later.this, names[i])):
                raise env.error(
                    reading,
                    f"{names[i]} and {name} read each other",
                    "write one recursive query, with a column that tells their rows apart",
                )


def common(part: Any, outer: SqlEnv, columns: tuple[str, ...]) -> Common:
    """The common query ``part``, which reads itself, as a fixpoint."""
    name, node = _name(part), _inside(part.this)
    if not isinstance(node, exp.Union):
        raise outer.error(
            next(_readings(part.this, name)),
            f"{name} reads itself, and is no UNION",
            f"write {name} AS (SELECT … UNION SELECT … FROM {name} …)",
        )
    distinct = bool(node.args.get("distinct"))
    terms = list(_terms(node, name, distinct))
    anchors = [term for term in terms if next(_readings(term, name), None) is None]
    steps = [term for term in terms if next(_readings(term, name), None) is not None]
    if not anchors:
        raise outer.error(node, f"{name} never begins", f"begin with a SELECT that does not read {name}")
    for key in ("order", "limit", "offset"):
        if node.args.get(key) is not None:
            raise outer.error(node.args[key], f"{key.upper()} of a recursion is not supported", _OUTSIDE)
    for step in steps:
        _check_step(step, name, distinct, outer)
    fixpoint, names = _typed(name, anchors, steps, distinct, columns, node, outer)
    outer.run.fixpoints.append(fixpoint)
    return Common(recurrence(fixpoint, names), outer, ())


def _typed(
    name: str, anchors: list[Any], steps: list[Any], distinct: bool, columns: tuple[str, ...], node: Any,
    env: SqlEnv,
) -> tuple[Fixpoint, tuple[str, ...]]:  # fmt: skip
    """The fixpoint, with the types of its columns: the least that hold what a step makes of them."""
    given = [env.run.query(anchor, env) for anchor in anchors]
    names = renamed(given[0], columns, node, env).names
    fields = tuple(record_fields(names))
    type_ = _relabelled(element_type(given[0].expr), fields)
    for rows in given[1:]:
        type_ = joined_type(type_, _columns(rows, names, node, env), node, env)
    placeholder = f"{RECURSION}{name}{f' {len(env.run.fixpoints)}' if env.run.fixpoints else ''}"
    for _ in range(_MOST_TYPES):
        _check_columns(type_, name, node, env)
        itself = Fixpoint(placeholder, type_, union(type_), distinct)
        inner = replace(env, common={**env.common, name.lower(): Common(recurrence(itself, names), env, ())})
        made = [*given, *(env.run.query(step, inner) for step in steps)]
        wider = type_
        for rows in made:
            wider = joined_type(wider, _columns(rows, names, node, env), node, env)
        if wider == type_:
            parts = [as_type(rows.expr, type_, node, env) for rows in made]
            return replace(itself, query=union(type_, *parts)), names
        type_ = wider
    raise env.error(
        node, f"the columns of {name} have no type that its step keeps", "write a CAST in the step"
    )


def _relabelled(type_: Any, fields: tuple[str, ...]) -> Record:
    assert isinstance(type_, Record)
    return Record(tuple(zip(fields, type_.types, strict=True)))


def _columns(rows: QueryRows, names: tuple[str, ...], node: Any, env: SqlEnv) -> Record:
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    if len(type_.names) != len(names):
        raise env.error(
            node, f"the queries have {len(names)} and {len(type_.names)} columns", "give both as many"
        )
    return type_


def _check_columns(type_: Record, name: str, node: Any, env: SqlEnv) -> None:
    for column, inner in type_.fields:
        if not isinstance(inner, Scalar):
            raise env.error(
                node, f"column {column} of {name}, a recursion, is a collection or a struct",
                "explode it, or name its fields as columns",
            )  # fmt: skip


# -- the tree


def _name(part: Any) -> str:
    found: str = part.args["alias"].this.name
    return found


def _inside(node: Any) -> Any:
    while isinstance(node, exp.Subquery) and not any(
        node.args.get(key) for key in ("alias", "with_", "order", "limit", "offset")
    ):
        node = node.this
    return node


def _readings(node: Any, name: str) -> Iterator[Any]:
    """Where ``node`` reads the common query ``name``; a WITH inside may give the name another meaning."""
    for table in node.find_all(exp.Table):
        is_name = isinstance(table.this, exp.Identifier) and not table.args.get("db")
        if is_name and table.name.lower() == name.lower() and not _is_hidden(table, node, name):
            yield table


def _is_hidden(table: Any, top: Any, name: str) -> bool:
    at = table
    while at is not top and at.parent is not None:
        at = at.parent
        with_ = at.args.get("with_")
        if with_ is not None and any(_name(part).lower() == name.lower() for part in with_.expressions):
            return True
    return False


def _terms(node: Any, name: str, distinct: bool) -> Iterator[Any]:
    """The queries that a chain of the same UNION joins; one inside that does not read ``name`` stays whole."""
    inner = _inside(node)
    reads = next(_readings(inner, name), None) is not None
    if (
        isinstance(inner, exp.Union)
        and reads
        and bool(inner.args.get("distinct")) == distinct
        and inner.args.get("with_") is None
    ):
        yield from _terms(inner.this, name, distinct)
        yield from _terms(inner.expression, name, distinct)
    else:
        yield node


def _check_step(step: Any, name: str, distinct: bool, env: SqlEnv) -> None:
    """Refuse a step in which a row more of ``name`` may take rows away, or which SQL's rounds run otherwise."""
    readings = list(_readings(step, name))
    for reading in readings:
        at, below = reading.parent, reading
        while at is not None and below is not step:
            _check_around(at, below, reading, name, distinct, env)
            at, below = at.parent, at
    if len(readings) > 1:
        raise env.error(
            readings[1],
            f"{name} stands twice in one step",
            f"read {name} once, and join it with the tables; or write each step after a UNION of its own",
        )


def _check_around(at: Any, below: Any, reading: Any, name: str, distinct: bool, env: SqlEnv) -> None:
    def refuse(what: str, hint: str = _OUTSIDE) -> QueryError:
        return env.error(reading, f"{name} is read by its own step {what}", hint)

    match at:
        case exp.Select():
            _check_select(at, distinct, refuse)
            _check_outer(at, below, refuse)
        case exp.Join():
            words = [(at.args.get(key) or "").upper() for key in ("side", "kind")]
            if {"LEFT", "FULL", "SEMI", "ANTI"} & set(words):
                what = f"on the right of a {' '.join(filter(None, words))} JOIN"
                raise refuse(what, f"begin FROM {name}, and join the tables")
        case exp.Except() | exp.Intersect():
            raise refuse(f"under {at.key.upper()}")
        case exp.Union() if bool(at.args.get("distinct")) != distinct:
            raise refuse("under another UNION than its own", "write the same UNION, or UNION ALL, everywhere")
        case exp.CTE() | exp.With():
            raise refuse("in a WITH inside it", "write that query in FROM")
        case exp.In() | exp.Exists() | exp.Any() | exp.All():
            raise refuse(f"in {at.key.upper()} (…)", f"join with {name} instead")
        case exp.Subquery() if not isinstance(at.parent, _PLACES):
            raise refuse("in a query in the place of a value", f"join with {name} instead")


def _check_select(select: Any, distinct: bool, refuse: Refusal) -> None:
    """What stands in a SELECT that reads it, beside FROM and WHERE."""
    if select.args.get("group") or select.args.get("having") or any(map(calls, select.expressions)):
        raise refuse("under an aggregate")
    if any(item.find(exp.Window) for item in select.expressions):
        raise refuse("under a window function")
    if any(select.args.get(key) for key in ("order", "limit", "offset")):
        raise refuse("under ORDER BY or LIMIT")
    if select.args.get("distinct") and not distinct:
        raise refuse("under DISTINCT", "write UNION instead of UNION ALL")


def _check_outer(select: Any, below: Any, refuse: Refusal) -> None:
    """A reading on the left of a RIGHT or FULL JOIN: its rows may be there without it."""
    joins = [*(select.args.get("joins") or ()), *below.find_all(exp.Join)]
    for join in joins:
        side = (join.args.get("side") or "").upper()
        if side in ("RIGHT", "FULL") and join is not below:
            raise refuse(f"beside a {side} JOIN", "write a JOIN, or a LEFT JOIN that begins with it")


def closed(fixpoints: list[Fixpoint], expr: Expr) -> tuple[Fixpoint, ...]:
    """Those that ``expr`` reads, and those that these read, in their order."""
    needed = set(relations(expr))
    for fixpoint in reversed(fixpoints):
        if fixpoint.name in needed:
            needed |= fixpoint.reads
    return tuple(fixpoint for fixpoint in fixpoints if fixpoint.name in needed)
