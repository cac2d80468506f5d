"""Casts: to the types of SQL, as Spark's ANSI mode has them."""

from __future__ import annotations

from typing import Any

from nestling.calculus.build import call, const
from nestling.calculus.functions import FUNCTIONS, apply_function
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import NUMERIC, Scalar, nullable
from nestling.calculus.typing import term_type
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import (
    as_text,
    is_nullable,
    scalar_of,
    scalar_type,
)
from nestling.frontend.sql.declare import BITS, OF_32_BITS, decimal_of
from nestling.frontend.sql.values import shown, spark_type
from nestling.frontend.sql.variants import cast_variant, is_variant
from nestling.frontend.values import Null, One, Value

_CASTS = {
    "TINYINT": "int", "SMALLINT": "int", "INT": "int", "BIGINT": "int", "DOUBLE": "float", "DECIMAL": "decimal",
    "TEXT": "str", "VARCHAR": "str", "CHAR": "str", "BOOLEAN": "bool", "DATE": "date", "TIMESTAMP": "datetime",
    "TIMESTAMPTZ": "datetime", "TIMESTAMPLTZ": "datetime", "TIMESTAMPNTZ": "datetime", "DATETIME": "datetime",
    "TIME": "time", "BINARY": "bytes",
}  # fmt: skip
#: Functions that are casts, by the type they cast to.
CAST_FUNCTIONS = {
    "tinyint": "int", "smallint": "int", "int": "int", "bigint": "int",
    "double": "float", "string": "str", "boolean": "bool", "date": "date",
    "timestamp": "datetime", "to_date": "date", "to_timestamp": "datetime", "to_time": "time", "binary": "bytes",
}  # fmt: skip


def of_cast(node: Any, env: SqlEnv) -> Value:
    """``CAST(x AS type)``, ``x :: type``, ``DATE '…'``; ``TRY_CAST(x AS type)`` is null where it cannot be done."""
    only(node, env, "this", "to", "safe", "_type", what="CAST")
    to = node.args["to"]
    word = to.this.name if hasattr(to.this, "name") else str(to.this)
    name = _CASTS.get(word)
    params = (BITS[word],) if word in BITS else decimal_of(to, node, env) if name == "decimal" else ()
    if name is None or (name != "decimal" and to.expressions):
        if to.this.name == "FLOAT":
            raise env.error(node, f"this is cast to a {OF_32_BITS}", "write DOUBLE")
        hint = "one of BIGINT, DOUBLE, DECIMAL(p, s), STRING, DATE …"
        raise env.error(node, f"a cast to {to.sql(dialect='spark')} is not supported", hint)
    if is_variant(node.this):
        return cast_variant(node.this, to, node, env, bool(node.args.get("safe")))
    plain = to.this.name in ("TIMESTAMPNTZ", "DATETIME")
    return cast(env.value(node.this), name, params, node, env, bool(node.args.get("safe")), plain)


def cast(
    value: Value,
    to: str,
    params: tuple[int, ...],
    node: Any,
    env: SqlEnv,
    safe: bool = False,
    plain: bool = False,
) -> Value:
    """``value`` as a scalar of type ``to``; what cannot be read is an error, as in Spark's ANSI mode, or null.

    ``plain``: a moment that is written with a time zone is none.
    """
    if isinstance(value, Null):
        return One(Const(None, Scalar(to, True)))
    term = scalar_of(value, node, env)
    own = scalar_type(term).name
    digits = [const(n) for n in params]
    steps: dict[tuple[str, str], tuple[tuple[str, list[Const]], ...]] = {
        ("str", "int"): (("read_int", []), ("to_bits", digits)),
        ("str", "float"): (("read_float", []),),
        ("str", "decimal"): (("read_decimal", digits),),
        ("str", "bool"): (("read_bool", []),),
        ("str", "date"): (("read_date", []),),
        ("str", "datetime"): (("read_datetime" if plain else "read_moment", []),),
        ("str", "bytes"): (("to_bytes", []),),
        ("bytes", "str"): (("from_bytes", []),),
        ("str", "time"): (("read_time", []),),
        ("datetime", "time"): (("time_of", []),),
        ("time", "int"): (("whole_seconds", []), ("to_bits", digits)),
        ("date", "datetime"): (("to_datetime", []),),
        ("datetime", "date"): (("to_date", []),),
        **{(name, "decimal"): (("to_decimal", digits),) for name in NUMERIC},
        **{(name, "float"): (("to_float", []),) for name in ("int", "decimal")},
        **{(name, "int"): (("to_bits", digits),) for name in NUMERIC},
    }
    if own == to and (to not in ("decimal", "int") or _holds(params, scalar_type(term))):
        return value
    if (own, to) in (("bool", "int"), ("int", "bool")):
        return One(_of_bool(term) if own == "bool" else _differs_from_zero(term))
    if to == "str" and own in ("bool", "int", "float", "decimal", "date", "datetime", "time"):
        return One(as_text(term, node, env, "CAST"))
    if (own, to) not in steps:
        raise env.error(
            node, f"a {shown(value)} is not cast to {spark_type(Scalar(to))} here", "convert it in two steps"
        )
    for function, parameters in steps[own, to]:
        term = _step(function, [term, *parameters], safe, node, env)
    return One(term)


def _step(function: str, args: list[Term], safe: bool, node: Any, env: SqlEnv) -> Term:
    if not safe or not FUNCTIONS[function].partial:
        return _settled(call(function, *args), node, env)
    found = call(function, *args)
    type_ = term_type(found)
    assert isinstance(type_, Scalar)
    some = found if type_.nullable else call("nullable", found)
    return call("if", call(f"no_{function}", *args), Const(None, nullable(type_)), some)


def cast_function(name: str, value: Value, node: Any, env: SqlEnv) -> Value:
    """``int(x)``, ``to_date(x)``, …"""
    bits = BITS.get(name.upper())
    return cast(value, CAST_FUNCTIONS[name], (bits,) if bits else (), node, env)


def _holds(params: tuple[int, ...], type_: Scalar) -> bool:
    """Whether a number of ``type_`` is one of this size; an int of any size is a BIGINT."""
    return params == (type_.size or (64,) if type_.name == "int" else type_.size)


def _settled(term: Term, node: Any, env: SqlEnv) -> Term:
    """A cast of what is written out, done once; one that cannot be is refused here."""
    if isinstance(term, Const) or not all(isinstance(arg, Const) for arg in getattr(term, "args", ())):
        return term
    values = [arg.value for arg in term.args]  # type: ignore[union-attr]
    try:
        return Const(apply_function(FUNCTIONS[term.function], values), scalar_type(term))  # type: ignore[union-attr]
    except (ValueError, ArithmeticError) as error:
        raise env.error(node, f"this cast cannot be done: {error}", "write a value of the type") from None


def _of_bool(term: Term) -> Term:
    null = Scalar("int", is_nullable(term))
    found = call("if", term, Const(1, null), Const(0, null))
    return call("if", call("is_null", term), Const(None, null), found) if is_nullable(term) else found


def _differs_from_zero(term: Term) -> Term:
    return call("not", call("=", term, const(0))) if is_nullable(term) else call("!=", term, const(0))
