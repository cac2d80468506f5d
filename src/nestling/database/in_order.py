"""The order in which a view is read whose text ends with ``order by``.

The bag is kept as any other; reading sorts it. Rows of equal keys are ordered among themselves, by all they hold, so
that two readings of one state agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nestling.calculus.types import Record, Scalar, Type
from nestling.database.document.shape import ordered
from nestling.frontend.catalog import FieldPath
from nestling.frontend.view_query import Order
from nestling.quoting import sql_name


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


def sorted_frame(frame: Any, element: Type, order: Order) -> Any:
    """The rows of a DataFrame sorted so; equal ones are told apart by their scalar columns."""
    if not order:
        return frame
    whole = all(descends for _, descends in order)
    columns = [_column(frame, path, descends) for path, descends in order]
    if isinstance(element, Record):
        scalars = [name for name, type_ in element.fields if isinstance(type_, Scalar)]
        columns += [_column(frame, (name,), whole) for name in scalars]
    return frame.orderBy(*columns)


def _column(frame: Any, path: FieldPath, descends: bool) -> Any:
    name, *inner = path or ("value",)
    column = frame[sql_name(name)]
    for field in inner:
        column = column.getField(field)
    return column.desc_nulls_last() if descends else column.asc_nulls_first()


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
