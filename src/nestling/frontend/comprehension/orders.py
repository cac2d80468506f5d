"""The orders of lists, while these are put into rows."""

from __future__ import annotations

from dataclasses import replace

from nestling.calculus.types import Path
from nestling.frontend.comprehension.values import Items, Ranked, Sorted
from nestling.frontend.values import Many, Row, Value
from nestling.frontend.view_query import Orders, inner_level


def released(value: Value) -> tuple[Value, Orders]:
    """``value`` with bags for its lists, and the orders that these have: of what is read, or of an element.

    Of an element, the orders are those of the bags that it holds, at the level of the list that it is put into.
    """
    match value:
        case Sorted(expr, orders, form):
            return Many(expr, form), orders
        case Ranked(_, _, _, orders):
            return value, orders
        case Items(values) if values:
            parts = [held(item) for item in values]
            if all(
                orders == parts[0][1] for _, orders in parts
            ):  # else the lists are refused where they stand
                return replace(value, values=tuple(item for item, _ in parts)), parts[0][1]
    return value, ()


def held(value: Value, path: Path = ()) -> tuple[Value, Orders]:
    """``value``, which stands at ``path`` in an element, with bags for its lists, and the orders of their levels."""
    if isinstance(value, Row):
        parts = [(name, *held(field, (*path, name))) for name, field in value.fields]
        orders = tuple(order for _, _, found in parts for order in found)
        return replace(value, fields=tuple((name, field) for name, field, _ in parts)), orders
    found, orders = released(value)
    return found, tuple((inner_level((), path) + level, order) for level, order in orders)
