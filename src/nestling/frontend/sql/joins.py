"""FROM: tables, queries and joins as loops.

::

    L LEFT JOIN R ON c   =   (for l in L for r in R where c: ⟨l, r⟩)
                             ⊎ (for l in L where no r in R satisfies c: ⟨l, null …⟩)

The inner joins before an outer one are its left side, rows of their own; those after it loop over what it yields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sqlglot import exp

from nestling.calculus.build import call, conjunction, for_, union
from nestling.calculus.optional import optional
from nestling.calculus.terms import Expr, Field, Term
from nestling.calculus.types import Record
from nestling.calculus.typing import element_type
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.columns import same
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.conditions import absent, guarded, present
from nestling.frontend.sql.context import YES, QueryRows, Scope, ScopeColumn, SqlEnv, only, where
from nestling.frontend.sql.convert import converted, scalar_of
from nestling.frontend.sql.generators import GENERATORS, generated, unnested
from nestling.frontend.sql.pivots import pivoted
from nestling.frontend.sql.tables import of_name, renamed, row_of
from nestling.frontend.values import Barred, Null, Row, Value, of_term, singleton, type_of

Rest: TypeAlias = Callable[[SqlEnv], Expr]


@dataclass(frozen=True, slots=True)
class FromItem:
    """One part of FROM: what is read, and how it joins what stands before it."""

    node: Any
    kind: str = "inner"
    on: Any = None
    using: tuple[str, ...] = ()
    natural: bool = False


def from_clause(node: Any, env: SqlEnv, rest: Rest) -> Expr:
    """What ``rest`` yields for every row of FROM; without a FROM there is one row without columns."""
    source = node.args.get("from_")
    if source is None:
        if node.args.get("laterals"):
            raise env.error(node, "LATERAL VIEW needs a FROM")
        return rest(env.inside(()))
    only(source, env, "this", what="FROM")
    steps = [FromItem(source.this), *_attached(source.this, env)]
    later = [(part, _join(part, env)) for part in node.args.get("joins") or ()]
    later += [(part, FromItem(part)) for part in node.args.get("laterals") or ()]
    later.sort(key=lambda pair: _start(pair[0]))
    return _loops((*steps, *(step for _, step in later)), env, rest)


def _start(node: Any) -> int:
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=0)


def _attached(node: Any, env: SqlEnv) -> list[FromItem]:
    """Joins and views that the parser hangs on the table itself."""
    joins = [_join(part, env) for part in node.args.get("joins") or ()]
    return [*joins, *(FromItem(part) for part in node.args.get("laterals") or ())]


def _join(node: Any, env: SqlEnv) -> FromItem:
    only(node, env, "this", "side", "kind", "on", "using", "method", what="JOIN")
    method = (node.args.get("method") or "").upper()
    side, kind = ((node.args.get(key) or "").upper() for key in ("side", "kind"))
    if method not in ("", "NATURAL") or kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"):
        raise env.error(
            node, f"{method or kind} JOIN is not supported", "write INNER, LEFT, RIGHT, FULL, SEMI or ANTI"
        )
    if kind in ("SEMI", "ANTI"):
        if side not in ("", "LEFT"):
            raise env.error(node, f"{side} {kind} JOIN is not supported", f"write LEFT {kind} JOIN")
        name = kind.lower()
    else:
        name = side.lower() or "inner"
    if name == "left" and _is_lateral_array(node):
        outer = node.this.copy()
        outer.set("outer", True)
        return FromItem(outer)
    using = tuple(part.name for part in node.args.get("using") or ())
    on = node.args.get("on")
    if name in ("left", "right", "full", "semi", "anti") and on is None and not using and method != "NATURAL":
        raise env.error(node, f"a {name.upper()} JOIN needs a condition", "write ON … or USING (…)")
    return FromItem(node.this, name, on, using, method == "NATURAL")


def _is_lateral_array(node: Any) -> bool:
    """Whether a join is ``LEFT JOIN LATERAL explode(…) ON true``: LATERAL VIEW OUTER."""
    on, right = node.args.get("on"), node.this
    if not isinstance(right, exp.Lateral) or not isinstance(right.this, exp.Anonymous):
        return False
    return isinstance(on, exp.Boolean) and bool(on.this)


def _loops(steps: Sequence[FromItem], env: SqlEnv, rest: Rest) -> Expr:
    """The steps one inside the other; the last outer join takes all before it for its left side."""
    outer = [i for i, step in enumerate(steps) if step.kind in ("left", "right", "full")]
    if not outer:
        return _inner_steps(steps, (), env, rest)
    last = outer[-1]
    rows, scope_of = _outer_join(steps[:last], steps[last], env)
    var = env.run.var("j", rows)
    return for_(var, rows, _inner_steps(steps[last + 1 :], scope_of(var), env, rest))


def _inner_steps(steps: Sequence[FromItem], scope: Scope, env: SqlEnv, rest: Rest) -> Expr:
    if not steps:
        return env.run.enclosed(lambda: rest(env.inside(scope)))
    first, *others = steps
    return env.run.enclosed(lambda: _inner_step(first, others, scope, env, rest))


def _inner_step(step: FromItem, others: Sequence[FromItem], scope: Scope, env: SqlEnv, rest: Rest) -> Expr:
    alias, rows = source(step.node, scope, env)
    with env.run.reading(step.on or step.node):
        var = env.run.var(alias, rows.expr)
    own = columns(alias, rows, var)
    _check_alias(alias, scope, step, env)
    joined, tests = _merged(step, scope, own, env)

    def matched(inner: Rest) -> Expr:
        """What ``inner`` yields where the condition of the join holds."""
        place = env.inside(joined)
        body = (lambda: guarded(step.on, place, inner)) if step.on is not None else (lambda: inner(place))
        return where(conjunction(tests), env.run.enclosed(body)) if tests else env.run.enclosed(body)

    if step.kind in ("semi", "anti"):
        matches = for_(var, rows.expr, matched(lambda _: YES))

        def after(_: SqlEnv) -> Expr:
            return _inner_steps(others, scope, env, rest)

        return present(matches, env, after) if step.kind == "semi" else absent(matches, env, after, step.node)
    return for_(var, rows.expr, matched(lambda _: _inner_steps(others, joined, env, rest)))


def _check_alias(alias: str, scope: Scope, step: FromItem, env: SqlEnv) -> None:
    if alias and any(same(column.table, alias) for column in scope):
        raise env.error(step.node, f"{alias} stands twice in FROM", "give one of them another alias")


def source(node: Any, scope: Scope, env: SqlEnv) -> tuple[str, QueryRows]:
    """The rows that a part of FROM reads, and the name they go by."""
    if node.args.get("pivots"):
        called, query = pivoted(node, env)
        return called, env.query(query)
    alias = node.args.get("alias")
    name = alias.this.name if alias is not None and alias.this is not None else ""
    names = [column.name for column in (alias.args.get("columns") or ())] if alias is not None else []
    match node:
        case exp.Lateral():
            only(node, env, "this", "alias", "view", "outer", what="LATERAL")
            return name, _lateral(node, names, replace(env, scopes=(scope, *env.scopes)))
        case exp.Unnest():
            return name, unnested(node, names or [name or "col"], replace(env, scopes=(scope, *env.scopes)))
        case exp.Table() if isinstance(node.this, exp.Anonymous):
            only(node, env, "this", "alias")
            return name, generated(node.this, names, False, env)
        case exp.Table():
            return name or node.this.name, renamed(of_name(node, env), names, node, env)
        case exp.Subquery() if isinstance(node.this, exp.Table):
            rows = _parenthesised(node.this, env)
            return name, renamed(replace(rows, tables=()), names, node, env) if name else rows
        case exp.Subquery() | exp.Values():
            return name, renamed(env.query(node), names, node, env)
    raise env.error(node, f"{node.key.upper()} in FROM is not supported", "read a table or (SELECT …) AS t")


def _parenthesised(node: Any, env: SqlEnv) -> QueryRows:
    """The rows of ``(a JOIN b ON …)``, whose columns keep the names of their tables."""
    scopes: list[Scope] = []

    def whole(inner: SqlEnv) -> Expr:
        scopes.append(tuple(c for c in inner.scopes[0] if c.open and not isinstance(c.value, Barred)))
        return singleton(record_of(scopes[-1]), env.run.site)

    expr = _loops((FromItem(node), *_attached(node, env)), env, whole)
    return QueryRows(expr, tuple(c.name for c in scopes[-1]), tuple(c.table for c in scopes[-1]))


def _lateral(node: Any, names: Sequence[str], env: SqlEnv) -> QueryRows:
    if isinstance(node.this, exp.Subquery):
        return renamed(env.query(node.this), names, node, env)
    if isinstance(node.this, exp.Anonymous) and node.this.name.lower() in GENERATORS:
        return generated(node.this, names, bool(node.args.get("outer")), env)
    raise env.error(node, "LATERAL takes a query or explode(…)", "write LATERAL (SELECT …) AS t")


def columns(table: str, rows: QueryRows, row: Any) -> Scope:
    """The columns of one row of ``rows``, held by the variable ``row``."""
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    tables = rows.tables or (table,) * len(rows.names)
    parts = zip(tables, rows.names, type_.names, strict=True)
    return tuple(ScopeColumn(of, name, of_term(Field(row, field))) for of, name, field in parts)


def _merged(step: FromItem, left: Scope, right: Scope, env: SqlEnv) -> tuple[Scope, list[Term]]:
    """The columns of a join, those of USING first and once, and the equations it implies."""
    shared = _shared(step, left, right, env)
    if not shared:
        return (*left, *right), []
    tests, merged = [], []
    for name in shared:
        one, two = (_column(name, side, step, env) for side in (left, right))
        tests.append(compared("=", one.value, two.value, step.node, env))
        merged.append(ScopeColumn("", one.name, _merged_value(step, one.value, two.value, env)))
    # Of ``t.*`` too, the columns of USING come first.
    closed, rest = [], []
    for column in (*left, *right):
        if any(same(column.name, name) for name in shared):
            closed.append(replace(column, open=False))
        else:
            rest.append(column)
    closed.sort(key=lambda c: [same(c.name, name) for name in shared].index(True))
    return (*merged, *closed, *rest), tests


def _merged_value(step: FromItem, left: Value, right: Value, env: SqlEnv) -> Value:
    if step.kind == "right":
        return right
    if step.kind != "full":
        return left
    term = scalar_of(left, step.node, env)
    return chosen([call("is_null", term)], [right, left], step.node, env)


def _shared(step: FromItem, left: Scope, right: Scope, env: SqlEnv) -> list[str]:
    if not step.natural:
        return list(step.using)
    found = [c.name for c in right if any(c2.open and same(c.name, c2.name) for c2 in left)]
    if not found:
        raise env.error(step.node, "the tables of this NATURAL JOIN share no column", "write ON …")
    return found


def _column(name: str, scope: Scope, step: FromItem, env: SqlEnv) -> ScopeColumn:
    hits = [column for column in scope if column.open and same(column.name, name)]
    if len(hits) != 1:
        what = "is not in both tables" if not hits else "is ambiguous"
        raise env.error(step.node, f"column {name} of USING {what}", "write ON …")
    return hits[0]


def _outer_join(
    before: Sequence[FromItem], step: FromItem, env: SqlEnv
) -> tuple[Expr, Callable[[Any], Scope]]:
    """The rows of an outer join, and its columns given the variable that holds a row."""
    place: dict[str, Scope] = {}

    def left_row(inner: SqlEnv) -> Expr:
        place["left"] = inner.scopes[0]
        return singleton(record_of(inner.scopes[0]), env.run.site)

    left = _loops(before, env, left_row)
    if isinstance(step.node, exp.Lateral):
        return _left_lateral(step, left, place["left"], env)
    alias, rows = source(step.node, (), env)
    _check_alias(alias, place["left"], step, env)
    return _padded(step, left, place["left"], alias, rows, env)


def _padded(
    step: FromItem, left: Expr, left_scope: Scope, alias: str, rows: QueryRows, env: SqlEnv
) -> tuple[Expr, Callable[[Any], Scope]]:
    run = env.run
    pads = {"left": step.kind != "left", "right": step.kind != "right"}
    sample = _sample(alias, rows, env)

    def pair(build: Callable[[Scope, Scope], Expr]) -> tuple[Any, Any, Expr]:
        one, two = run.var("l", left), run.var(alias, rows.expr)
        ours, theirs = held(left_scope, one), columns(alias, rows, two)
        return one, two, build(ours, theirs)

    def matching(body: Expr, ours: Scope, theirs: Scope) -> Expr:
        scope, tests = _merged(step, ours, theirs, env)
        place = env.inside(scope)
        inner = guarded(step.on, place, lambda _: body) if step.on is not None else body
        return where(conjunction(tests), inner) if tests else inner

    def whole(ours: Scope | None, theirs: Scope | None) -> Expr:
        one = _nullable(ours, left_scope, pads["left"], step, env)
        two = _nullable(theirs, sample, pads["right"], step, env)
        return singleton(record_of((*one, *two)), run.site)

    one, two, body = pair(lambda ours, theirs: matching(whole(ours, theirs), ours, theirs))
    parts = [for_(one, left, for_(two, rows.expr, body))]
    if step.kind in ("left", "full"):
        one, two, body = pair(lambda ours, theirs: matching(YES, ours, theirs))
        lonely = absent(
            for_(two, rows.expr, body), env, lambda _: whole(held(left_scope, one), None), step.node
        )
        parts.append(for_(one, left, lonely))
    if step.kind in ("right", "full"):
        one, two, body = pair(lambda ours, theirs: matching(YES, ours, theirs))
        lonely = absent(
            for_(one, left, body), env, lambda _: whole(None, columns(alias, rows, two)), step.node
        )
        parts.append(for_(two, rows.expr, lonely))
    expr = union(element_type(parts[0]), *parts)
    return expr, lambda var: _scope_of(var, left_scope, sample, step, env)


def _left_lateral(
    step: FromItem, left: Expr, left_scope: Scope, env: SqlEnv
) -> tuple[Expr, Callable[[Any], Scope]]:
    """``L LEFT JOIN LATERAL (…) AS q ON c``: what the query has for a row, or nulls where that is nothing."""
    if step.kind != "left":
        what = f"a {step.kind.upper()} JOIN with LATERAL has no rows to read"
        raise env.error(step.node, what, "write LEFT JOIN LATERAL")
    run, samples = env.run, list[Scope]()

    def matching(ours: Scope, body: Callable[[Scope], Expr]) -> Expr:
        alias, rows = source(step.node, ours, env)
        _check_alias(alias, left_scope, step, env)
        two = run.var(alias, rows.expr)
        theirs = columns(alias, rows, two)
        samples.append(theirs)
        scope, tests = _merged(step, ours, theirs, env)
        place = env.inside(scope)
        found = guarded(step.on, place, lambda _: body(theirs)) if step.on is not None else body(theirs)
        return for_(two, rows.expr, where(conjunction(tests), found) if tests else found)

    def whole(ours: Scope, theirs: Scope | None) -> Expr:
        two = _nullable(theirs, samples[0], True, step, env)
        return singleton(record_of((*ours, *two)), run.site)

    def each(build: Callable[[Scope], Expr]) -> Expr:
        var = run.var("l", left)
        return for_(var, left, run.enclosed(lambda: build(held(left_scope, var))))

    def lonely(ours: Scope) -> Expr:
        return absent(matching(ours, lambda _: YES), env, lambda _: whole(ours, None), step.node)

    found = each(lambda ours: matching(ours, lambda theirs: whole(ours, theirs)))
    expr = union(element_type(found), found, each(lonely))
    return expr, lambda var: _scope_of(var, left_scope, samples[0], step, env)


def _scope_of(var: Any, left: Scope, right: Scope, step: FromItem, env: SqlEnv) -> Scope:
    """The columns of an outer join, given the variable that holds a row: each has its place, one after the other."""
    names = iter(_names(var.type))
    one = tuple(replace(c, value=_from_row(c, var, names)) for c in left)
    two = tuple(replace(c, value=_from_row(c, var, names)) for c in right)
    return _merged(step, one, two, env)[0]


def _names(type_: Any) -> list[str]:
    assert isinstance(type_, Record)
    return list(type_.names)


def _sample(alias: str, rows: QueryRows, env: SqlEnv) -> Scope:
    return columns(alias, rows, env.run.var(alias, rows.expr))


def record_of(scope: Scope) -> Row:
    """The columns of ``scope`` as one record; what may not be used is left out."""
    return row_of([(column.name, column.value) for column in scope if not isinstance(column.value, Barred)])


def held(scope: Scope, var: Any) -> Scope:
    """``scope`` with its values taken from the record of ``record_of``."""
    names = iter(_names(var.type))
    return tuple(
        column
        if isinstance(column.value, Barred)
        else replace(column, value=of_term(Field(var, next(names))))
        for column in scope
    )


def _nullable(scope: Scope | None, like: Scope, pads: bool, step: FromItem, env: SqlEnv) -> Scope:
    """One side of a row: its columns, or nulls where there is no partner; nullable where it ``pads``."""
    if not pads:
        assert scope is not None
        return scope
    found = []
    for i, column in enumerate(like):
        if isinstance(column.value, Barred):
            found.append(column)
            continue
        type_ = optional(type_of(column.value))
        value = Null() if scope is None else scope[i].value
        found.append(replace(column, value=converted(value, type_, step.node, env)))
    return tuple(found)


def _from_row(column: ScopeColumn, var: Any, names: Any) -> Value:
    if isinstance(column.value, Barred):
        return column.value
    return of_term(Field(var, next(names)))
