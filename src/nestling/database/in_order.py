"""The order in which a view is read whose text ends with ``order by``.

The bag is kept as any other; reading sorts it. Rows of equal keys are ordered among themselves, by all they hold, so
that two readings of one state agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.calculus.types import Record, Type
from nestling.database.document.shape import ordered
from nestling.frontend.catalog import FieldPath
from nestling.frontend.view_query import Order


def in_order(rows: Iterable[Any], element: Type, order: Order) -> list[Any]:
    """``rows`` sorted; an absent key is less than any other.

    >>> from nestling.calculus.types import INT, STR, record
    >>> in_order([("b", 1), ("a", 1), ("c", 2)], record(name=STR, n=INT), ((("n",), True),))
    [('c', 2), ('b', 1), ('a', 1)]
    """
    found = sorted(rows, key=ordered, reverse=all(descends for _, descends in order))
    for path, descends in reversed(order):
        found.sort(key=lambda row: ordered(_at(row, element, path)), reverse=descends)
    return found


def leads_to(element: Type, path: FieldPath) -> Type | None:
    """The type of what stands at ``path``, if something does."""
    step: Type | None = element
    for name in path:
        step = dict(step.fields).get(name) if isinstance(step, Record) else None
    return step


def _at(row: Any, element: Type, path: FieldPath) -> Any:
    for name in path:
        assert isinstance(element, Record)
        place = element.names.index(name)
        row, element = row[place], element.types[place]
    return row
