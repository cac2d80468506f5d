"""Functions of scalars by the names Spark gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nestling.calculus import standard
from nestling.calculus.build import call, const
from nestling.calculus.terms import Const, Term
from nestling.calculus.types import Scalar
from nestling.frontend.sql.array_sets import added
from nestling.frontend.sql.casts import CAST_FUNCTIONS, cast, cast_function
from nestling.frontend.sql.choices import chosen
from nestling.frontend.sql.comparing import compared
from nestling.frontend.sql.composed import COMPOSED, with_unit
from nestling.frontend.sql.context import SqlEnv, only
from nestling.frontend.sql.convert import (
    applied,
    as_text,
    condition,
    is_nullable,
    is_text,
    operands,
    scalar_of,
    scalar_type,
    widened,
)
from nestling.frontend.sql.json_texts import JSON
from nestling.frontend.sql.library import entry_of, library_call
from nestling.frontend.sql.nested import ARRAYS, of_present
from nestling.frontend.sql.parts import PARTS, part_named, part_of, timestamp_of, unit_last
from nestling.frontend.sql.positions import of_reverse
from nestling.frontend.sql.series import SERIES
from nestling.frontend.sql.variants import FUNCTIONS as VARIANTS
from nestling.frontend.sql.variants import of_variant
from nestling.frontend.values import Many, Null, One, Row, Value, bag_of, there

Builder = Callable[[list[Value], Any, SqlEnv], Value]


#: Functions that are one of the calculus; of a null they are null.
_PLAIN: dict[str, tuple[str, int]] = {
    "abs": ("abs", 1), "negative": ("neg", 1), "floor": ("floor", 1), "ceil": ("ceil", 1), "ceiling": ("ceil", 1),
    "lower": ("lower", 1), "lcase": ("lower", 1), "upper": ("upper", 1), "ucase": ("upper", 1),
    "length": ("length", 1), "char_length": ("length", 1), "len": ("length", 1),
    "startswith": ("starts_with", 2), "endswith": ("ends_with", 2), "contains": ("contains", 2),
    "instr": ("position", 2), "add_months": ("add_months", 2), "sqrt": ("sqrt", 1), "date_add": ("add_days", 2),
    "dateadd": ("add_days", 2), "datediff": ("days_between", 2), "date_diff": ("days_between", 2),
}  # fmt: skip
#: What the arguments of a function must be, where a string written out would do.
_WANTED = {
    "add_months": "date", "date_add": "date", "dateadd": "date", "datediff": "date", "date_diff": "date",
    "sqrt": "float", "date_sub": "date",
}  # fmt: skip


def of_function(node: Any, env: SqlEnv) -> Value:
    """``name(arguments)``."""
    only(node, env, "this", "expressions")
    name = node.name.lower()
    found = _by_words(name, node, env)
    if found is not None:
        return found
    if name in _INSTEAD:
        raise env.error(node, f"the function {node.name} is not supported", _INSTEAD[name])
    values = [env.value(part) for part in node.expressions]
    if name in _BUILDERS:
        return _BUILDERS[name](values, node, env)
    if name in PARTS:
        return part_of(PARTS[name], _arguments(values, 1, node, env)[0], node, env)
    if name in CAST_FUNCTIONS:
        return cast_function(name, _arguments(values, 1, node, env)[0], node, env)
    if name == "reverse" and any(bag_of(value) is not None for value in values):
        return of_present(of_reverse, node, env)
    if name in COMPOSED:
        return COMPOSED[name](values, node, env)
    if (entry := entry_of(name, len(values))) is not None:
        return library_call(entry, values, node, env)
    if name in _PLAIN:
        function, number = _PLAIN[name]
        return _plain(function, _arguments(values, number, node, env), node, env)
    raise env.error(node, f"the function {node.name} is not supported", _hint(name))


def _by_words(name: str, node: Any, env: SqlEnv) -> Value | None:
    """A call that does not read its arguments as values, if it is one."""
    if name in JSON:
        return JSON[name](node, env)
    if name in VARIANTS:
        return of_variant(node, env)
    if name in SERIES:
        return SERIES[name](node, env)
    if name in ARRAYS:
        return of_present(ARRAYS[name], node, env)
    if name == "date_part" and len(node.expressions) == 2:
        return part_named(str(node.expressions[0].this), env.value(node.expressions[1]), node, env)
    return with_unit(name, node, env)


def of_rlike(node: Any, env: SqlEnv) -> Value:
    """``x RLIKE pattern``: the pattern is found somewhere in ``x``."""
    only(node, env, "this", "expression")
    return _rlike([env.value(node.this), env.value(node.expression)], node, env)


def _rlike(values: list[Value], node: Any, env: SqlEnv) -> Value:
    text, pattern = _arguments(values, 2, node, env)
    if isinstance(text, Null):
        return One(Const(None, Scalar("bool", True)))
    if not isinstance(pattern, One) or not is_text(pattern):
        raise env.error(node, "RLIKE takes a pattern that is written out", "write it as a string")
    assert isinstance(pattern.term, Const)
    try:
        found = standard.java_pattern(pattern.term.value)
    except ValueError as error:
        raise env.error(node, str(error), "write it with classes, groups and quantifiers") from None
    return One(applied("matches", [scalar_of(text, node, env), const(found)], node, env, "RLIKE"))


_VARIANT = "read the part: parse_json(text):a::STRING IS NULL"
_KEYS = "keys might meet: write map('a', x, 'b', y), or explode the maps and group by key"
#: What to write instead of functions that people expect.
_INSTEAD = {
    "generate_series": "write explode(sequence(a, b))",
    "json_object_keys": "keep the keys in an ARRAY column",
    "str_to_map": "write explode(split(text, ',')), and split_part(x, ':', 1) of each",
    **dict.fromkeys(("is_variant_null", "to_variant_object"), _VARIANT),
    **dict.fromkeys(
        ("schema_of_json", "schema_of_variant"), "write the schema out: from_json(text, 'a BIGINT')"
    ),
    **dict.fromkeys(
        ("map_concat", "map_from_arrays", "map_from_entries", "transform_keys", "map_zip_with"), _KEYS
    ),
    "float": "FLOAT has 32 bits, and a number with a point has 64 here: write double(…)",
    "shuffle": "a view has one answer: sort the array, sort_array(…)",
    "array_insert": "write concat(slice(a, 1, n), array(x), slice(a, n + 1, size(a)))",
}


def _hint(name: str) -> str:
    if name in ("current_date", "current_timestamp", "now", "rand", "uuid"):
        return "a view is computed from its tables alone: keep the value in a table"
    if name in ("row_number", "rank", "dense_rank", "lag", "lead", "ntile"):
        return "it needs OVER (PARTITION BY … ORDER BY …)"
    return "write it with the functions that are: +, ||, CASE, substring, coalesce, …"


def _arguments(values: list[Value], number: int, node: Any, env: SqlEnv) -> list[Value]:
    if len(values) != number:
        raise env.error(node, f"{node.name} takes {number} argument{'s' * (number != 1)}, not {len(values)}")
    return values


def _plain(function: str, values: Sequence[Value], node: Any, env: SqlEnv) -> Value:
    """A strict function: of a null it is null."""
    if any(isinstance(value, Null) for value in values):
        return Null()
    wanted = _WANTED.get(getattr(node, "name", "").lower(), "")
    terms = [_as(value, wanted, node, env) for value in values]
    return One(applied(function, terms, node, env, getattr(node, "name", function)))


def _as(value: Value, wanted: str, node: Any, env: SqlEnv) -> Term:
    """``value`` as a scalar; as a date where one is wanted and a string or timestamp is given."""
    term = scalar_of(value, node, env)
    type_ = scalar_type(term)
    if wanted == "date" and (is_text(value) or type_.name == "datetime"):
        return scalar_of(cast(value, "date", (), node, env), node, env)
    if wanted == "float" and type_.name in ("int", "decimal"):
        return widened(term, Scalar("float", type_.nullable), node, env)
    return term


def of_substring(node: Any, env: SqlEnv) -> Value:
    """``substring(text, start, length)``."""
    only(node, env, "this", "start", "length")
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    if parts[1] is None:
        raise env.error(node, "substring needs a start", "write substring(text, 1, 3)")
    values = [env.value(part) for part in parts if part is not None]
    return _plain("substring", [*values, One(const(2**31 - 1))][:3], node, env)


def of_trim(node: Any, env: SqlEnv) -> Value:
    """``trim(text)``, ``trim(BOTH 'x' FROM text)``: spaces, unless other signs are named."""
    only(node, env, "this", "position", "expression")
    function = {"": "trim", "BOTH": "trim", "LEADING": "trim_left", "TRAILING": "trim_right"}
    signs = node.args.get("expression")
    values = [env.value(node.this), env.value(signs) if signs is not None else One(const(" "))]
    return _plain(function[(node.args.get("position") or "").upper()], values, node, env)


# -- functions that look at nulls, or take any number of arguments


def _coalesce(values: list[Value], node: Any, env: SqlEnv) -> Value:
    if not values or all(isinstance(value, Null) for value in values):
        return Null()
    if any(there(value) is not None or isinstance(value, Many | Row) for value in values):
        flags = [
            const(not isinstance(value, Null)) if (f := there(value)) is None else f for value in values[:-1]
        ]
        return chosen(flags, values, node, env)
    terms = operands(values, node, env)
    found = terms[-1]
    for term in reversed(terms[:-1]):
        found = applied("coalesce", [term, found], node, env) if is_nullable(term) else term
    return One(found)


def _nullif(values: list[Value], node: Any, env: SqlEnv) -> Value:
    left, right = _arguments(values, 2, node, env)
    return chosen([compared("=", left, right, node, env)], [Null(), left], node, env)


def _nvl2(values: list[Value], node: Any, env: SqlEnv) -> Value:
    tested, full, empty = _arguments(values, 3, node, env)
    if isinstance(tested, Null):
        return empty
    return chosen([call("is_null", scalar_of(tested, node, env))], [empty, full], node, env)


def _extreme(operator: str) -> Builder:
    """``greatest`` and ``least``: nulls are passed over."""

    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        if len(values) < 2:
            raise env.error(node, f"{node.name} takes two arguments or more")
        terms = operands(values, node, env)
        found = terms[0]
        for term in terms[1:]:
            better = call(operator, term, found)
            if is_nullable(found):
                better = call("or", call("is_null", found), better)
            found = call("if", better, term, found)
        return One(found)

    return build


def _concat(values: list[Value], node: Any, env: SqlEnv) -> Value:
    if any(bag_of(value) is not None for value in values):
        return added(values, node, env)
    if any(isinstance(value, Null) for value in values):
        return One(Const(None, Scalar("str", True)))
    terms = [scalar_of(value, node, env) for value in values]
    found: Term = const("")
    for i, term in enumerate(terms):
        text = as_text(term, node, env, "concat")
        found = text if i == 0 else call("+", found, text)
    return One(found)


def _round(values: list[Value], node: Any, env: SqlEnv) -> Value:
    places = values[1] if len(values) == 2 else One(const(0))
    return _plain("round", [*_arguments(values[:1], 1, node, env), places], node, env)


def _pmod(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """The remainder that is not negative."""
    if any(isinstance(value, Null) for value in values):
        return Null()
    left, right = operands(_arguments(values, 2, node, env), node, env)
    rest = applied("remainder", [left, right], node, env, "pmod")
    again = call("remainder", call("+", rest, right), right)
    return One(call("if", call("<", rest, const(0)), again, rest))


def _side(last: bool) -> Builder:
    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        text, number = _arguments(values, 2, node, env)
        if isinstance(text, Null) or isinstance(number, Null):
            return Null()
        size = scalar_of(number, node, env)
        if not last:
            return _plain("substring", [text, One(const(1)), number], node, env)
        start, whole = call("neg", size), scalar_of(text, node, env)
        found = applied("substring", [whole, start, size], node, env, node.name)
        none = call("<=", size, const(0))
        if is_nullable(whole):
            none = call("and", none, call("not", call("is_null", whole)))
        return One(call("if", none, _like(const(""), found), found))

    return build


def _like(term: Term, other: Term) -> Term:
    return call("nullable", term) if is_nullable(other) else term


def _trim(function: str, text: int) -> Builder:
    """The signs come before the ``text`` in ``ltrim`` and ``rtrim``, and behind it in ``btrim``."""

    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        if len(values) == 2:
            return _plain(function, [values[text], values[1 - text]], node, env)
        return _plain(function, [*_arguments(values, 1, node, env), One(const(" "))], node, env)

    return build


def _replace(values: list[Value], node: Any, env: SqlEnv) -> Value:
    """``replace(text, part, other)``; nothing is not found anywhere."""
    values = [*values, One(const(""))][:3] if len(values) == 2 else values
    text, part, other = _arguments(values, 3, node, env)
    if any(isinstance(value, Null) for value in values):
        return Null()
    found = _plain("replace", [text, part, other], node, env)
    wanted = scalar_of(part, node, env)
    if isinstance(wanted, Const) and wanted.value:
        return found
    return chosen([call("==", wanted, const(""))], [text, found], node, env)


def _date_sub(values: list[Value], node: Any, env: SqlEnv) -> Value:
    day, number = _arguments(values, 2, node, env)
    if isinstance(day, Null) or isinstance(number, Null):
        return Null()
    days = applied("neg", [scalar_of(number, node, env)], node, env, "date_sub")
    return _plain("add_days", [day, One(days)], node, env)


_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute", "second": "second",
}  # fmt: skip


def _truncated(first: bool) -> Builder:
    """``date_trunc(unit, timestamp)`` and ``trunc(date, unit)``."""

    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        unit, moment = _arguments(values, 2, node, env)[:: 1 if first else -1]
        if isinstance(moment, Null):
            return moment
        name = _UNITS.get(str(unit.term.value).lower()) if isinstance(unit, One) and is_text(unit) else None  # type: ignore[union-attr]
        if name is None or (not first and name in ("day", "hour", "minute", "second")):
            raise env.error(
                node, f"{node.name} takes the name of a unit", "one of 'YEAR', 'QUARTER', 'MONTH', …"
            )
        wanted = "datetime" if first else "date"
        term = scalar_of(moment, node, env)
        if scalar_type(term).name != wanted:
            term = scalar_of(cast(moment, wanted, (), node, env), node, env)
        return One(applied("truncate", [term, const(name)], node, env, node.name))

    return build


def _isnull(present: bool) -> Builder:
    def build(values: list[Value], node: Any, env: SqlEnv) -> Value:
        (value,) = _arguments(values, 1, node, env)
        if isinstance(value, Null):
            return One(const(not present))
        term = call("is_null", scalar_of(value, node, env))
        return One(call("not", term) if present else term)

    return build


def _if(values: list[Value], node: Any, env: SqlEnv) -> Value:
    _arguments(values, 3, node, env)
    return chosen([condition(node.expressions[0], env)], values[1:], node, env)


def _mod(values: list[Value], node: Any, env: SqlEnv) -> Value:
    _arguments(values, 2, node, env)
    if any(isinstance(value, Null) for value in values):
        return Null()
    terms = operands(values, node, env)
    return One(applied("remainder", terms, node, env, "mod"))


_BUILDERS: dict[str, Builder] = {
    "coalesce": _coalesce, "nvl": _coalesce, "ifnull": _coalesce, "nullif": _nullif, "nvl2": _nvl2, "if": _if,
    "iff": _if, "greatest": _extreme(">"), "least": _extreme("<"), "concat": _concat, "round": _round,
    "pmod": _pmod, "mod": _mod, "left": _side(False), "right": _side(True), "ltrim": _trim("trim_left", 1),
    "rtrim": _trim("trim_right", 1), "btrim": _trim("trim", 0), "date_sub": _date_sub, "date_trunc": _truncated(True),
    "trunc": _truncated(False), "replace": _replace, "isnull": _isnull(False), "isnotnull": _isnull(True),
    "make_timestamp": timestamp_of, "make_timestamp_ntz": timestamp_of, "time_trunc": unit_last("clock_trunc", 2),
    "time_diff": unit_last("clock_diff", 3), "regexp_like": _rlike, "regexp": _rlike, "rlike": _rlike,
}  # fmt: skip
