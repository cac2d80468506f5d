"""VARIANT: what a JSON text holds at a path, as a value of a type that is named.

``parse_json(text):a.b::INT`` is ``CAST(variant_get(parse_json(text), '$.a.b') AS INT)``. A VARIANT itself is no column
of a view: it is read where the text is parsed.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const
from nestling.calculus.library.documents import quoted
from nestling.calculus.library.variants import steps_of
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import as_text, scalar_of
from nestling.frontend.sql.declare import BITS
from nestling.frontend.values import Null, One, Value

_PARSES = ("parse_json", "try_parse_json")
_GETS = ("variant_get", "try_variant_get")
FUNCTIONS = (*_PARSES, *_GETS)
_TYPES = {
    "TEXT": "text",
    "VARCHAR": "text",
    "CHAR": "text",
    "DOUBLE": "float",
    "BOOLEAN": "bool",
} | dict.fromkeys(BITS, "int")
_NO_COLUMN = "name its type: parse_json(text):a::BIGINT, or variant_get(parse_json(text), '$.a', 'STRING')"
_OF_TEXT = "write parse_json(text):a, and name the type: parse_json(text):a::BIGINT"


def is_variant(node: Any) -> bool:
    """Whether ``node`` is written as a VARIANT."""
    if isinstance(node, exp.Paren):
        return is_variant(node.this)
    if isinstance(node, exp.JSONExtract):
        return True
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    return name in _PARSES or (name in _GETS and len(node.expressions) == 2)


def of_variant(node: Any, env: SqlEnv) -> Value:
    """A VARIANT where a value of another type is wanted, or ``variant_get`` with the type that it has there."""
    if isinstance(node, exp.Anonymous) and node.name.lower() in _GETS and len(node.expressions) == 3:
        whole, path, type_ = node.expressions
        if not isinstance(type_, exp.Literal) or not type_.is_string:
            raise env.error(type_, f"the type in {node.name} is written out", "write 'BIGINT' or 'STRING'")
        at = exp.Anonymous(this=node.this, expressions=[whole, path])
        to = exp.DataType.build(str(type_.this), dialect="spark")
        return cast_variant(at, to, type_, env, is_tried=node.name.lower().startswith("try_"))
    if isinstance(node, exp.JSONExtract):
        _source(node, node, env)
    raise env.error(node, "a VARIANT is no column of a view", _NO_COLUMN)


def cast_variant(node: Any, to: Any, at: Any, env: SqlEnv, is_tried: bool) -> Value:
    """What stands at a path, as a value of type ``to``; null where it is none, if that ``is_tried``."""
    name = _TYPES.get(to.this.name)
    if name is None or (to.expressions and name != "text"):
        what = f"a VARIANT as {to.sql(dialect='spark')} is not supported"
        raise env.error(
            at, what, "take BIGINT, DOUBLE, BOOLEAN or STRING, and cast that: CAST(v:a::STRING AS DATE)"
        )
    parsed, path = _source(node, at, env)
    if parsed is None:
        return One(Const(None, Scalar("str" if name == "text" else name, True)))
    text, is_parsed_strictly = parsed
    if is_tried and is_parsed_strictly:
        text = call("checked_json", text)
    elif not is_tried and not is_parsed_strictly:
        text = call("if_json", text)
    found = call(f"{'try_' if is_tried else ''}variant_{name}", text, const(path))
    return One(_fitting(found, BITS[to.this.name], is_tried) if name == "int" else found)


def _fitting(found: Term, bits: int, is_tried: bool) -> Term:
    """A BIGINT in fewer bits: null where it does not fit, if that is tried."""
    if bits == 64 or not is_tried:
        return call("to_bits", found, const(bits))
    most = 1 << bits - 1
    fits = call("and", call(">=", found, const(-most)), call("<", found, const(most)))
    cut = call("if", call("coalesce", fits, const(False)), found, Const(None, Scalar("int", True)))
    return call("to_bits", cut, const(bits))


def _source(node: Any, at: Any, env: SqlEnv) -> tuple[tuple[Term, bool] | None, str]:
    """The text that is parsed, whether it must be JSON, and the path into it; no text of NULL."""
    match node:
        case exp.Paren():
            return _source(node.this, at, env)
        case exp.JSONExtract():
            parsed, path = _source(node.this, node, env)
            return parsed, path + _spelled(node, env)
        case exp.Anonymous() if is_variant(node):
            name, (whole, *rest) = node.name.lower(), node.expressions or [None]
            if name in _GETS:
                parsed, path = _source(whole, whole, env)
                return parsed, path + _written(rest[0], node, env)
            if whole is None or rest:
                raise env.error(node, f"{node.name} takes one text")
            value = env.value(whole)
            if isinstance(value, Null):
                return None, "$"
            return (as_text(scalar_of(value, whole, env), whole, env, node.name), name == "parse_json"), "$"
    raise env.error(at, "this is no VARIANT", _OF_TEXT)


def _written(node: Any, around: Any, env: SqlEnv) -> str:
    """What ``$.a[0]`` has behind its first sign."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise env.error(node, f"the path in {around.name} is written out", "write '$.a[0]'")
    try:
        steps_of(str(node.this))
    except ValueError as error:
        raise env.error(node, str(error), "write '$.a[0]'") from None
    return str(node.this)[1:]


def _spelled(node: Any, env: SqlEnv) -> str:
    """``:a.b[0]`` as a path behind ``$``."""
    found = ""
    for step in node.expression.expressions:
        if isinstance(step, exp.JSONPathKey):
            if "'" in step.this:
                raise env.error(
                    node, f"the key {quoted(step.this)} has a quote", 'write variant_get with "…"'
                )
            found += f"['{step.this}']"
        elif isinstance(step, exp.JSONPathSubscript):
            if not isinstance(step.this, int):
                raise env.error(
                    node, "a path has no wildcards", "write from_json(text, 'ARRAY<…>'), and explode it"
                )
            found += f"[{step.this}]"
    return found
