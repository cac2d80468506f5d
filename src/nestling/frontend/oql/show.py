"""Trees of OQL as text. Law: ``parse(show(tree), classes) == tree`` for every tree that ``parse`` yields."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, assert_never

from nestling.frontend.oql.cursor import RESERVED
from nestling.frontend.oql.tokens import is_word
from nestling.frontend.oql.tree import (
    Among,
    Between,
    Binary,
    Cast,
    Collect,
    Constant,
    DefineQuery,
    Dot,
    FromClause,
    Index,
    Interval,
    Invoke,
    Like,
    Name,
    NewObject,
    Nil,
    OqlProgram,
    Projection,
    Quantifier,
    Query,
    Select,
    Slice,
    SortKey,
    StructOf,
    Unary,
    UndefineQuery,
    Versus,
)

#: What means something else where it stands before a parenthesis.
_SPECIAL = RESERVED - {"distinct"} | {"struct", "set", "bag", "list", "array"}


def show(program: OqlProgram) -> str:
    """The text of a program, with more parentheses than it needs.

    >>> from nestling.frontend.oql.parse import parse
    >>> show(parse("select c.name from c in customers where c.credit > 1 + 2"))
    'select c.name from c in customers where (c.credit > (1 + 2))'
    """
    return " ".join([*map(_definition, program.definitions), _query(program.query)])


def _definition(found: DefineQuery | UndefineQuery) -> str:
    if isinstance(found, UndefineQuery):
        return f"undefine {_variable(found.name)};"
    parameters = f"({', '.join(map(_variable, found.parameters))})" if found.parameters else ""
    return f"define {_variable(found.name)}{parameters} as {_query(found.query)};"


def _query(query: Query) -> str:
    """``query`` where a query may stand."""
    return _select(query) if isinstance(query, Select) else _part(query)


def _part(query: Query) -> str:  # noqa: C901 - one arm per node
    """``query`` where an operand may stand."""
    match query:
        case Constant(value):
            return _constant(value)
        case Nil():
            return "nil"
        case Name(text):
            return _variable(text)
        case Dot(base, name):
            return f"{_part(base)}.{_word(name)}"
        case Invoke(name, (first, *others)) if name.lower() in _SPECIAL or _word(name) != name:
            return f"{_part(first)}.{_word(name)}({_several(others)})"
        case Invoke(name, args):
            return f"{_quoted(name) if name.lower() in _SPECIAL else _word(name)}({_several(args)})"
        case StructOf(fields):
            return f"struct({_fields(fields)})"
        case NewObject(name, fields):
            return f"{name}({_fields(fields)})"
        case Collect(kind, items):
            return f"{kind}({_several(items)})"
        case Interval(low, high):
            return f"list({_query(low)}..{_query(high)})"
        case Index(base, position):
            return f"{_part(base)}[{_part(position)}]"
        case Slice(base, first, last):
            return f"{_part(base)}[{_part(first)}:{_part(last)}]"
        case Select():
            return f"({_select(query)})"
        case _:
            return f"({_operation(query)})"


def _operation(
    query: Unary | Binary | Versus | Among | Like | Between | Quantifier | Cast,
) -> str:
    match query:
        case Unary(operator, operand):
            return f"{operator} {_part(operand)}"
        case Binary(operator, left, right):
            return f"{_part(left)} {operator} {_part(right)}"
        case Versus(operator, which, left, right):
            return f"{_part(left)} {operator} {which} ({_query(right)})"
        case Among(element, collection):
            return f"{_part(element)} in {_part(collection)}"
        case Like(text, pattern):
            return f"{_part(text)} like {_part(pattern)}"
        case Between(value, low, high):
            return f"{_part(value)} between {_part(low)} and {_part(high)}"
        case Quantifier(kind, name, collection, test):
            return f"{kind} {_variable(name)} in {_part(collection)}: {_part(test)}"
        case Cast(name, operand):
            return f"({_word(name)}) {_part(operand)}"
        case _:
            assert_never(query)


def _select(query: Select) -> str:
    head = ", ".join(map(_projection, query.projections)) or "*"
    parts = [f"select {'distinct ' if query.distinct else ''}{head}"]
    parts.append(f"from {', '.join(map(_clause, query.clauses))}")
    if query.where is not None:
        parts.append(f"where {_part(query.where)}")
    if query.groups:
        parts.append(f"group by {', '.join(map(_projection, query.groups))}")
    if query.having is not None:
        parts.append(f"having {_part(query.having)}")
    if query.order:
        parts.append(f"order by {', '.join(map(_sort_key, query.order))}")
    return " ".join(parts)


def _projection(found: Projection) -> str:
    return f"{_word(found.label)}: {_part(found.query)}" if found.label is not None else _part(found.query)


def _clause(found: FromClause) -> str:
    if found.name is None:
        return _part(found.collection)
    if found.class_name is None and found.name.lower() in ("order", "group"):
        return f"{_part(found.collection)} as {found.name}"
    of = f" as {_word(found.class_name)}" if found.class_name is not None else ""
    return f"{_variable(found.name)}{of} in {_part(found.collection)}"


def _sort_key(found: SortKey) -> str:
    return f"{_part(found.query)} {'desc' if found.descending else 'asc'}"


def _several(queries: Iterable[Query]) -> str:
    return ", ".join(map(_query, queries))


def _fields(fields: Iterable[tuple[str, Query]]) -> str:
    return ", ".join(f"{_word(name)}: {_query(query)}" for name, query in fields)


def _variable(name: str) -> str:
    """A name where keywords are none."""
    return _quoted(name) if name.lower() in RESERVED else _word(name)


def _word(name: str) -> str:
    """A name where any word may stand."""
    return name if is_word(name) else _quoted(name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _constant(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return f"timestamp '{value.isoformat()}'"
        case date():
            return f"date '{value.isoformat()}'"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
