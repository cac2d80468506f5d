"""JSON: structs and arrays as texts, and texts as structs.

A text that is no JSON, or no object, has nulls in all fields; a field that is no such value is null, and so is an array
with an element that is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const, for_
from nestling.calculus.library.documents import quoted
from nestling.calculus.lists import AT, ITEM, is_list
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, THERE, held, is_optional
from nestling.calculus.terms import Const, Field, Term
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import QueryError
from nestling.frontend.schema import record_type
from nestling.frontend.sql.comparing import DECLARE
from nestling.frontend.sql.composed import joined_texts
from nestling.frontend.sql.context import QueryRows, SqlEnv
from nestling.frontend.sql.convert import as_text, is_nullable, scalar_of, scalar_type, without_null
from nestling.frontend.sql.series import numbered
from nestling.frontend.sql.tables import row_of
from nestling.frontend.sql.values import shown, spark_type
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

_READ = {"int": "json_int", "float": "json_float", "bool": "json_bool", "str": "json_field"}


def of_to_json(node: Any, env: SqlEnv) -> Value:
    """``to_json(struct)``, ``to_json(array)``."""
    if len(node.expressions) != 1:
        raise env.error(node, "to_json takes a struct or an array", "options are not supported")
    value = env.value(node.expressions[0])
    if fields_of(value) is None and bag_of(value) is None:
        raise env.error(
            node, f"to_json takes a struct or an array, not {shown(value)}", "write to_json(struct(x))"
        )
    found = _json(value, node, env)
    return One(found)


def _json(value: Value, node: Any, env: SqlEnv) -> Term:
    """``value`` in JSON; null where it is."""
    flag, bag, fields = there(value), bag_of(value), fields_of(value)
    if bag is None and fields is None:
        term = scalar_of(value, node, env)
        if not is_nullable(term):
            return _scalar(term, node, env)
        solid = without_null(value)
        assert isinstance(solid, One)
        null = Const(None, Scalar("str", True))
        return call("if", call("is_null", term), null, call("nullable", _scalar(solid.term, node, env)))
    found = _list(bag, node, env) if bag is not None else _object(fields or (), node, env)
    if flag is None:
        return found
    return call("if", flag, call("nullable", found), Const(None, Scalar("str", True)))


def _scalar(term: Term, node: Any, env: SqlEnv) -> Term:
    name = scalar_type(term).name
    if name == "str":
        return call("json_quoted", term)
    if name == "float":
        return call("json_number", term)
    if name == "date":
        return call("+", call("+", const('"'), as_text(term, node, env, "to_json")), const('"'))
    if name in ("int", "bool", "decimal"):
        return as_text(term, node, env, "to_json")
    raise env.error(node, f"to_json of {shown(One(term))} is not supported", "write CAST(… AS STRING)")


def _object(fields: Sequence[tuple[str, Value]], node: Any, env: SqlEnv) -> Term:
    """``{"a":1,…}`` without the fields that are null."""
    parts: list[Value] = []
    for name, value in fields:
        text = _json(value, node, env)
        key: Term = const(f"{quoted(name)}:")
        if is_nullable(text):
            key = call("nullable", key)
        parts.append(One(call("+", key, text)))
    inside = joined_texts(const(","), parts, node, env)
    return call("+", call("+", const("{"), inside), const("}"))


def _list(bag: Many, node: Any, env: SqlEnv) -> Term:
    if is_map(type_of(bag)) or not is_list(type_of(bag)):
        what = f"to_json takes arrays in order, and this {shown(bag)} has none"
        raise env.error(node, what, DECLARE)
    run, var = env.run, env.run.var("x", bag.expr)

    def part() -> Any:
        text = _json(of_term(Field(var, ITEM)), node, env)
        solid = call("coalesce", text, const("null")) if is_nullable(text) else text
        parts: list[Term] = [const(True), Field(var, AT), solid, const(",")]
        return singleton(Row(tuple((f"_{i}", One(each)) for i, each in enumerate(parts))), run.site)

    whole = run.fold("string_agg", for_(var, bag.expr, run.enclosed(part)))
    return call("+", call("+", const("["), call("coalesce", whole, const(""))), const("]"))


def of_from_json(node: Any, env: SqlEnv) -> Value:
    """``from_json(text, 'a INT, b STRUCT<c: STRING>')``."""
    parts = node.expressions
    if len(parts) != 2 or not isinstance(parts[1], exp.Literal) or not parts[1].is_string:
        raise env.error(
            node, "from_json takes a text and a schema that is written out", "write 'a BIGINT, b STRING'"
        )
    value = env.value(parts[0])
    try:
        type_ = _schema(str(parts[1].this))
    except QueryError as error:
        raise env.error(
            parts[1], f"this schema cannot be read: {error}", "write 'a BIGINT, b STRING'"
        ) from error
    if isinstance(value, Null):
        return Null()
    text = as_text(scalar_of(value, node, env), node, env, "from_json")
    return (
        _struct(text, type_, parts[1], env)
        if isinstance(type_, Record)
        else _array(text, type_, parts[1], env)
    )


def _schema(text: str) -> Record | Bag:
    wrapped = text.strip()
    if not wrapped.upper().startswith(("STRUCT<", "ARRAY<", "MAP<")):
        return record_type(wrapped)
    (inside,) = record_type(f"v {wrapped}").types
    if is_map(inside) or not isinstance(inside, Record | Bag):
        raise QueryError("the keys of a map of a text might meet", hint="")
    return inside


def _array(text: Term, type_: Bag, node: Any, env: SqlEnv) -> Row:
    """The array of a text, null where that has none: where an element is of another type, too."""
    element = held(type_.element) if is_optional(type_.element) else type_.element
    count = call("json_items", text, const(_shape(element, node, env)))
    solid, is_there = _solid(text), call("not", call("is_null", count))

    def item(at: Term) -> Value:
        if isinstance(element, Record):
            return _struct(call("json_item", solid, at), element, node, env)
        if isinstance(element, Bag):
            return _array(call("json_item", solid, at), element, node, env)
        return One(call(_ITEM[element.name], solid, at))  # type: ignore[union-attr]

    return Row(((THERE, One(is_there)), (ITEMS, numbered(call("coalesce", count, const(0)), item, env))))


_ITEM = {"int": "json_item_int", "float": "json_item_float", "bool": "json_item_bool", "str": "json_item"}


def _shape(type_: Type, node: Any, env: SqlEnv) -> str:
    """What an element of an array must be, as Spark writes it."""
    inside = held(type_) if is_optional(type_) else type_
    match inside:
        case Record():
            return "STRUCT<v: STRING>"
        case Bag(element) if not is_map(inside):
            return f"ARRAY<{_shape(element, node, env)}>"
        case Scalar("int", size=size):
            return {8: "TINYINT", 16: "SMALLINT", 32: "INT"}.get(size[0] if size else 64, "BIGINT")
        case Scalar("float" | "bool" | "str" as name):
            return {"float": "DOUBLE", "bool": "BOOLEAN", "str": "STRING"}[name]
    hint = "take BIGINT, DOUBLE, BOOLEAN, STRING, STRUCT and ARRAY, and cast what they give"
    raise env.error(node, f"an array of {spark_type(inside)} is not supported in from_json", hint)


def _struct(text: Term, record: Record, node: Any, env: SqlEnv) -> Row:
    """The struct of a text, null where that is null or blank."""
    there_: Term = call("!=", call("trim", _solid(text), const(" ")), const(""))
    if is_nullable(text):
        there_ = call("and", call("not", call("is_null", text)), there_)
    return Row(((THERE, One(there_)), *((n, _part(text, n, t, node, env)) for n, t in record.fields)))


def _solid(text: Term) -> Term:
    found = without_null(One(text))
    assert isinstance(found, One)
    return found.term


def _part(text: Term, name: str, type_: Type, node: Any, env: SqlEnv) -> Value:
    inside = held(type_) if is_optional(type_) else type_
    if "`" not in name and isinstance(inside, Record):
        return _struct(call("json_nested", text, const(name), const("{")), inside, node, env)
    if "`" not in name and isinstance(inside, Bag) and not is_map(inside):
        return _array(call("json_nested", text, const(name), const("[")), inside, node, env)
    if not isinstance(inside, Scalar) or inside.name not in _READ or "`" in name:
        hint = "take BIGINT, DOUBLE, BOOLEAN, STRING, STRUCT and ARRAY, and cast what they give"
        raise env.error(node, f"the field {name} of this schema is not supported in from_json", hint)
    found = call(_READ[inside.name], text, const(name))
    if inside.name == "int" and inside.size and inside.size[0] < 64:
        most = 1 << inside.size[0] - 1
        fits = call("and", call(">=", found, const(-most)), call("<", found, const(most)))
        found = call("if", call("coalesce", fits, const(False)), found, Const(None, Scalar("int", True)))
    return One(found)


def json_tuple(node: Any, names: Sequence[str], env: SqlEnv) -> QueryRows:
    """``json_tuple(text, 'a', 'b')``: one row of the fields, as texts."""
    parts = node.expressions
    if len(parts) < 2 or not all(isinstance(part, exp.Literal) and part.is_string for part in parts[1:]):
        raise env.error(
            node, "json_tuple takes a text and names that are written out", "write json_tuple(t, 'a')"
        )
    called = tuple(names) or tuple(f"c{i}" for i in range(len(parts) - 1))
    if len(called) != len(parts) - 1:
        raise env.error(node, f"{len(called)} names are given to {len(parts) - 1} columns")
    text = as_text(scalar_of(env.value(parts[0]), node, env), node, env, "json_tuple")
    fields: list[tuple[str, Value]] = [
        (name, One(call("json_field", text, const(str(part.this)))))
        for name, part in zip(called, parts[1:], strict=True)
    ]
    return QueryRows(singleton(row_of(fields), env.run.site), called)


JSON = {"to_json": of_to_json, "from_json": of_from_json}
