"""Groups: the rows of FROM and WHERE by the keys of GROUP BY, with what is known of each group.

A query with aggregates has two places. In the first, inside FROM and WHERE, the keys and the arguments of the
aggregates are read: together they are the rows that are grouped. In the second, for each group, the select list and
HAVING are read: there a column is a key or nothing, and an aggregate is a fold over the rows of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlglot import exp

from nestling.calculus.build import union
from nestling.calculus.maps import is_map
from nestling.calculus.terms import BagVar, Const, Expr, Field, Group, Term, Tuple, Var
from nestling.calculus.types import Bag, Scalar, is_base, nullable
from nestling.calculus.typing import element_type, term_type
from nestling.errors import QueryError
from nestling.frontend.paths import identity
from nestling.frontend.sql.aggregates import GROUPING, AggregateCall, Folds, calls, read_call
from nestling.frontend.sql.by_content import array_of_group, is_array
from nestling.frontend.sql.codes import code
from nestling.frontend.sql.comparing import DECLARE
from nestling.frontend.sql.conditions import guarded
from nestling.frontend.sql.context import Scope, SqlEnv
from nestling.frontend.sql.convert import converted, null_of, stored
from nestling.frontend.sql.grouping import Sets, grouping_sets
from nestling.frontend.sql.joins import from_clause
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import shown
from nestling.frontend.sql.windows import WindowInput
from nestling.frontend.values import (
    Barred,
    Many,
    One,
    Row,
    Value,
    as_term,
    bag_of,
    fields_of,
    of_term,
    singleton,
    type_of,
)

#: What is made of a group: of the place where it is read, its keys, and the values that are known there.
Finish: TypeAlias = Callable[[SqlEnv, Sequence[Value], Sequence[Value]], Expr]


def filtered(node: Any, env: SqlEnv, rest: Any) -> Expr:
    """What ``rest`` yields for every row of FROM that WHERE lets through."""
    condition = node.args.get("where")
    if condition is None:
        return from_clause(node, env, rest)
    return from_clause(node, env, lambda inner: guarded(condition.this, inner, rest))


def aliases(node: Any) -> dict[str, Any]:
    """The select items that have a name of their own."""
    items = [item for item in node.expressions if isinstance(item, exp.Alias)]
    return {**_time_windows(node), **{item.alias.lower(): item.this for item in items}}


def _time_windows(node: Any) -> dict[str, Any]:
    """``window(…)`` as a key of GROUP BY is called so."""
    group = node.args.get("group")
    keys = group.expressions if group is not None else ()
    found = [key for key in keys if isinstance(key, exp.Anonymous) and key.name.lower() == "window"]
    return {"window": found[0]} if found else {}


@dataclass
class Grouping:
    """What the two places of a grouped query share.

    ``nodes`` are the keys as they are written, ``marks`` the calls of ``grouping`` and ``grouping_id``, with the keys
    they ask about.
    """

    keys: list[Term] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    arrays: dict[int, Value] = field(
        default_factory=dict
    )  # keys that are arrays, by their place: codes stand for them
    calls: dict[int, AggregateCall] = field(default_factory=dict)
    #: Where each of the calls stands.
    written: dict[int, Any] = field(default_factory=dict)
    marks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    scope: Scope = ()
    inner: SqlEnv | None = None


def group_rows(node: Any, env: SqlEnv, others: Sequence[Any]) -> WindowInput:
    """The groups where HAVING holds, as rows of their keys and of what is known of them."""
    source, grouping, sets = grouped_source(node, env, others)
    held: list[tuple[Sequence[Value], Sequence[Value]]] = []

    def groups(rest: Callable[[SqlEnv], Expr]) -> Expr:
        def finish(place: SqlEnv, keys: Sequence[Value], known: Sequence[Value]) -> Expr:
            held.append((keys, known))
            return rest(place)

        if sets is None:
            rows = env.run.let("rows", source)
            return env.run.enclosed(lambda: _group(node, env, grouping, rows, None, (), finish))
        parts = [_of_set(node, env, grouping, source, chosen, sets, finish) for chosen in sets]
        return union(element_type(parts[0]), *parts)

    def record(inner: SqlEnv) -> Value:
        keys, known = held[-1]
        named = [
            *((f"k{i}", key) for i, key in enumerate(keys)),
            *((f"a{i}", v) for i, v in enumerate(known)),
        ]
        return row_of(named)

    def fields(row: Var, letter: str, number: int) -> list[Value]:
        return [of_term(Field(row, f"{letter}{i}")) for i in range(number)]

    def place(row: Var) -> SqlEnv:
        keys, known = held[-1]
        return _placed(node, env, grouping, fields(row, "k", len(keys)), fields(row, "a", len(known)))

    def key(row: Var) -> list[Value]:
        return fields(row, "k", len(grouping.keys)) if sets is not None and len(sets) == 1 else []

    return WindowInput(groups, record, place, key)


def grouped_source(node: Any, env: SqlEnv, others: Sequence[Any] = ()) -> tuple[Expr, Grouping, Sets | None]:
    """The rows that are grouped, what they hold, and the grouping sets: ``None`` for one group of everything."""
    grouping = Grouping()
    sets: list[Sets | None] = [None]

    def finish(inner: SqlEnv) -> Expr:
        place = replace(inner, aliases=aliases(node))
        nodes, sets[0] = grouping_sets(node, place)
        grouping.keys, grouping.nodes = (
            [_key(part, i, place, grouping) for i, part in enumerate(nodes)],
            nodes,
        )
        if grouping.arrays and len(sets[0] or ()) != 1:
            raise env.error(
                nodes[min(grouping.arrays)], "an array is no key of GROUPING SETS", "group by it alone"
            )
        grouping.scope, grouping.inner = inner.scopes[0], place
        for part in (*node.expressions, *_having(node), *others):
            for call_ in calls(part):
                if call_.name.lower() in GROUPING:
                    grouping.marks[id(call_)] = _marked(call_, grouping, place)
                else:
                    grouping.calls[id(call_)] = read_call(call_, place)
                    grouping.written[id(call_)] = call_
        return singleton(row_of(_fields(grouping)), env.run.site)

    return filtered(node, env, finish), grouping, sets[0]


def _marked(node: Any, grouping: Grouping, env: SqlEnv) -> tuple[int, ...]:
    """The keys that ``grouping(key)`` or ``grouping_id(key, …)`` asks about, by their places."""
    terms = [as_term(env.value(part)) for part in node.expressions]
    if not grouping.keys or any(term not in grouping.keys for term in terms):
        raise env.error(node, f"{node.name} takes keys of GROUP BY", "name one of them")
    if node.name.lower() == "grouping" and len(terms) != 1:
        raise env.error(node, "grouping takes one key", "write grouping_id(…) for several")
    return tuple(grouping.keys.index(term) for term in terms if term) or tuple(range(len(grouping.keys)))


def _having(node: Any) -> list[Any]:
    return [node.args["having"].this] if node.args.get("having") is not None else []


def _key(node: Any, place: int, env: SqlEnv, grouping: Grouping) -> Term:
    value = stored(env.value(node), node, env)
    if is_array(type_of(value)):
        grouping.arrays[place] = value
        return code(value, node, env)
    if bag_of(value) is not None and not is_map(type_of(bag_of(value) or value)):
        raise env.error(node, f"a group's key is an array in order, and this {shown(value)} is none", DECLARE)
    term = as_term(value)
    if term is None or isinstance(value, Many) or not is_base(type_of(value)):
        raise env.error(node, f"a group's key is made of scalars, not {shown(value)}", "name scalar fields")
    return term


def _fields(grouping: Grouping) -> list[tuple[str, Value]]:
    found: list[tuple[str, Value]] = [(f"k{i}", of_term(key)) for i, key in enumerate(grouping.keys)]
    found += [(f"l{i}", value) for i, value in grouping.arrays.items()]
    for i, aggregate in enumerate(_different(grouping)):
        if aggregate.value is not None:
            found.append((f"a{i}", aggregate.value))
        if aggregate.filter is not None:
            found.append((f"f{i}", One(aggregate.filter)))
    return found


def _different(grouping: Grouping) -> list[AggregateCall]:
    found: list[AggregateCall] = []
    for aggregate in grouping.calls.values():
        if aggregate not in found:
            found.append(aggregate)
    return found


def _of_set(
    node: Any,
    env: SqlEnv,
    grouping: Grouping,
    source: Expr,
    chosen: tuple[int, ...],
    sets: Sets,
    finish: Finish,
) -> Expr:
    """The groups of one grouping set: by the chosen keys, the others null."""
    with env.run.reading(node.args["group"]):
        row, at = env.run.var("r", source), env.run.place()
    key = Tuple(tuple((f"k{i}", Field(row, f"k{i}")) for i in chosen))
    key_var = Var(env.run.names.fresh("g"), term_type(key), at)
    rows = BagVar(env.run.names.fresh("rows"), Bag(row.type))
    wide = {i for i in range(len(grouping.keys)) if any(i not in other for other in sets)}
    values = tuple(
        _key_value(i, chosen, key_var, grouping, i in wide, node, env) for i in range(len(grouping.keys))
    )
    values = tuple(
        array_of_group(rows, f"l{i}", Field(key_var, f"k{i}")) if i in grouping.arrays else value
        for i, value in enumerate(values)
    )
    body = env.run.enclosed(lambda: _group(node, env, grouping, rows, chosen, values, finish))
    return Group(row, source, key, key_var, rows, body)


def _key_value(
    i: int, chosen: tuple[int, ...], key: Var, grouping: Grouping, wide: bool, node: Any, env: SqlEnv
) -> Value:
    type_ = term_type(grouping.keys[i])
    if not wide:
        return of_term(Field(key, f"k{i}"))
    if not isinstance(type_, Scalar):
        raise env.error(node.args["group"], "a struct is no key of GROUPING SETS", "name its fields")
    if i not in chosen:
        return null_of(type_, node, env)
    return converted(of_term(Field(key, f"k{i}")), nullable(type_), node, env)


def _group(
    node: Any,
    env: SqlEnv,
    grouping: Grouping,
    rows: Expr,
    chosen: tuple[int, ...] | None,
    keys: Sequence[Value],
    finish: Finish,
) -> Expr:
    """What ``finish`` yields for a group, where HAVING holds."""
    known = [*_aggregated(node, env, grouping, rows, chosen is not None), *_marks(grouping, chosen or ())]
    place = _placed(node, env, grouping, keys, known)
    having = _having(node)
    if not having:
        return finish(place, keys, known)
    return guarded(having[0], place, lambda inner: finish(inner, keys, known))


def _aggregated(node: Any, env: SqlEnv, grouping: Grouping, rows: Expr, full: bool) -> list[Value]:
    """The values of the different aggregates over the rows of a group."""
    folds = Folds(rows, full, node, env)
    found = []
    for i, aggregate in enumerate(_different(grouping)):
        where = next(at for at, call_ in grouping.calls.items() if call_ == aggregate)
        with env.run.reading(grouping.written[where]):
            found.append(folds.value(aggregate, f"a{i}", f"f{i}" if aggregate.filter is not None else ""))
    return found


def _marks(grouping: Grouping, chosen: tuple[int, ...]) -> list[Value]:
    """Which keys are not grouped by in this set: a bit for each, the first of them highest."""
    found: list[Value] = []
    for asked in grouping.marks.values():
        bits = int("".join("0" if i in chosen else "1" for i in asked), 2)
        found.append(One(Const(bits, Scalar("int", size=(64,)))))
    return found


def group_place(node: Any, env: SqlEnv, grouping: Grouping, rows: Expr) -> SqlEnv:
    """Where the select list of a query that makes one group of everything is read."""
    return _placed(node, env, grouping, (), _aggregated(node, env, grouping, rows, False))


def _placed(
    node: Any, env: SqlEnv, grouping: Grouping, keys: Sequence[Value], known: Sequence[Value]
) -> SqlEnv:
    """Where the select list and HAVING are read: the keys and the aggregates are known."""
    different = _different(grouping)
    settled = {at: known[different.index(aggregate)] for at, aggregate in grouping.calls.items()}
    settled |= {at: known[len(different) + i] for i, at in enumerate(grouping.marks)}
    scope = tuple(replace(c, value=_in_group(c.name, c.value, grouping, keys)) for c in grouping.scope)

    def match(part: Any) -> Value | None:
        """The key that ``part`` computes."""
        if isinstance(part, exp.Column | exp.Literal) or calls(part) or part.find(exp.Query) is not None:
            return None
        if part in grouping.nodes:
            return keys[
                grouping.nodes.index(part)
            ]  # as written: an aggregate inside has another name each time
        assert grouping.inner is not None
        pending = list(env.run.pending)
        try:
            term = as_term(grouping.inner.value(part))
        except QueryError:
            return None  # not an expression of single rows: read part by part
        finally:
            env.run.pending[:] = pending  # what was bound for it belongs to a single row
        return keys[grouping.keys.index(term)] if term in grouping.keys else None

    return replace(env.inside(scope), aliases=aliases(node), settled={**env.settled, **settled}, match=match)


def _in_group(name: str, value: Value, grouping: Grouping, keys: Sequence[Value]) -> Value:
    """What a column is in a group: a key, a struct some fields of which are keys, or nothing."""
    term = None if isinstance(value, Barred) else as_term(value)
    for i, array in grouping.arrays.items():
        if term is not None and as_term(array) == term:
            return keys[i]
    if term is not None and term in grouping.keys:
        return keys[grouping.keys.index(term)]
    found = fields_of(value)
    if found is not None:
        return Row(
            tuple((field, _in_group(f"{name}.{field}", part, grouping, keys)) for field, part in found)
        )
    hint = f"add it to GROUP BY, or aggregate it: max({name})"
    if term is not None and identity(term_type(term)) is not None:
        hint = f"read what it leads to in FROM first: FROM (SELECT {name}.… AS x FROM …) GROUP BY x"
    return Barred(f"{name} is neither a key of GROUP BY nor inside an aggregate", hint)
