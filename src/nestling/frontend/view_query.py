"""What a front end makes of the text of a view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nestling.calculus.fixpoint import Fixpoint
from nestling.calculus.terms import Expr
from nestling.calculus.types import ELEMENT, Bag, Path, Record, Scalar, Type, leaf_types
from nestling.frontend.catalog import FieldPath


class OrderKey(NamedTuple):
    """By what stands at ``path`` in an element; NaN is greater than any other number."""

    path: FieldPath
    descends: bool
    nulls_first: bool


Order: TypeAlias = tuple[OrderKey, ...]
#: The order of a view's rows, at ``()``, and of the bags inside them, at their paths; of a bag without one, nothing.
Orders: TypeAlias = tuple[tuple[Path, Order], ...]


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """The bag that a view is, the orders that it is read in, if its text ends with one, and the recursions it reads."""

    expr: Expr
    orders: Orders = ()
    fixpoints: tuple[Fixpoint, ...] = ()


def sort_key(path: FieldPath, descends: bool = False, nulls_first: bool | None = None) -> OrderKey:
    """A key; unless it is said otherwise, a null is less than any other."""
    return OrderKey(path, descends, not descends if nulls_first is None else nulls_first)


def by_all(element: Type, descends: bool = False) -> Order:
    """The order of values without bags: by their scalars, from left to right."""
    return tuple(sort_key(path, descends) for path, _ in leaf_types(element))


def inner_level(level: Path, path: FieldPath) -> Path:
    """The level of the bag that stands at ``path`` in the elements of ``level``."""
    return (*level, *(path or (ELEMENT,)))


def are_orders(orders: Orders, element: Type) -> bool:
    """Whether ``orders`` are orders of the levels of ``element``, each once and by scalars."""
    levels = dict(_levels(element, ()))
    return len(dict(orders)) == len(orders) and all(
        level in levels and order and all(isinstance(_at(levels[level], key.path), Scalar) for key in order)
        for level, order in orders
    )


def _levels(element: Type, level: Path) -> Iterator[tuple[Path, Type]]:
    yield level, element
    for path, type_ in leaf_types(element):
        if isinstance(type_, Bag):
            yield from _levels(type_.element, inner_level(level, path))


def _at(element: Type, path: FieldPath) -> Type | None:
    step: Type | None = element
    for name in path:
        step = dict(step.fields).get(name) if isinstance(step, Record) else None
    return step


def show_orders(orders: Orders) -> str:
    """Orders in words.

    >>> show_orders(
    ...     (((), (sort_key(("n",), True), sort_key(("name",)))), (("items",), (sort_key((), False, False),)))
    ... )
    'by n descending, name; items by value with nulls last'
    """
    return "; ".join(
        " ".join([*filter(None, [".".join(level)]), "by", ", ".join(map(_show_key, order))])
        for level, order in orders
    )


def _show_key(key: OrderKey) -> str:
    words = [".".join(key.path) or "value", *(["descending"] if key.descends else [])]
    if key.nulls_first == key.descends:
        words.append(f"with nulls {'first' if key.nulls_first else 'last'}")
    return " ".join(words)
