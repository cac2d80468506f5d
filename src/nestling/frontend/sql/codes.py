"""Values as texts, one for each: by these arrays in order are grouped, joined and told apart, as scalars are.

Law: the codes of two values of one type are equal iff the values are, a null being one; and of types that ``is_sorted``
says, the codes are ordered as the values are, a null before all else.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.build import call, const, for_
from nestling.calculus.lists import AT, ITEM, is_list, item_type
from nestling.calculus.optional import held, is_optional
from nestling.calculus.terms import Const, Expr, Field, Term
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import (
    as_text,
    is_nullable,
    scalar_type,
    without_null,
)
from nestling.frontend.values import Many, One, Row, Value, bag_of, fields_of, of_term, singleton, there

#: What a text ends with, and what stands for it inside one.
_END, _INSIDE = "\x00\x00", "\x00\x01"
_SORTED = ("int", "str", "bool", "date", "datetime", "time")


def has_code(type_: Type) -> bool:
    """Whether values of ``type_`` have codes: arrays in order, and structs and scalars in them."""
    if is_optional(type_):
        return has_code(held(type_))
    match type_:
        case Scalar(name):
            return name not in ("bytes", "timedelta")
        case Record(fields):
            return all(has_code(field) for _, field in fields)
        case Bag():
            return is_list(type_) and has_code(item_type(type_))
    return False


def is_sorted(type_: Type) -> bool:
    """Whether codes are ordered as the values of ``type_`` are."""
    if is_optional(type_):
        return is_sorted(held(type_))
    match type_:
        case Scalar(name):
            return name in _SORTED
        case Record(fields):
            return all(is_sorted(field) for _, field in fields)
        case Bag():
            return is_list(type_) and is_sorted(item_type(type_))
    return False


def code(value: Value, node: Any, env: SqlEnv) -> Term:
    """The code of a value that has one."""
    flag, bag, fields = there(value), bag_of(value), fields_of(value)
    if bag is not None:
        return _marked(flag, _list_code(bag, node, env))
    if fields is not None:
        found: Term = const("")
        for _, field in fields:
            found = call("+", found, code(field, node, env))
        return _marked(flag, found)
    assert isinstance(value, One)
    if not is_nullable(value.term):
        return _scalar_code(value.term, node, env)
    solid = without_null(value)
    assert isinstance(solid, One)
    found = call("+", const("1"), _scalar_code(solid.term, node, env))
    return call("if", call("is_null", value.term), const("0"), found)


def nullable_code(value: Value, node: Any, env: SqlEnv) -> Term:
    """The code of an array, null where that is."""
    flag, bag = there(value), bag_of(value)
    found = code(value if bag is None else bag, node, env)
    return (
        found if flag is None else call("if", flag, call("nullable", found), Const(None, Scalar("str", True)))
    )


def _marked(flag: Term | None, found: Term) -> Term:
    return found if flag is None else call("if", flag, call("+", const("1"), found), const("0"))


def _scalar_code(term: Term, node: Any, env: SqlEnv) -> Term:
    match scalar_type(term).name:
        case "int":
            return call("sortable", term)
        case "str":
            return call("+", call("replace", term, const("\x00"), const(_INSIDE)), const(_END))
        case "bool":
            return call("if", term, const("1"), const("0"))
    return call("+", as_text(term, node, env, "a code"), const(_END))


def _list_code(array: Many, node: Any, env: SqlEnv) -> Term:
    """The codes of the elements, each behind a mark, and another mark at the end."""
    run, var = env.run, env.run.var("x", array.expr)

    def part() -> Expr:
        text = call("+", const("1"), code(of_term(Field(var, ITEM)), node, env))
        parts: list[Term] = [const(True), Field(var, AT), text, const("")]
        return singleton(Row(tuple((f"_{i}", One(each)) for i, each in enumerate(parts))), run.site)

    whole = run.fold("string_agg", for_(var, array.expr, run.enclosed(part)))
    return call("+", call("coalesce", whole, const("")), const("0"))
