"""Expressions of Spark Connect as SQL: names are found here, what functions mean is for the front end of SQL.

A client sends expressions as it was given them: names without types. So a name is looked up among the columns of the
rows below it as Spark does: with a plan, among the columns of that plan; with a qualifier, among those of that alias.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from nestling.errors import QueryError
from nestling.frontend.dataframe.places import in_python
from nestling.quoting import plain_sql_text, sql_name

#: Functions that SQL writes between their arguments.
INFIX = {
    "==": "=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "and": "AND", "or": "OR",
    "+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE",
}  # fmt: skip
GENERATORS = {
    "explode": "explode", "explode_outer": "explode", "posexplode": "posexplode",
    "posexplode_outer": "posexplode", "inline": "inline", "inline_outer": "inline",
}  # fmt: skip
_AS = re.compile(r"\s+AS\s+(`(?:[^`]|``)+`|\w+)\s*$", re.IGNORECASE)
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")
_SAYS = 'write the view as SQL: db.view(name, "SELECT …")'


@dataclass(frozen=True)
class RemoteColumn:
    """A column of rows: how it is written, its type as Spark says it in JSON, and the aliases that qualify it."""

    id: int
    name: str
    type: Any
    text: str
    aliases: frozenset[str] = frozenset()


@dataclass
class RemoteScope:
    """The columns in reach, and the columns that each plan has."""

    columns: Sequence[RemoteColumn]
    outputs: Mapping[int, Sequence[RemoteColumn]]
    lambdas: dict[str, str] = field(default_factory=dict)

    def find(self, parts: Sequence[str], plan: int | None) -> tuple[RemoteColumn, Sequence[str]]:
        """The column that a name means, and the fields in it that follow."""
        own = {column.id: column for column in self.columns}
        if plan is None:
            known: Sequence[RemoteColumn] = self.columns
        else:
            known = [own[c.id] for c in self.outputs.get(plan, ()) if c.id in own]
        first = parts[0].lower()
        if len(parts) > 1:
            found = [c for c in known if first in c.aliases and c.name.lower() == parts[1].lower()]
            if found:
                return _only(found, parts), parts[2:]
        return _only([c for c in known if c.name.lower() == first], parts), parts[1:]


def _only(found: Sequence[RemoteColumn], parts: Sequence[str]) -> RemoteColumn:
    name = ".".join(parts)
    if len({column.id for column in found}) == 1:
        return found[0]
    if found:
        raise QueryError(f"{name} is a column of several tables here", hint="name it by its alias: a.name")
    raise QueryError(f"there is no column {name} here", hint=_SAYS)


def refused(what: str) -> QueryError:
    """What a DataFrame of Spark Connect cannot say to us."""
    return QueryError(f"{what} is not read from a DataFrame of Spark Connect", hint=_SAYS)


def names_in(identifier: str) -> list[str]:
    """The parts of a name with dots; backticks keep one together."""
    return [(quoted.replace("``", "`") if quoted else plain) for quoted, plain in _PART.findall(identifier)]


def expression(node: Any, scope: RemoteScope) -> str:
    """An expression as SQL, whole: it can stand between operators."""
    kind = node.WhichOneof("expr_type")
    writer = _WRITERS.get(kind)
    try:
        if writer is None:
            raise refused(f"an expression of the kind {kind}")
        return writer(node, scope)
    except QueryError as error:
        if error.at is None and node.common.origin.HasField("python_origin"):
            origin = node.common.origin.python_origin
            error.located(in_python(origin.fragment, origin.call_site))
        raise


def bare(node: Any) -> Any:
    """An expression without its alias."""
    return node.alias.expr if node.WhichOneof("expr_type") == "alias" else node


def generator(node: Any) -> Any:
    """The function that makes rows, if ``node`` is one."""
    inner = bare(node)
    is_one = inner.WhichOneof("expr_type") == "unresolved_function"
    return (
        inner.unresolved_function
        if is_one and inner.unresolved_function.function_name in GENERATORS
        else None
    )


def _attribute(node: Any, scope: RemoteScope) -> str:
    given = node.unresolved_attribute
    parts = names_in(given.unparsed_identifier)
    column, fields = scope.find(parts, given.plan_id if given.HasField("plan_id") else None)
    text, type_ = column.text, column.type
    for name in fields:
        text, type_ = field_of(text, type_, name)
    return text


def field_of(text: str, type_: Any, name: str) -> tuple[str, Any]:
    """A field of a struct, or of each struct of an array, and its type."""
    kind = type_.get("type") if isinstance(type_, dict) else None
    inner = type_.get("elementType") if kind == "array" else type_
    fields = inner.get("fields", ()) if isinstance(inner, dict) else ()
    found = [each for each in fields if each["name"].lower() == name.lower()]
    if len(found) != 1:
        raise QueryError(f"there is no field {name} in {text}", hint=_SAYS)
    if kind != "array":
        return f"{text}.{sql_name(found[0]['name'])}", found[0]["type"]
    made = {"type": "array", "elementType": found[0]["type"], "containsNull": True}
    return f"transform({text}, x -> x.{sql_name(found[0]['name'])})", made


def _extract(node: Any, scope: RemoteScope) -> str:
    child, part = node.unresolved_extract_value.child, node.unresolved_extract_value.extraction
    text = expression(child, scope)
    if part.WhichOneof("expr_type") != "literal" or part.literal.WhichOneof("literal_type") != "string":
        return f"{text}[{expression(part, scope)}]"
    return f"{text}.{sql_name(part.literal.string)}"


def _function(node: Any, scope: RemoteScope) -> str:
    given = node.unresolved_function
    name, arguments = given.function_name, list(given.arguments)
    if name in GENERATORS:
        raise refused(f"{name} inside of an expression")
    if (
        name == "count"
        and len(arguments) == 1
        and arguments[0].WhichOneof("expr_type") in ("literal", "unresolved_star")
    ):
        return "count(*)"
    if name == "struct":
        return _struct(arguments, scope)
    texts = [expression(argument, scope) for argument in arguments]
    if name in _SHAPES:
        return _SHAPES[name](texts)
    if name in INFIX and len(texts) == 2:
        return f"({texts[0]} {INFIX[name]} {texts[1]})"
    if not re.fullmatch("[a-z_][a-z_0-9]*", name):
        raise refused(f"the function {name}")
    return f"{name}({'DISTINCT ' * given.is_distinct}{', '.join(texts)})"


def _struct(arguments: Sequence[Any], scope: RemoteScope) -> str:
    parts = []
    for number, argument in enumerate(arguments):
        kind = argument.WhichOneof("expr_type")
        if kind == "alias":
            name = argument.alias.name[0]
        elif kind == "unresolved_attribute":
            name = names_in(argument.unresolved_attribute.unparsed_identifier)[-1]
        else:
            name = f"col{number + 1}"
        parts.append(f"{plain_sql_text(name)}, {expression(bare(argument), scope)}")
    return f"named_struct({', '.join(parts)})"


def _case(texts: Sequence[str]) -> str:
    pairs = zip(texts[:-1:2], texts[1::2], strict=False)
    branches = "".join(f"WHEN {test} THEN {value} " for test, value in pairs)
    return f"(CASE {branches}{f'ELSE {texts[-1]} ' * (len(texts) % 2)}END)"


_SHAPES: dict[str, Callable[[Sequence[str]], str]] = {
    "when": _case,
    "in": lambda texts: f"({texts[0]} IN ({', '.join(texts[1:])}))",
    "isNull": lambda texts: f"({texts[0]} IS NULL)",
    "isnull": lambda texts: f"({texts[0]} IS NULL)",
    "isNotNull": lambda texts: f"({texts[0]} IS NOT NULL)",
    "isnotnull": lambda texts: f"({texts[0]} IS NOT NULL)",
    "not": lambda texts: f"(NOT {texts[0]})",
    "!": lambda texts: f"(NOT {texts[0]})",
    "~": lambda texts: f"(NOT {texts[0]})",
    "negative": lambda texts: f"(-{texts[0]})",
    "positive": lambda texts: texts[0],
}


def _literal(node: Any, scope: RemoteScope) -> str:
    given = node.literal
    kind = given.WhichOneof("literal_type")
    match kind:
        case "null":
            return "NULL"
        case "integer":
            return str(given.integer) if given.integer >= 0 else f"({given.integer})"
        case "byte" | "short" | "long":
            word = {"byte": "TINYINT", "short": "SMALLINT", "long": "BIGINT"}[kind]
            return f"CAST({getattr(given, kind)} AS {word})"
        case "boolean":
            return str(given.boolean).upper()
        case "string":
            return plain_sql_text(given.string)
        case "double" | "float":
            return f"CAST({plain_sql_text(repr(getattr(given, kind)))} AS DOUBLE)"
        case "decimal":
            size = f"({given.decimal.precision},{given.decimal.scale})" if given.decimal.precision else ""
            return f"CAST({given.decimal.value} AS DECIMAL{size})"
        case "date":
            return f"DATE {plain_sql_text(str(date(1970, 1, 1) + timedelta(days=given.date)))}"
    raise refused(f"a constant of the type {kind}")


def _cast(node: Any, scope: RemoteScope) -> str:
    given = node.cast
    if (
        not given.type_str
        or given.eval_mode == given.EVAL_MODE_LEGACY
        or not re.fullmatch(r"[\w(), ]+", given.type_str)
    ):
        raise refused("this cast")
    if given.type_str.lower().startswith("timestamp") and given.type_str.lower() != "timestamp_ntz":
        raise QueryError("a TIMESTAMP depends on the time zone of the session", hint="cast to TIMESTAMP_NTZ")
    word = "TRY_CAST" if given.eval_mode == given.EVAL_MODE_TRY else "CAST"
    return f"{word}({expression(given.expr, scope)} AS {given.type_str})"


def _text(node: Any, scope: RemoteScope) -> str:
    """SQL within a DataFrame: its names are those of the columns, where each stands under its own."""
    text = node.expression_string.expression
    if "--" in text or "/*" in text:
        raise refused("SQL with a comment in it")
    names = [column.name.lower() for column in scope.columns]
    hidden = [
        c.name
        for c in scope.columns
        if names.count(c.name.lower()) > 1 or not c.text.endswith(f".{sql_name(c.name)}")
    ]
    if hidden:
        raise refused(f"SQL over columns that are called alike ({hidden[0]})")
    return f"({_AS.sub('', text)})"


def _lambda(node: Any, scope: RemoteScope) -> str:
    given = node.lambda_function
    names = [part.name_parts[0] for part in given.arguments]
    listed = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{listed} -> {expression(given.function, scope)}"


def _window(node: Any, scope: RemoteScope) -> str:
    given = node.window
    if given.HasField("frame_spec"):
        raise refused("a window with a frame of its own")
    keys = ", ".join(expression(part, scope) for part in given.partition_spec)
    order = ", ".join(sort_key(part, scope) for part in given.order_spec)
    clauses = [f"PARTITION BY {keys}"] * bool(keys) + [f"ORDER BY {order}"] * bool(order)
    return f"{expression(given.window_function, scope)} OVER ({' '.join(clauses)})"


def sort_key(key: Any, scope: RemoteScope) -> str:
    """One part of ORDER BY."""
    direction = "DESC" if key.direction == key.SORT_DIRECTION_DESCENDING else "ASC"
    nulls = "LAST" if key.null_ordering == key.SORT_NULLS_LAST else "FIRST"
    return f"{expression(key.child, scope)} {direction} NULLS {nulls}"


_WRITERS: dict[str | None, Callable[[Any, RemoteScope], str]] = {
    "alias": lambda node, scope: expression(node.alias.expr, scope),
    "cast": _cast,
    "expression_string": _text,
    "lambda_function": _lambda,
    "literal": _literal,
    "unresolved_attribute": _attribute,
    "unresolved_extract_value": _extract,
    "unresolved_function": _function,
    "unresolved_named_lambda_variable": lambda node, scope: str(
        node.unresolved_named_lambda_variable.name_parts[0]
    ),
    "window": _window,
}
