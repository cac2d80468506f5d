"""Arrays in order: what stands where, and what makes one of another.

Their elements are entries ⟨position, value⟩ (``calculus/lists``), so all of it is written out over bags. A position
that is not there has a null, as with ``get``, where Spark in its ANSI mode would fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const, for_, union
from nestling.calculus.lists import AT, ITEM, is_list
from nestling.calculus.maps import is_map
from nestling.calculus.terms import Const, Expr, Field, Sing, Term, Var
from nestling.calculus.types import Scalar
from nestling.calculus.typing import element_type
from nestling.frontend.sql.comparing import DECLARE, compared, identical
from nestling.frontend.sql.conditions import guarded
from nestling.frontend.sql.context import YES, SqlEnv, where
from nestling.frontend.sql.convert import (
    alike,
    as_text,
    converted,
    elementwise,
    is_nullable,
    scalar_of,
    stored,
)
from nestling.frontend.sql.maps import looked_up
from nestling.frontend.sql.picked import picked
from nestling.frontend.sql.values import shown
from nestling.frontend.values import (
    Many,
    Null,
    One,
    Row,
    Value,
    bag_of,
    of_term,
    singleton,
    type_of,
    without_positions,
)

Builder = Callable[[Any, SqlEnv], Value]


def no_positions(what: str, node: Any, env: SqlEnv) -> Exception:
    """What is said of an array that is a bag."""
    return env.error(node, f"{what} needs positions, and this array is a bag", DECLARE)


def array_of(node: Any, place: int, env: SqlEnv) -> Many:
    """The array that is an argument, in order or not."""
    part = node.expressions[place]
    value = env.value(part)
    bag = bag_of(value)
    if bag is None or is_map(type_of(bag)):
        raise env.error(part, f"{node.name} takes an array, not {shown(value)}")
    return bag


def list_of(node: Any, place: int, env: SqlEnv) -> Many:
    """The array in order that is an argument."""
    found = array_of(node, place, env)
    if not is_list(type_of(found)):
        raise no_positions(node.name, node.expressions[place], env)
    return found


def takes(node: Any, least: int, most: int, env: SqlEnv) -> None:
    """Refuse another number of arguments."""
    given = len(node.expressions)
    if not least <= given <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise env.error(node, f"{node.name} takes {wanted} arguments, not {given}")


def plain(value: Many, env: SqlEnv) -> Many:
    """The elements without their positions."""
    return without_positions(value, env.run.names, env.run.site)


def entry(at: Term, item: Value, env: SqlEnv) -> Expr:
    """An element with its position."""
    return singleton(Row(((AT, One(at)), (ITEM, item))), env.run.site)


def written_list(values: list[Value], env: SqlEnv) -> Many:
    """The list of values of one type that are written out."""
    parts = [entry(const(at), value, env) for at, value in enumerate(values)]
    return Many(union(element_type(parts[0]), *parts))


def each(array: Expr, env: SqlEnv, body: Callable[[Var], Expr]) -> Expr:
    var = env.run.var("x", array)
    return for_(var, array, env.run.enclosed(lambda: body(var)))


def item(var: Var) -> Value:
    return of_term(Field(var, ITEM))


def size_of(array: Expr, env: SqlEnv) -> Term:
    return env.run.fold("count", array)


# -- looking at a position


def element(array: Many, at: Term, env: SqlEnv) -> Value:
    """The value at a position, counted from 0; null where there is none."""

    def here(var: Var) -> Expr:
        return where(
            call("=" if is_nullable(at) else "==", Field(var, AT), at), singleton(item(var), env.run.site)
        )

    return picked(each(array.expr, env, here), env)


def _whole(value: Value, node: Any, env: SqlEnv) -> Term:
    if isinstance(value, Null):
        return Const(None, Scalar("int", True))
    term = scalar_of(value, node, env)
    if shown(value) != "BIGINT":
        raise env.error(node, f"a position is a whole number, not {shown(value)}", "write a CAST")
    return term


def of_bracket(node: Any, env: SqlEnv) -> Value:
    """``array[0]`` and ``map[key]``."""
    value = env.value(node.this)
    bag = bag_of(value)
    if bag is None or len(node.expressions) != 1:
        raise env.error(node, f"[…] takes an array or a map, not {shown(value)}", "name a column of one")
    if is_map(type_of(bag)):
        # A map that is null has no entries: what is looked up is null, too.
        return looked_up(bag, env.value(node.expressions[0]), node, env)
    if not is_list(type_of(bag)):
        raise no_positions("array[…]", node, env)
    return element(bag, _whole(env.value(node.expressions[0]), node, env), env)


def of_get(node: Any, env: SqlEnv) -> Value:
    """``get(array, 0)``."""
    takes(node, 2, 2, env)
    return element(list_of(node, 0, env), _whole(env.value(node.expressions[1]), node, env), env)


def of_element_at(node: Any, env: SqlEnv) -> Value:
    """``element_at(map, key)``, and ``element_at(array, 1)``; -1 is the last."""
    takes(node, 2, 2, env)
    value = env.value(node.expressions[0])
    bag = bag_of(value)
    if bag is not None and is_map(type_of(bag)):
        return looked_up(bag, env.value(node.expressions[1]), node, env)
    array = list_of(node, 0, env)
    return element(array, _from_one(array.expr, node, 1, env), env)


def _from_one(array: Expr, node: Any, place: int, env: SqlEnv) -> Term:
    """A position counted from 1, or from the end, as one from 0."""
    at = _whole(env.value(node.expressions[place]), node.expressions[place], env)
    if isinstance(at, Const) and at.value == 0:
        raise env.error(
            node.expressions[place], f"{node.name} counts positions from 1", "or from the end: -1"
        )
    if isinstance(at, Const) and at.value is not None and at.value > 0:
        return const(at.value - 1)
    from_end = call("+", size_of(array, env), at)
    test = call(">", at, const(0))
    test = call("coalesce", test, const(False)) if is_nullable(at) else test
    return call("if", test, call("-", at, const(1)), from_end)


def of_array_position(node: Any, env: SqlEnv) -> Value:
    """``array_position(array, x)``: the first position from 1 where ``x`` is, or 0."""
    takes(node, 2, 2, env)
    array, value = list_of(node, 0, env), env.value(node.expressions[1])
    if isinstance(value, Null):
        return One(Const(None, Scalar("int", True)))

    def here(var: Var) -> Expr:
        return where(compared("=", item(var), value, node, env), Sing(Field(var, AT)))

    first = env.run.fold("min", each(array.expr, env, here))
    found = call("+", call("coalesce", first, const(-1)), const(1))
    if isinstance(value, One) and is_nullable(value.term):
        null = Const(None, Scalar("int", True))
        return One(call("if", call("is_null", value.term), null, call("nullable", found)))
    return One(found)


# -- lists of lists


def of_transform(node: Any, env: SqlEnv) -> Value:
    """``transform(array, x -> …)``, ``transform(array, (x, i) -> …)``."""
    takes(node, 2, 2, env)
    array, body = array_of(node, 0, env), lambda_of(node, 1, env)

    def made(var: Var) -> Expr:
        inner = _within(body, var, array, env)
        value = stored(inner.value(body.this), body.this, inner)
        return (
            entry(Field(var, AT), value, env) if is_list(type_of(array)) else singleton(value, env.run.site)
        )

    return Many(each(array.expr, env, made))


def of_filter(node: Any, env: SqlEnv) -> Value:
    """``filter(array, x -> …)``, ``filter(array, (x, i) -> …)``."""
    takes(node, 2, 2, env)
    array, body = array_of(node, 0, env), lambda_of(node, 1, env)

    def kept(var: Var, rest: Callable[[SqlEnv], Expr]) -> Expr:
        return guarded(body.this, _within(body, var, array, env), rest)

    return kept_of(array, kept, env)


def kept_of(array: Many, kept: Callable[[Var, Callable[[SqlEnv], Expr]], Expr], env: SqlEnv) -> Many:
    """The elements that are kept, numbered anew."""

    def found(var: Var) -> Expr:
        if not is_list(type_of(array)):
            return kept(var, lambda _: singleton(of_term(var), env.run.site))

        def numbered(inner: SqlEnv) -> Expr:
            def in_front(other: Var) -> Expr:
                return where(call("<", Field(other, AT), Field(var, AT)), kept(other, lambda _: YES))

            return entry(env.run.fold("count", each(array.expr, env, in_front)), item(var), env)

        return kept(var, numbered)

    return Many(each(array.expr, env, found))


def lambda_of(node: Any, place: int, env: SqlEnv) -> Any:
    found = node.expressions[place]
    if not isinstance(found, exp.Lambda) or len(found.expressions) not in (1, 2):
        raise env.error(node, f"{node.name} takes a lambda of the element and its position", "write x -> …")
    return found


def _within(body: Any, var: Var, array: Many, env: SqlEnv) -> SqlEnv:
    """Where a lambda is read: its parameters are an element and its position."""
    names = [part.name for part in body.expressions]
    if not is_list(type_of(array)):
        if len(names) > 1:
            raise no_positions(f"({', '.join(names)}) -> …", body, env)
        return replace(env, bound={**env.bound, names[0]: of_term(var)}, match=None)
    values = zip(names, (item(var), of_term(Field(var, AT))), strict=False)
    return replace(env, bound={**env.bound, **dict(values)}, match=None)


def of_slice(node: Any, env: SqlEnv) -> Value:
    """``slice(array, start, length)``: from 1, or from the end."""
    takes(node, 3, 3, env)
    array = list_of(node, 0, env)
    start = _from_one(array.expr, node, 1, env)
    length = _whole(env.value(node.expressions[2]), node.expressions[2], env)
    if isinstance(length, Const) and length.value is not None and length.value < 0:
        raise env.error(node.expressions[2], "slice takes a length that is not negative")
    for part, term in zip(node.expressions[1:], (start, length), strict=True):
        if is_nullable(term):
            raise env.error(
                part, "slice takes a start and a length that are not null", "write coalesce(…, 1)"
            )

    def inside(var: Var) -> Expr:
        at = call("-", Field(var, AT), start)
        test = call("and", call(">=", at, const(0)), call("<", at, length))
        return where(call("and", call(">=", start, const(0)), test), entry(at, item(var), env))

    return Many(each(array.expr, env, inside))


def of_reverse(node: Any, env: SqlEnv) -> Value:
    """``reverse(array)``."""
    array = list_of(node, 0, env)
    last = call("-", size_of(array.expr, env), const(1))
    return Many(each(array.expr, env, lambda x: entry(call("-", last, Field(x, AT)), item(x), env)))


def joined_lists(arrays: list[Many], env: SqlEnv) -> Many:
    """One list after another."""
    parts: list[Expr] = []
    start: Term = const(0)
    for array in arrays:
        here = start
        parts.append(
            each(array.expr, env, lambda x, at=here: entry(call("+", Field(x, AT), at), item(x), env))  # type: ignore[misc]
        )
        start = call("+", start, size_of(array.expr, env))
    return Many(union(element_type(parts[0]), *parts))


def flattened(array: Many, env: SqlEnv) -> Many:
    """The elements of a list of lists."""

    def inside(outer: Var) -> Expr:
        def in_front(other: Var) -> Expr:
            return where(call("<", Field(other, AT), Field(outer, AT)), _inner(other, lambda _: YES))

        start = env.run.fold("count", each(array.expr, env, in_front))
        return _inner(outer, lambda x: entry(call("+", start, Field(x, AT)), item(x), env))

    def _inner(outer: Var, body: Callable[[Var], Expr]) -> Expr:
        value = item(outer)
        assert isinstance(value, Many)
        return each(value.expr, env, body)

    return Many(each(array.expr, env, inside))


def of_appended(at_end: bool) -> Builder:
    """``array_append(array, x)`` and ``array_prepend``."""

    def of(node: Any, env: SqlEnv) -> Value:
        takes(node, 2, 2, env)
        array, value = array_of(node, 0, env), env.value(node.expressions[1])
        var = env.run.var("x", plain(array, env).expr)
        one = alike([of_term(var), value], node, env)[1]
        type_ = type_of(one)
        ordered = is_list(type_of(array))
        whole = _as_items(array, type_, node, env)
        if not ordered:
            return Many(union(type_, whole.expr, singleton(one, env.run.site)))
        both = [whole, written_list([one], env)]
        return joined_lists(both if at_end else both[::-1], env)

    return of


def _as_items(array: Many, type_: Any, node: Any, env: SqlEnv) -> Many:
    """``array`` with every element as one of ``type_``."""
    if not is_list(type_of(array)):
        return Many(elementwise(array.expr, type_, node, env))
    return Many(
        each(array.expr, env, lambda x: entry(Field(x, AT), converted(item(x), type_, node, env), env))
    )


def of_array_remove(node: Any, env: SqlEnv) -> Value:
    """``array_remove(array, x)``: without what equals ``x``; nulls stay."""
    takes(node, 2, 2, env)
    array, value = array_of(node, 0, env), env.value(node.expressions[1])
    ordered = is_list(type_of(array))

    def kept(var: Var, rest: Callable[[SqlEnv], Expr]) -> Expr:
        same = compared("=", item(var) if ordered else of_term(var), value, node, env)
        same = call("coalesce", same, const(False)) if is_nullable(same) else same
        return where(call("not", same), rest(env))

    if isinstance(value, Null) or (isinstance(value, One) and is_nullable(value.term)):
        raise env.error(
            node, "array_remove takes a value that is not null", "write array_compact(…) for nulls"
        )
    return kept_of(array, kept, env)


def of_array_compact(node: Any, env: SqlEnv) -> Value:
    """``array_compact(array)``: without nulls."""
    takes(node, 1, 1, env)
    array = array_of(node, 0, env)
    ordered = is_list(type_of(array))

    def kept(var: Var, rest: Callable[[SqlEnv], Expr]) -> Expr:
        null = identical(item(var) if ordered else of_term(var), Null(), node, env)
        return where(call("not", null), rest(env))

    return kept_of(array, kept, env)


# -- lists as texts


def of_array_join(node: Any, env: SqlEnv) -> Value:
    """``array_join(array, by, null)``: nulls are passed over, or stand as a text."""
    takes(node, 2, 3, env)
    array = list_of(node, 0, env)
    by, *instead = [
        as_text(scalar_of(env.value(part), part, env), part, env, node.name) for part in node.expressions[1:]
    ]
    if any(map(is_nullable, (by, *instead))):
        raise env.error(node, "array_join takes texts that are not null", "write coalesce(…, '')")

    def text(var: Var) -> Expr:
        found = as_text(scalar_of(item(var), node, env), node, env, node.name)
        solid = call("coalesce", found, instead[0] if instead else const("")) if is_nullable(found) else found
        parts = (const(True), Field(var, AT), solid, by)
        one = singleton(Row(tuple((f"_{i}", One(part)) for i, part in enumerate(parts))), env.run.site)
        return one if instead or not is_nullable(found) else where(call("not", call("is_null", found)), one)

    return One(call("coalesce", env.run.fold("string_agg", each(array.expr, env, text)), const("")))


POSITIONS: dict[str, Builder] = {
    "transform": of_transform, "filter": of_filter, "get": of_get, "element_at": of_element_at,
    "try_element_at": of_element_at, "array_position": of_array_position, "slice": of_slice,
    "array_append": of_appended(True), "array_prepend": of_appended(False), "array_remove": of_array_remove,
    "array_compact": of_array_compact,
    "array_join": of_array_join,
}  # fmt: skip
