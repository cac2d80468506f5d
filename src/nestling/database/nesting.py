"""Nested rows from flat ones: functions made once for a type, since a row with bags inside is read often.

Law (5): ``nester(type)`` gives of the flat columns of a value that value, its inner bags as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from nestling.calculus.types import Bag, Record, Scalar, Type, leaf_types
from nestling.values.bag import ZBag
from nestling.values.label import Label

Row = tuple[Any, ...]


class InnerBags(Protocol):
    """What is read of an engine here."""

    def under(self, dictionary: str, label: Label) -> dict[Row, int]:
        """The rows of an inner bag, without the label, with their multiplicities: a dict of the caller's, none zero."""
        ...


Nester = Callable[[Row, InnerBags], Any]


def nester(type_: Type, at: int = 0) -> Nester:
    """From flat columns, of which those of the value begin at ``at``, the value."""
    match type_:
        case Record(fields):
            return _record([field for _, field in fields], at)
        case Bag(element):
            return _bag(element, at)
    return lambda row, stored: row[at]


def _record(fields: list[Type], at: int) -> Nester:
    first, parts = at, list[Nester]()
    for field in fields:
        parts.append(nester(field, at))
        at += len(list(leaf_types(field)))
    if all(isinstance(field, Scalar) for field in fields):
        return lambda row, stored: row[first:at]
    if all(isinstance(field, Scalar | Bag) for field in fields):
        return _columns(
            [(i, parts[i]) for i, field in enumerate(fields) if isinstance(field, Bag)], first, at
        )
    return lambda row, stored: tuple([part(row, stored) for part in parts])


def _columns(bags: list[tuple[int, Nester]], first: int, end: int) -> Nester:
    """A record whose fields are a column each: only bags are asked for."""

    def columns(row: Row, stored: InnerBags) -> Row:
        values = list(row[first:end])
        for i, bag in bags:
            values[i] = bag(row, stored)
        return tuple(values)

    return columns


def _bag(element: Type, at: int) -> Nester:
    if isinstance(element, Record) and all(isinstance(field, Scalar) for _, field in element.fields):

        def flat(row: Row, stored: InnerBags) -> ZBag:
            return ZBag.counted(stored.under(row[at].site, row[at]))

        return flat
    inner = nester(element)

    def bag(row: Row, stored: InnerBags) -> ZBag:
        rows = stored.under(row[at].site, row[at])
        return ZBag([(inner(each, stored), times) for each, times in rows.items()])

    return bag
