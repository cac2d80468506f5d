"""SELECT: loops over FROM, guards of WHERE, groups, and one row for each.

A query with aggregates has two places. In the first, inside FROM and WHERE, the keys and the arguments of the
aggregates are read: together they are the rows that are grouped. In the second, for each group, the select list and
HAVING are read: there a column is a key or nothing, and an aggregate is a fold over the rows of the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlglot import exp

from nestling.calculus.build import countwise, union
from nestling.calculus.terms import BagVar, Expr, Field, Group, Term, Tuple, Var
from nestling.calculus.types import Bag, Scalar, is_base, nullable
from nestling.calculus.typing import element_type, term_type
from nestling.errors import QueryError
from nestling.frontend.sql.aggregates import Aggregate, Folds, calls, read_call
from nestling.frontend.sql.columns import starred
from nestling.frontend.sql.conditions import guarded
from nestling.frontend.sql.context import Env, Rows, Scope, only
from nestling.frontend.sql.convert import converted, null_of, stored
from nestling.frontend.sql.grouping import grouping_sets
from nestling.frontend.sql.joins import from_clause
from nestling.frontend.sql.nested import with_generators
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import (
    Barred,
    Many,
    One,
    Row,
    Value,
    as_term,
    fields_of,
    of_term,
    shown,
    singleton,
    type_of,
)
from nestling.frontend.sql.windows import windows, with_windows

_PARTS = (
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "distinct", "with_", "hint",
    "order", "limit", "offset",
)  # fmt: skip


def of_select(node: Any, env: Env, others: Sequence[Any] = ()) -> Rows:
    """The rows of a SELECT; the values of ``others`` stand behind its columns."""
    only(node, env, *_PARTS, what="SELECT")
    if not node.expressions:
        raise env.error(node, "SELECT names no column", "write SELECT * or name the columns")
    names: list[str] = []
    if is_grouped(node) or any(map(calls, others)):
        expr = env.run.enclosed(lambda: _grouped(node, env, names, others))
    else:

        def finish(inner: Env) -> Expr:
            return _select_row(node, inner, names, others)

        def source(rest: Any) -> Expr:
            return _filtered(node, env, rest)

        over = windows([*node.expressions, *others])
        expr = env.run.enclosed(
            lambda: with_windows(node, over, source, env, finish) if over else source(finish)
        )
    distinct = node.args.get("distinct")
    if distinct is not None:
        only(distinct, env, what="DISTINCT")
        expr = countwise("distinct", expr)
    return Rows(expr, tuple(names))


def is_grouped(node: Any) -> bool:
    """Whether a SELECT groups: by GROUP BY, or because it aggregates."""
    if node.args.get("group") is not None or node.args.get("having") is not None:
        return True
    return any(calls(item) for item in node.expressions)


def _filtered(node: Any, env: Env, rest: Any) -> Expr:
    """What ``rest`` yields for every row of FROM that WHERE lets through."""
    condition = node.args.get("where")
    if condition is None:
        return from_clause(node, env, rest)
    return from_clause(node, env, lambda inner: guarded(condition.this, inner, rest))


def aliases(node: Any) -> dict[str, Any]:
    """The select items that have a name of their own."""
    items = [item for item in node.expressions if isinstance(item, exp.Alias)]
    return {item.alias.lower(): item.this for item in items}


def column_names(node: Any) -> list[str]:
    """What the columns of a SELECT are called, as far as that is known before it is read: not behind a ``*``."""
    found: list[str] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            break
        found.append(_name(item, len(found)))
    return found


def _select_row(node: Any, env: Env, names: list[str], others: Sequence[Any]) -> Expr:
    inner = replace(env, aliases=aliases(node))
    return with_generators(
        node, inner, lambda place: singleton(_row(node, place, names, others), env.run.site)
    )


def _row(node: Any, env: Env, names: list[str], others: Sequence[Any]) -> Value:
    hidden = [(f"·{i}", stored(env.value(part), part, env)) for i, part in enumerate(others)]
    return row_of([*items(node, env, names), *hidden])


def items(node: Any, env: Env, names: list[str]) -> list[tuple[str, Value]]:
    """The select list: names with values; ``names`` gets the names."""
    found: list[tuple[str, Value]] = []
    for item in node.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            found += [(name, stored(value, at, env)) for name, value, at in starred(item, env.scopes[0], env)]
        elif isinstance(item, exp.Aliases):
            raise env.error(item, "several names for one item are not supported", "write LATERAL VIEW")
        else:
            named = item.this if isinstance(item, exp.Alias) else item
            found.append((_name(item, len(found)), stored(env.value(named), named, env)))
    names[:] = [name for name, _ in found]
    return found


def _name(item: Any, place: int) -> str:
    match item:
        case exp.Alias():
            return str(item.alias)
        case exp.Column():
            return str(item.name)
        case exp.Dot() if isinstance(item.expression, exp.Identifier):
            return str(item.expression.name)
    return f"_{place}"


#: The names of the columns, to be filled in, and what stands behind them.
Shape: TypeAlias = tuple[list[str], Sequence[Any]]


@dataclass
class Grouping:
    """What the two places of a grouped query share."""

    keys: list[Term] = field(default_factory=list)
    calls: dict[int, Aggregate] = field(default_factory=dict)
    scope: Scope = ()
    inner: Env | None = None


def _grouped(node: Any, env: Env, names: list[str], others: Sequence[Any]) -> Expr:
    source, grouping, sets = grouped_source(node, env, others)
    if sets is None:
        rows = env.run.let("rows", source)
        return env.run.enclosed(lambda: _group_row(node, env, grouping, rows, None, (), (names, others)))
    parts = [_of_set(node, env, grouping, source, chosen, sets, (names, others)) for chosen in sets]
    return union(element_type(parts[0]), *parts)


def grouped_source(
    node: Any, env: Env, others: Sequence[Any] = ()
) -> tuple[Expr, Grouping, list[tuple[int, ...]] | None]:
    """The rows that are grouped, what they hold, and the grouping sets: ``None`` for one group of everything."""
    grouping = Grouping()
    for window in windows([*node.expressions, *others]):
        raise env.error(
            window, "a window over groups is not supported", "group in FROM (SELECT … GROUP BY …) first"
        )
    sets: list[list[tuple[int, ...]] | None] = [None]

    def finish(inner: Env) -> Expr:
        place = replace(inner, aliases=aliases(node))
        nodes, sets[0] = grouping_sets(node, place)
        grouping.keys = [_key(part, place) for part in nodes]
        grouping.scope, grouping.inner = inner.scopes[0], place
        for part in (*node.expressions, *_having(node), *others):
            for call_ in calls(part):
                grouping.calls[id(call_)] = read_call(call_, place)
        return singleton(row_of(_fields(grouping)), env.run.site)

    return _filtered(node, env, finish), grouping, sets[0]


def _having(node: Any) -> list[Any]:
    return [node.args["having"].this] if node.args.get("having") is not None else []


def _key(node: Any, env: Env) -> Term:
    value = stored(env.value(node), node, env)
    term = as_term(value)
    if term is None or isinstance(value, Many) or not is_base(type_of(value)):
        raise env.error(node, f"a group's key is made of scalars, not {shown(value)}", "name scalar fields")
    return term


def _fields(grouping: Grouping) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = [(f"k{i}", of_term(key)) for i, key in enumerate(grouping.keys)]
    for i, aggregate in enumerate(_different(grouping)):
        if aggregate.value is not None:
            found.append((f"a{i}", aggregate.value))
        if aggregate.filter is not None:
            found.append((f"f{i}", One(aggregate.filter)))
    return found


def _different(grouping: Grouping) -> list[Aggregate]:
    found: list[Aggregate] = []
    for aggregate in grouping.calls.values():
        if aggregate not in found:
            found.append(aggregate)
    return found


def _of_set(
    node: Any,
    env: Env,
    grouping: Grouping,
    source: Expr,
    chosen: tuple[int, ...],
    sets: Any,
    shape: Shape,
) -> Expr:
    """The rows of one grouping set: the groups by the chosen keys, the others null."""
    row = env.run.var("r", source)
    key = Tuple(tuple((f"k{i}", Field(row, f"k{i}")) for i in chosen))
    key_var = Var(env.run.names.fresh("g"), term_type(key))
    rows = BagVar(env.run.names.fresh("rows"), Bag(row.type))
    wide = {i for i in range(len(grouping.keys)) if any(i not in other for other in sets)}
    values = tuple(
        _key_value(i, chosen, key_var, grouping, i in wide, node, env) for i in range(len(grouping.keys))
    )
    body = env.run.enclosed(lambda: _group_row(node, env, grouping, rows, key_var, values, shape))
    return Group(row, source, key, key_var, rows, body)


def _key_value(
    i: int, chosen: tuple[int, ...], key: Var, grouping: Grouping, wide: bool, node: Any, env: Env
) -> Value:
    type_ = term_type(grouping.keys[i])
    if not wide:
        return of_term(Field(key, f"k{i}"))
    if not isinstance(type_, Scalar):
        raise env.error(node.args["group"], "a struct is no key of GROUPING SETS", "name its fields")
    if i not in chosen:
        return null_of(type_, node, env)
    return converted(of_term(Field(key, f"k{i}")), nullable(type_), node, env)


def _group_row(
    node: Any,
    env: Env,
    grouping: Grouping,
    rows: Expr,
    key: Var | None,
    keys: Sequence[Value],
    shape: Shape,
) -> Expr:
    """The row of a group, where HAVING holds."""
    place = group_place(node, env, grouping, rows, key is not None, keys)
    having = _having(node)

    def finish(inner: Env) -> Expr:
        return singleton(_row(node, inner, *shape), env.run.site)

    if not having:
        return finish(place)
    return guarded(having[0], place, finish)


def group_place(
    node: Any, env: Env, grouping: Grouping, rows: Expr, full: bool, keys: Sequence[Value]
) -> Env:
    """Where the select list and HAVING are read: the keys and the aggregates are known."""
    folds = Folds(rows, full, node, env)
    different = _different(grouping)
    settled: dict[int, Value] = dict(env.settled)
    values = [
        folds.value(aggregate, f"a{i}", f"f{i}" if aggregate.filter is not None else "")
        for i, aggregate in enumerate(different)
    ]
    settled |= {at: values[different.index(aggregate)] for at, aggregate in grouping.calls.items()}
    scope = tuple(replace(c, value=_in_group(c.name, c.value, grouping, keys)) for c in grouping.scope)

    def match(part: Any) -> Value | None:
        """The key that ``part`` computes."""
        if isinstance(part, exp.Column | exp.Literal) or calls(part) or part.find(exp.Query) is not None:
            return None
        assert grouping.inner is not None
        try:
            term = as_term(grouping.inner.value(part))
        except QueryError:
            return None  # not an expression of single rows: read part by part
        return keys[grouping.keys.index(term)] if term in grouping.keys else None

    return replace(env.inside(scope), aliases=aliases(node), settled=settled, match=match)


def _in_group(name: str, value: Value, grouping: Grouping, keys: Sequence[Value]) -> Value:
    """What a column is in a group: a key, a struct some fields of which are keys, or nothing."""
    term = None if isinstance(value, Barred) else as_term(value)
    if term is not None and term in grouping.keys:
        return keys[grouping.keys.index(term)]
    found = fields_of(value)
    if found is not None:
        return Row(
            tuple((field, _in_group(f"{name}.{field}", part, grouping, keys)) for field, part in found)
        )
    return Barred(
        f"{name} is neither a key of GROUP BY nor inside an aggregate",
        f"add it to GROUP BY, or aggregate it: max({name})",
    )
