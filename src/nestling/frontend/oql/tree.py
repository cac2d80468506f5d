"""The syntax tree of OQL: what was written, and where.

Nodes are notation: ``[not] in``, ``is [not] null`` and ``x.f(y)`` are the nodes of what they abbreviate. Places are
offsets into the text, and no part of a tree: ``parse(show(tree)) == tree``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Place: TypeAlias = tuple[int, int]
Query: TypeAlias = (
    "Constant | Nil | Name | Dot | Invoke | StructOf | NewObject | Collect | Interval | Unary | Binary"
    " | Versus | Among | Like | Between | Quantifier | Index | Slice | Cast | Select"
)


NOWHERE: Place = (0, 0)


@dataclass(frozen=True, slots=True)
class Constant:
    """``1``, ``2.5``, ``'text'``, ``true``, ``date '2001-01-05'``, ``timestamp '…'``."""

    value: Any
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Nil:
    """``nil``, ``undefined``, ``null``."""

    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a definition, or the name of an extent."""

    text: str
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Dot:
    """``base.name`` or ``base->name``."""

    base: Query
    name: str
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Invoke:
    """``name(args)``; ``base.name(args)`` is the same with one argument more."""

    name: str
    args: tuple[Query, ...]
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StructOf:
    """``struct(name: query, …)``."""

    fields: tuple[tuple[str, Query], ...]
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NewObject:
    """``Class(name: query, …)``."""

    name: str
    fields: tuple[tuple[str, Query], ...]
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Collect:
    """``set(…)``, ``bag(…)``, ``list(…)``; an array is a list."""

    kind: str
    items: tuple[Query, ...]
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Interval:
    """``list(low..high)``."""

    low: Query
    high: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``not a``, ``-a``, ``+a``."""

    operator: str
    operand: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """``a or b``, ``a = b``, ``a + b``, ``a union b``; ``<>`` is ``!=``."""

    operator: str
    left: Query
    right: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Versus:
    """``left = any right``: with one or with all elements of a collection; ``some`` is ``any``."""

    operator: str
    which: str
    left: Query
    right: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Among:
    """``element in collection``, or one string in another."""

    element: Query
    collection: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Like:
    """``text like pattern``."""

    text: Query
    pattern: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Between:
    """``value between low and high``."""

    value: Query
    low: Query
    high: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """``exists name in collection: test``, or ``for all``."""

    kind: str
    name: str
    collection: Query
    test: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """``base[position]``."""

    base: Query
    position: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """``base[first:last]``, both included."""

    base: Query
    first: Query
    last: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """``(class) operand``."""

    name: str
    operand: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Projection:
    """``label: query``, ``query as label``, or ``query`` alone."""

    label: str | None
    query: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromClause:
    """``name in collection``, ``name as class in collection``, ``collection as name``, or ``collection`` alone."""

    name: str | None
    class_name: str | None
    collection: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SortKey:
    """``query asc`` or ``query desc``."""

    query: Query
    descending: bool
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Select:
    """``select … from … where … group by … having … order by …``; without projections, ``*``."""

    distinct: bool
    projections: tuple[Projection, ...]
    clauses: tuple[FromClause, ...]
    where: Query | None = None
    groups: tuple[Projection, ...] = ()
    having: Query | None = None
    order: tuple[SortKey, ...] = ()
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DefineQuery:
    """``define name(parameters) as query;``"""

    name: str
    parameters: tuple[str, ...]
    query: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UndefineQuery:
    """``undefine name;``"""

    name: str
    at: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OqlProgram:
    """Definitions, and the query that may use them."""

    definitions: tuple[DefineQuery | UndefineQuery, ...]
    query: Query
    at: Place = field(default=NOWHERE, compare=False, repr=False)


def label_of(query: Query) -> str | None:
    """The name of a column that has none of its own: where a path ends, or what is called."""
    match query:
        case Name(text):
            return text
        case Dot(_, name):
            return name
        case Invoke(name, _):
            return name
    return None
