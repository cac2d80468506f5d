"""Structs and arrays: making them, and looking into them with lambdas.

An array of a column is a bag, unless its order is declared (``positions``); one that is written out is in order. One
that is computed from tables is an inner bag of its row and is maintained element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, conjunction, const, countwise, for_
from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Const, Expr, Field, Flatten, Term
from nestling.calculus.types import Bag, Record, Scalar
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.array_sets import ARRAY_SETS, three_valued
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.conditions import QUERIES, unit
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import (
    alike,
    condition,
    converted,
    is_nullable,
    joined,
    scalar_of,
    stored,
    without_null,
)
from nestling.frontend.sql.generators import GENERATORS, generated
from nestling.frontend.sql.list_order import ORDERED
from nestling.frontend.sql.maps import MAPS
from nestling.frontend.sql.positions import (
    POSITIONS,
    array_of,
    flattened,
    plain,
    takes,
    written_list,
)
from nestling.frontend.sql.scalars import arithmetic
from nestling.frontend.sql.values import shown
from nestling.frontend.values import (
    Many,
    Null,
    One,
    Row,
    Value,
    bag_of,
    fields_of,
    of_term,
    singleton,
    there,
    type_of,
)


def of_array(node: Any, env: SqlEnv) -> Value:
    """``array(a, b, …)`` and ``array(SELECT …)``."""
    if len(node.expressions) == 1 and isinstance(node.expressions[0], QUERIES):
        rows = env.query(node.expressions[0])
        if len(rows.names) != 1:
            hint = "make one of them: SELECT struct(a, b) …"
            raise env.error(node, f"array(SELECT …) takes one column, not {len(rows.names)}", hint)
        var = env.run.var("x", rows.expr)
        found = fields_of(of_term(var))
        assert found is not None
        return Many(for_(var, rows.expr, singleton(found[0][1], env.run.site)))
    if not node.expressions:
        raise env.error(node, "the type of an empty array is not known", "write filter(array(0), x -> false)")
    values = alike([env.value(part) for part in node.expressions], node, env)
    type_ = type_of(values[0])
    for value in values[1:]:
        wider = joined(type_, type_of(value))
        assert wider is not None
        type_ = wider
    return written_list([converted(value, type_, node, env) for value in values], env)


def of_struct(node: Any, env: SqlEnv) -> Value:
    """``struct(a, b AS c)``: a field is called as the column it is, or ``col1`` by its place."""
    fields: list[tuple[str, Value]] = []
    for i, part in enumerate(node.expressions):
        named = part.this if isinstance(part, exp.Alias) else part
        own = part.name if isinstance(part, exp.Column | exp.Identifier) else f"col{i + 1}"
        fields.append(
            (part.alias if isinstance(part, exp.Alias) else own, stored(env.value(named), named, env))
        )
    return _struct(fields, node, env)


def of_named_struct(node: Any, env: SqlEnv) -> Value:
    """``named_struct('a', x, 'b', y)``."""
    names, values = node.expressions[::2], node.expressions[1::2]
    if len(names) != len(values) or not all(isinstance(n, exp.Literal) and n.is_string for n in names):
        raise env.error(
            node, "named_struct takes names and values in turn", "write named_struct('a', x, 'b', y)"
        )
    pairs = zip(names, values, strict=True)
    return _struct([(str(n.this), stored(env.value(v), v, env)) for n, v in pairs], node, env)


def _struct(fields: list[tuple[str, Value]], node: Any, env: SqlEnv) -> Row:
    names = [name.lower() for name, _ in fields]
    if len(set(names)) < len(names) or not names:
        raise env.error(node, "the fields of a struct have different names", "write AS name")
    return Row(tuple(fields))


def of_tuple(node: Any, env: SqlEnv) -> Value:
    """``(a, b)`` on the left of IN or of a comparison."""
    return Row(tuple((f"_{i}", env.value(part)) for i, part in enumerate(node.expressions)))


def _array(node: Any, env: SqlEnv, number: int = 1) -> Many:
    """The array that is the first of ``number`` arguments."""
    if len(node.expressions) != number:
        raise env.error(node, f"{node.name} takes {number} argument{'s' * (number > 1)}")
    value = env.value(node.expressions[0])
    if not isinstance(value, Many):
        raise env.error(node.expressions[0], f"{node.name} takes an array, not {shown(value)}")
    if is_map(type_of(value)) and node.name.lower() not in ("size", "cardinality"):
        hint = "take map_keys(…), map_values(…) or map_entries(…) of it"
        raise env.error(node.expressions[0], f"{node.name} takes an array, not {shown(value)}", hint)
    return plain(value, env)


def of_present(function: Callable[[Any, SqlEnv], Value], node: Any, env: SqlEnv) -> Value:
    """What ``function`` makes of an array; null where the array is."""
    if node.name.lower() in MAKERS:
        return function(node, env)
    flags, settled = list[Term](), dict(env.settled)
    for part in node.expressions:
        if isinstance(part, (exp.Lambda, *QUERIES)):
            continue
        value = env.value(part)
        bag, is_there = bag_of(value), there(value)
        if bag is not None and is_there is not None:
            flags.append(is_there)
            settled[id(part)] = bag
    if not flags:
        return function(node, env)
    found, is_there = function(node, replace(env, settled=settled)), conjunction(flags)
    if isinstance(found, Many):
        shown_ = where(is_there, found.expr)
        return Row(((THERE, One(is_there)), (ITEMS, Many(shown_))))
    return chosen([is_there], [found, Null()], node, env)


def _parameter(node: Any, place: int, env: SqlEnv) -> tuple[str, Any]:
    """The parameter and the body of a lambda of one parameter."""
    found = node.expressions[place]
    if not isinstance(found, exp.Lambda) or len(found.expressions) != 1:
        raise env.error(node, f"{node.name} takes a lambda of one parameter", "write x -> …")
    return found.expressions[0].name, found.this


def _over(array: Many, name: str, env: SqlEnv, body: Callable[[SqlEnv], Expr]) -> Expr:
    """``body`` for each element, called ``name``."""
    var = env.run.var(name, array.expr)
    inner = replace(env, bound={**env.bound, name: of_term(var)}, match=None)
    return for_(var, array.expr, env.run.enclosed(lambda: body(inner)))


def of_exists(node: Any, env: SqlEnv) -> Value:
    """``exists(array, x -> …)``: true, or null where some test is, or false."""
    return One(_some(node, env, lambda test: test))


def of_forall(node: Any, env: SqlEnv) -> Value:
    """``forall(array, x -> …)``."""
    return One(call("not", _some(node, env, lambda test: call("not", test))))


def _some(node: Any, env: SqlEnv, of: Callable[[Term], Term]) -> Term:
    array = _array(node, env, 2)
    name, body = _parameter(node, 1, env)
    nulls: list[bool] = []

    def matches(e: SqlEnv) -> Expr:
        test = condition(body, e)
        nulls.append(is_nullable(test))
        return where(of(test), YES)

    true = call("!=", env.run.fold("count", _over(array, name, env, matches)), const(0))
    if not any(nulls):
        return true
    unknown = _over(array, name, env, lambda e: where(call("is_null", condition(body, e)), YES))
    return three_valued(true, call("!=", env.run.fold("count", unknown), const(0)))


def of_array_contains(node: Any, env: SqlEnv) -> Value:
    """``array_contains(array, value)``: null where it is not found and some element, or the value, is null."""
    array = _array(node, env, 2)
    value = env.value(node.expressions[1])
    if isinstance(value, Null):
        return One(Const(None, Scalar("bool", True)))
    var = env.run.var("x", array.expr)
    test = compared("=", of_term(var), value, node, env)
    true = call("!=", env.run.fold("count", for_(var, array.expr, where(test, YES))), const(0))
    if not is_nullable(test):
        return One(true)
    other = env.run.var("x", array.expr)
    lost = for_(
        other, array.expr, where(call("is_null", compared("=", of_term(other), value, node, env)), YES)
    )
    found = three_valued(true, call("!=", env.run.fold("count", lost), const(0)))
    term = scalar_of(value, node, env)
    if not is_nullable(term):
        return One(found)
    return One(call("if", call("is_null", term), Const(None, Scalar("bool", True)), found))


def of_size(node: Any, env: SqlEnv) -> Value:
    """``size(array)``."""
    return One(env.run.fold("count", unit(_array(node, env).expr, env)))


def of_array_distinct(node: Any, env: SqlEnv) -> Value:
    """``array_distinct(array)``."""
    return Many(countwise("distinct", _array(node, env).expr))


def of_flatten(node: Any, env: SqlEnv) -> Value:
    """``flatten(array of arrays)``."""
    takes(node, 1, 1, env)
    whole = array_of(node, 0, env)
    if is_list(type_of(whole)) and is_list(item_type(type_of(whole))):
        return flattened(whole, env)
    array = _array(node, env)
    if not isinstance(element_type(array.expr), Bag) or is_map(element_type(array.expr)):
        raise env.error(node, f"flatten takes an array of arrays, not {shown(array)}", "drop it")
    return Many(Flatten(array.expr))


def of_array_extreme(aggregate: str) -> Callable[[Any, SqlEnv], Value]:
    """``array_min`` and ``array_max``: nulls are passed over, and of nothing it is null."""

    def of(node: Any, env: SqlEnv) -> Value:
        array = _array(node, env)
        if not isinstance(element_type(array.expr), Scalar):
            raise env.error(node, f"{node.name} takes an array of scalars, not {shown(array)}")
        return One(env.run.fold(aggregate, _present(array.expr, env)))

    return of


def _present(expr: Expr, env: SqlEnv) -> Expr:
    """The elements that are not null."""
    var = env.run.var("x", expr)
    if not is_nullable(var):
        return expr
    value = without_null(of_term(var))
    return for_(var, expr, where(call("not", call("is_null", var)), singleton(value, env.run.site)))


def of_aggregate(node: Any, env: SqlEnv) -> Value:
    """``aggregate(array, start, (acc, x) -> acc + …)``, and what a last lambda makes of it."""
    parts = node.expressions
    if len(parts) != 4 or not isinstance(parts[3], exp.Lambda) or len(parts[3].expressions) != 1:
        return _summed(node, parts, env)
    whole = {parts[3].expressions[0].name: _summed(node, parts[:3], env)}
    return replace(env, bound={**env.bound, **whole}, match=None).value(parts[3].this)


def _summed(node: Any, parts: Sequence[Any], env: SqlEnv) -> Value:
    """A sum, null where a summand is."""
    shape = len(parts) == 3 and isinstance(parts[2], exp.Lambda) and len(parts[2].expressions) == 2
    body = parts[2].this if shape else None
    acc = parts[2].expressions[0].name.lower() if shape else ""
    if not isinstance(body, exp.Add) or not _is_name(body.this, acc) or _mentions(body.expression, acc):
        raise env.error(
            node, "this aggregate(…) is not supported", "write aggregate(array, 0, (acc, x) -> acc + …)"
        )
    array = env.value(parts[0])
    if not isinstance(array, Many):
        raise env.error(parts[0], f"aggregate takes an array, not {shown(array)}")
    array = plain(array, env)
    name = parts[2].expressions[1].name
    summands = _over(
        array, name, env, lambda e: singleton(stored(e.value(body.expression), body, e), env.run.site)
    )
    total = env.run.fold("sum", _present(summands, env))
    found = arithmetic("+", env.value(parts[1]), One(total), node, env)
    var = env.run.var("x", summands)
    if not is_nullable(var):
        return found
    lost = env.run.fold("count", for_(var, summands, where(call("is_null", var), YES)))
    term = scalar_of(found, node, env)
    type_ = term_type(term)
    assert isinstance(type_, Scalar)
    null = Const(None, Scalar(type_.name, True))
    return One(call("if", call("!=", lost, const(0)), null, call("nullable", term)))


def _is_name(node: Any, name: str) -> bool:
    return isinstance(node, exp.Identifier | exp.Column) and node.name.lower() == name


def _mentions(node: Any, name: str) -> bool:
    return any(part.name.lower() == name for part in node.find_all(exp.Identifier))


def _in_from(node: Any, env: SqlEnv) -> Value:
    what = f"{node.name} makes rows, and stands in FROM or alone in the select list"
    raise env.error(node, what, f"write LATERAL VIEW {node.name}(…) t AS x")


def of_lambda(node: Any, env: SqlEnv) -> Value:
    """A lambda where none is expected."""
    raise env.error(node, "a lambda stands only in transform, filter, exists, forall and aggregate")


#: What makes something of its arguments, whatever they are.
MAKERS = ("array", "struct", "named_struct", "map")

ARRAYS: dict[str, Callable[[Any, SqlEnv], Value]] = {
    "array": of_array,
    "struct": of_struct,
    "named_struct": of_named_struct,
    "exists": of_exists,
    "any_match": of_exists,
    "forall": of_forall,
    "all_match": of_forall,
    "aggregate": of_aggregate,
    "reduce": of_aggregate,
    "size": of_size,
    "cardinality": of_size,
    "array_size": of_size,
    "array_contains": of_array_contains,
    "array_distinct": of_array_distinct,
    "array_min": of_array_extreme("min"),
    "array_max": of_array_extreme("max"),
    "flatten": of_flatten,
    **MAPS,
    **POSITIONS,
    **ORDERED,
    **ARRAY_SETS,
    **dict.fromkeys(GENERATORS, _in_from),
}


def with_generators(node: Any, env: SqlEnv, rest: Callable[[SqlEnv], Expr]) -> Expr:
    """What ``rest`` yields, with one ``explode`` of the select list as a loop around it."""
    found = [item.this if isinstance(item, exp.Alias | exp.Aliases) else item for item in node.expressions]
    found = [item for item in found if isinstance(item, exp.Anonymous) and item.name.lower() in GENERATORS]
    if not found:
        return rest(env)
    if len(found) > 1:
        hint = "write LATERAL VIEW explode(…) t AS x for each"
        raise env.error(found[-1], "the select list makes rows of one array", hint)
    rows = generated(found[0], (), False, env)
    var = env.run.var("e", rows.expr)
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    columns = tuple((name, of_term(Field(var, name))) for name in type_.names)
    value = columns[0][1] if len(columns) == 1 else Row(columns)
    return for_(
        var,
        rows.expr,
        env.run.enclosed(lambda: rest(replace(env, settled={**env.settled, id(found[0]): value}))),
    )
