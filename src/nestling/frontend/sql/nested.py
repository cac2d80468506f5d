"""Structs and arrays: making them, and looking into them with lambdas.

An array is a bag: its elements have no positions. One that is computed from tables is an inner bag of its row and is
maintained element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const, countwise, for_, union
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, THERE
from nestling.calculus.terms import Const, Expr, Field, Flatten, Term
from nestling.calculus.types import Bag, Record, Scalar
from nestling.calculus.typing import element_type, term_type
from nestling.frontend.sql.aggregates import without_null
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.conditions import QUERIES, YES, guarded, unit
from nestling.frontend.sql.context import SqlEnv, where
from nestling.frontend.sql.convert import (
    alike,
    condition,
    elementwise,
    is_nullable,
    joined,
    scalar_of,
    stored,
)
from nestling.frontend.sql.generators import GENERATORS, generated
from nestling.frontend.sql.maps import MAPS, looked_up
from nestling.frontend.sql.scalars import arithmetic, compared
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
    parts = [elementwise(singleton(value, env.run.site), type_, node, env) for value in values]
    return Many(union(type_, *parts))


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
    return value


def of_present(function: Callable[[Any, SqlEnv], Value], node: Any, env: SqlEnv) -> Value:
    """What ``function`` makes of an array; null where the array is."""
    first = node.expressions[0] if node.expressions else None
    if first is None or isinstance(first, (exp.Lambda, *QUERIES)) or node.name.lower() in MAKERS:
        return function(node, env)
    value = env.value(first)
    bag, is_there = bag_of(value), there(value)
    if bag is None or is_there is None:
        return function(node, env)
    found = function(node, replace(env, settled={**env.settled, id(first): bag}))
    if isinstance(found, Many):
        shown_ = where(is_there, found.expr)
        return Row(((THERE, One(is_there)), (ITEMS, Many(shown_))))
    return chosen([is_there], [found, Null()], node, env)


def _parameter(node: Any, place: int, env: SqlEnv) -> tuple[str, Any]:
    """The parameter and the body of a lambda of one parameter."""
    found = node.expressions[place]
    if not isinstance(found, exp.Lambda) or len(found.expressions) != 1:
        hint = "an array is a bag and has no positions: write x -> …"
        raise env.error(node, f"{node.name} takes a lambda of one parameter", hint)
    return found.expressions[0].name, found.this


def _over(array: Many, name: str, env: SqlEnv, body: Callable[[SqlEnv], Expr]) -> Expr:
    """``body`` for each element, called ``name``."""
    var = env.run.var(name, array.expr)
    inner = replace(env, bound={**env.bound, name: of_term(var)}, match=None)
    return for_(var, array.expr, env.run.enclosed(lambda: body(inner)))


def of_transform(node: Any, env: SqlEnv) -> Value:
    """``transform(array, x -> …)``."""
    array = _array(node, env, 2)
    name, body = _parameter(node, 1, env)
    return Many(_over(array, name, env, lambda e: singleton(stored(e.value(body), body, e), env.run.site)))


def of_filter(node: Any, env: SqlEnv) -> Value:
    """``filter(array, x -> …)``."""
    array = _array(node, env, 2)
    name, test = _parameter(node, 1, env)
    return Many(
        _over(
            array, name, env, lambda e: guarded(test, e, lambda f: singleton(_bound(f, name), env.run.site))
        )
    )


def _bound(env: SqlEnv, name: str) -> Value:
    return env.bound[name]


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


def three_valued(true: Term, unknown: Term) -> Term:
    """True, or else null, or else false."""
    null = Scalar("bool", True)
    return call("if", true, Const(True, null), call("if", unknown, Const(None, null), Const(False, null)))


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


def added(values: Sequence[Value], node: Any, env: SqlEnv) -> Value:
    """``concat`` of arrays."""
    arrays = [value for value in values if isinstance(value, Many)]
    if len(arrays) < len(values):
        raise env.error(node, "concat takes strings or arrays, not both", "make an array of it: array(…)")
    if any(is_map(type_of(array)) for array in arrays):
        raise env.error(node, "concat takes arrays, not maps", "explode them and group by key")
    alike_ = [value.expr for value in alike(arrays, node, env) if isinstance(value, Many)]
    return Many(union(element_type(alike_[0]), *alike_))


def _refused(hint: str) -> Callable[[Any, SqlEnv], Value]:
    def of(node: Any, env: SqlEnv) -> Value:
        raise env.error(node, f"{node.name} is not supported: an array is a bag here", hint)

    return of


def of_bracket(node: Any, env: SqlEnv) -> Value:
    """``map[key]``; ``array[0]`` there is not."""
    value = env.value(node.this)
    bag = bag_of(value)
    if bag is not None and is_map(type_of(bag)) and len(node.expressions) == 1:
        # A map that is null has no entries: what is looked up is null, too.
        return looked_up(bag, env.value(node.expressions[0]), node, env)
    raise env.error(
        node, "an array is a bag and has no positions", "explode it, or take array_min or array_max"
    )


def of_lambda(node: Any, env: SqlEnv) -> Value:
    """A lambda where none is expected."""
    raise env.error(node, "a lambda stands only in transform, filter, exists, forall and aggregate")


#: What makes something of its arguments, whatever they are.
MAKERS = ("array", "struct", "named_struct", "map")

ARRAYS: dict[str, Callable[[Any, SqlEnv], Value]] = {
    "array": of_array,
    "struct": of_struct,
    "named_struct": of_named_struct,
    "transform": of_transform,
    "filter": of_filter,
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
    **{name: _refused("sort what you read") for name in ("sort_array", "array_sort")},
    **{name: _refused("write array_min or array_max, or explode it") for name in ("get", "slice")},
    **{
        name: _refused("explode it and join the tables")
        for name in ("arrays_zip", "zip_with", "array_position")
    },
    **{name: _refused("write it in FROM: LATERAL VIEW explode(…) t AS x") for name in GENERATORS},
}


def with_generators(node: Any, env: SqlEnv, rest: Callable[[SqlEnv], Expr]) -> Expr:
    """What ``rest`` yields, with one ``explode`` of the select list as a loop around it."""
    found = [item.this if isinstance(item, exp.Alias) else item for item in node.expressions]
    found = [item for item in found if isinstance(item, exp.Anonymous) and item.name.lower() in GENERATORS]
    if not found:
        return rest(env)
    if len(found) > 1 or found[0].name.lower().startswith("inline"):
        raise env.error(found[-1], "this belongs into FROM", "write LATERAL VIEW inline(…) t AS a, b")
    rows = generated(found[0], (), False, env)
    var = env.run.var("e", rows.expr)
    type_ = element_type(rows.expr)
    assert isinstance(type_, Record)
    if len(type_.names) != 1:
        raise env.error(found[0], "this belongs into FROM", "write LATERAL VIEW explode(…) t AS k, v")
    value = of_term(Field(var, type_.names[0]))
    return for_(
        var,
        rows.expr,
        env.run.enclosed(lambda: rest(replace(env, settled={**env.settled, id(found[0]): value}))),
    )
