"""Calls of functions of the library: what is written, as what the entry takes."""

from __future__ import annotations

from typing import Any

from nestling.calculus import standard
from nestling.calculus.build import call, const
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.library import LIBRARY, LibraryEntry
from nestling.calculus.library.clocks import read_time
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.errors import NoValue
from nestling.frontend.sql.casts import cast
from nestling.frontend.sql.context import SqlEnv
from nestling.frontend.sql.convert import (
    as_text,
    is_text,
    scalar_of,
    scalar_type,
    widened,
)
from nestling.frontend.values import Null, One, Value

#: Other names of functions of the library.
ALIASES = {
    "position": "locate", "char": "chr", "sha": "sha1", "pow": "power", "sign": "signum",
    "week": "weekofyear", "unix_timestamp": "unix_seconds", "to_unix_timestamp": "unix_seconds",
}  # fmt: skip
#: Entries that stand for something that is written otherwise.
_UNWRITTEN = {
    "is_nan", "bit_and_of", "bit_or_of", "bit_xor_of", "bit_not", "seconds_of", "tumbled", "tumbled_end", "shifted",
    "yearofweek",
    "read_time", "time_text", "hour_of", "minute_of", "second_of", "clock_seconds", "whole_seconds", "time_of",
    "at_time",
    "sortable", "json_field", "json_int", "json_float", "json_bool", "json_quoted", "json_number",
    "json_nested", "json_items", "json_item", "json_item_int", "json_item_float", "json_item_bool",
     "time_plus", "time_minus", "clock_trunc", "clock_diff", "to_bytes",
    "checked_json", "if_json", *(name for name in LIBRARY if "variant_" in name),
    "from_bytes", "sequence_size", "months_size", "split_size", "split_at",
    *(name for name in LIBRARY if name.endswith("s_apart")),
}  # fmt: skip
_PATTERNS = {"regexp_replace", "regexp_extract", "regexp_count", "regexp_substr", "regexp_instr"}


def entry_of(name: str, number: int) -> LibraryEntry | None:
    """The entry that a call of ``name`` with so many arguments is of."""
    if name == "log" and number == 1:
        return LIBRARY["ln"]
    if name in _UNWRITTEN:
        return None
    return LIBRARY.get(ALIASES.get(name, name))


def library_call(entry: LibraryEntry, values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``entry`` of ``values``; of a null it is null."""
    least, most = len(entry.takes) - len(entry.defaults), len(entry.takes)
    if not least <= len(values) <= most:
        wanted = str(most) if least == most else f"{least} to {most}"
        raise env.error(node, f"{node.name} takes {wanted} argument{'s' * (most != 1)}, not {len(values)}")
    missing = most - len(values)
    values = [*values, *(One(const(value)) for value in entry.defaults[len(entry.defaults) - missing :])]
    if any(isinstance(value, Null) for value in values):
        return One(Const(None, Scalar(entry.gives.removesuffix("?"), True)))
    terms = [_as(value, kind, node, env) for value, kind in zip(values, entry.takes, strict=True)]
    for i in entry.fixed:
        if not isinstance(terms[i], Const):
            raise env.error(node, f"argument {i + 1} of {node.name} is written out", "write it as a constant")
    return One(_checked(entry, terms, node, env))


def _checked(entry: LibraryEntry, terms: list[Term], node: Any, env: SqlEnv) -> Term:
    function = FUNCTIONS[entry.name]
    if entry.name in _PATTERNS:
        assert isinstance(terms[1], Const)
        try:
            terms[1] = const(standard.java_pattern(terms[1].value))
        except ValueError as error:
            raise env.error(node, str(error), "write it with classes, groups and quantifiers") from None
    if entry.fixed:
        # What is written out decides whether there is a value: it is found out here.
        values = [
            term.value if i in entry.fixed and isinstance(term, Const) else _SAMPLES[scalar_type(term).name]
            for i, term in enumerate(terms)
        ]
        try:
            function.apply(*values)
        except NoValue as error:
            raise env.error(node, f"{node.name}: {error}", "write another constant") from None
    return call(entry.name, *terms)


_SAMPLES: dict[str, Any] = {
    "str": "", "int": 1, "float": 1.0, "date": standard.read_date("2000-01-01"),
    "datetime": standard.read_datetime("2000-01-01"), "time": read_time("00:00"),
}  # fmt: skip


def _as(value: Value, kind: str, node: Any, env: SqlEnv) -> Term:
    """``value`` as an argument of this kind."""
    term = scalar_of(value, node, env)
    own = scalar_type(term).name
    wanted = "int" if kind == "int32" else kind
    if own in wanted.split("|"):
        return term
    if wanted == "float" and own in ("int", "decimal"):
        return widened(term, Scalar("float", scalar_type(term).nullable), node, env)
    if wanted == "decimal" and own == "int":
        return widened(term, Scalar("decimal", scalar_type(term).nullable), node, env)
    if wanted == "time" and (own == "datetime" or is_text(value)):
        return scalar_of(cast(value, "time", (), node, env), node, env)
    if wanted == "str" and own in ("int", "bool", "decimal", "date", "datetime", "time", "float"):
        return as_text(term, node, env, node.name)
    if wanted in ("date", "datetime") and (own in ("date", "datetime") or is_text(value)):
        return scalar_of(cast(value, wanted, (), node, env), node, env)
    if is_text(value) and wanted in ("int", "float"):
        return widened(term, Scalar(wanted), node, env)
    spelled = {"int": "a whole number", "float": "a number", "str": "a string", "date": "a date",
               "datetime": "a timestamp", "time": "a time", "decimal": "a number"}.get(wanted, "a scalar")  # fmt: skip
    raise env.error(node, f"{node.name} takes {spelled} here, not {_TYPES.get(own, own)}", "write a CAST")


_TYPES = {"int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL", "str": "STRING", "bool": "BOOLEAN",
          "date": "DATE", "datetime": "TIMESTAMP", "time": "TIME", "timedelta": "INTERVAL",
          "bytes": "BINARY"}  # fmt: skip
