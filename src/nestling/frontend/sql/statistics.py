"""The arguments of aggregates that are read off the values in order: percentiles, modes, bits, joined texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import NUMERIC, Scalar
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import (
    as_text,
    is_nullable,
    scalar_of,
    scalar_type,
    stored,
    widened,
)
from nestling.frontend.sql.values import shown
from nestling.frontend.values import One, Row, Value

#: A value of each type, where there is none.
DEFAULTS: dict[str, Any] = {
    "bool": False, "int": 0, "float": 0.0, "decimal": Decimal(0), "str": "", "bytes": b"",
    "date": date.min, "datetime": datetime.min, "time": time(), "timedelta": timedelta(0),
}  # fmt: skip
#: By the name in SQL, that in the calculus.
STATISTICS = {
    "percentile": "percentile", "percentile_cont": "percentile", "median": "percentile",
    "percentile_disc": "percentile_disc", "mode": "mode", "bit_and": "bit_and", "bit_or": "bit_or",
    "bit_xor": "bit_xor", "listagg": "string_agg", "string_agg": "string_agg",
}  # fmt: skip
#: Those whose element is the value itself.
SINGLE = ("mode", "bit_and", "bit_or", "bit_xor")


def statistic(node: Any, args: Sequence[Any], env: SqlEnv) -> Value:
    """What each row gives to the aggregate that ``node`` calls."""
    name, order = node.name.lower(), _order(node, env)
    kind = STATISTICS[name]
    if kind == "string_agg":
        return _joined(node, args, order, env)
    if name in ("percentile_cont", "percentile_disc"):
        if len(args) != 1 or order is None:
            raise env.error(node, f"{name} needs an order", f"write {name}(0.5) WITHIN GROUP (ORDER BY x)")
        return _shared(order.this, args[0], bool(order.args.get("desc")), node, env)
    if order is not None:
        raise env.error(node, f"{name} takes no WITHIN GROUP", f"write {name}(x)")
    if name == "mode" and len(args) == 2:
        args = args[:1]  # the least of several is taken, as ``mode(x, true)`` says
    wanted = 2 if name == "percentile" else 1
    if len(args) != wanted:
        raise env.error(node, f"{name} takes {wanted} argument{'s' * (wanted > 1)}, not {len(args)}")
    if kind == "percentile":
        return _shared(args[0], args[1] if name == "percentile" else None, False, node, env)
    value = stored(env.value(args[0]), args[0], env)
    type_ = scalar_type(scalar_of(value, args[0], env))
    if kind != "mode" and type_.name != "int":
        raise env.error(args[0], f"{name} takes whole numbers, not {shown(value)}", "write a CAST")
    return value


def _order(node: Any, env: SqlEnv) -> Any:
    """The key of WITHIN GROUP (ORDER BY key), if there is one."""
    if not isinstance(node.parent, exp.WithinGroup):
        return None
    parts = node.parent.expression.expressions
    if len(parts) != 1:
        raise env.error(node, "WITHIN GROUP orders by one key here", "write WITHIN GROUP (ORDER BY x)")
    only(parts[0], env, "this", "desc", "nulls_first", what="ORDER BY")
    return parts[0]


def _shared(value: Any, share: Any, descending: bool, node: Any, env: SqlEnv) -> Value:
    """A number beside the share of the way to it."""
    term = scalar_of(stored(env.value(value), value, env), value, env)
    type_ = scalar_type(term)
    if type_.name not in NUMERIC:
        raise env.error(value, f"{node.name} takes numbers", "write a CAST")
    if type_.name != "float":
        term = widened(term, Scalar("float", type_.nullable), node, env)
    part = 0.5
    if share is not None:
        found = env.value(share)
        number = found.term.value if isinstance(found, One) and isinstance(found.term, Const) else None
        if not isinstance(number, int | float | Decimal) or not 0 <= number <= 1:
            raise env.error(share, f"{node.name} takes a share from 0 to 1 that is written out", "write 0.5")
        part = float(number)
    if descending:
        if node.name.lower() == "percentile_disc":
            raise env.error(
                value, "percentile_disc goes upwards here", "order ascending, and take 1 - the share"
            )
        part = 1.0 - part
    return Row((("_0", One(term)), ("_1", One(Const(part, Scalar("float"))))))


def _joined(node: Any, args: Sequence[Any], order: Any, env: SqlEnv) -> Value:
    """A text, what stands between two, and the key that says which comes first: the text where none is written."""
    if not 1 <= len(args) <= 2:
        raise env.error(
            node, f"{node.name} takes a text and what stands between two", f"write {node.name}(x, ',')"
        )
    text = as_text(scalar_of(stored(env.value(args[0]), args[0], env), args[0], env), node, env, node.name)
    between = scalar_of(env.value(args[1]), args[1], env) if len(args) == 2 else const("")
    if not isinstance(between, Const) or not isinstance(between.value, str):
        raise env.error(node, f"what stands between two texts of {node.name} is written out", "write ','")
    key = (
        text if order is None else scalar_of(stored(env.value(order.this), order.this, env), order.this, env)
    )
    there, key = _placed(key, order, env)
    return Row((("_0", One(there)), ("_1", One(key)), ("_2", One(text)), ("_3", One(between))))


def _placed(key: Term, order: Any, env: SqlEnv) -> tuple[Term, Term]:
    """Whether the key stands before the nulls, and the key as something that is never null."""
    type_ = scalar_type(key)
    plain = key
    if type_.nullable:
        plain = call("coalesce", key, Const(DEFAULTS[type_.name], replace(type_, nullable=False)))
    if order is not None and order.args.get("desc"):
        if type_.name not in NUMERIC:
            raise env.error(
                order, "WITHIN GROUP orders numbers downwards, and nothing else", "order ascending"
            )
        plain = call("neg", plain)
    first = order is None or bool(order.args.get("nulls_first"))
    if not is_nullable(key):
        return const(0), plain
    return call("if", call("is_null", key), const(0 if first else 1), const(1 if first else 0)), plain
