"""DataFrames of views in the order that these are read in: the rows, and the arrays inside them.

Elements of equal keys are told apart by their other scalars, as everywhere; bags have no say here.
"""

from __future__ import annotations

from typing import Any

from nestling.calculus.types import Bag, Path, Record, Scalar, Type, leaf_types
from nestling.database.document.sorting import ComparedColumn, places
from nestling.frontend.view_query import Orders, inner_level
from nestling.quoting import sql_name, sql_text


def sorted_frame(frame: Any, element: Type, orders: Orders) -> Any:
    """``frame``, which has the rows of a view, in its order."""
    if any(level for level, _ in orders):
        columns: tuple[tuple[str, Type, Path], ...] = (("value", element, ()),)
        if isinstance(element, Record):
            columns = tuple((name, type_, (name,)) for name, type_ in element.fields)
        frame = frame.selectExpr(
            *(
                f"{_inside(sql_name(name), type_, (), path, orders)} AS {sql_name(name)}"
                for name, type_, path in columns
            )
        )
    if () not in dict(orders):
        return frame
    return frame.orderBy(
        *(_sorted_by(_column(frame, path), place) for path, place in _leaves(element, (), orders))
    )


def _leaves(element: Type, level: Path, orders: Orders) -> list[tuple[Path, ComparedColumn]]:
    """What the elements of a level are compared by."""
    leaves = list(leaf_types(element))
    return [
        (leaves[place.position][0], place)
        for place in places(element, dict(orders)[level])
        if isinstance(leaves[place.position][1], Scalar)
    ]


def _column(frame: Any, path: Path) -> Any:
    name, *inner = path or ("value",)
    column = frame[sql_name(name)]
    for field in inner:
        column = column.getField(field)
    return column


def _sorted_by(column: Any, place: ComparedColumn) -> Any:
    if place.descends:
        return column.desc_nulls_first() if place.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if place.nulls_first else column.asc_nulls_last()


def _inside(text: str, type_: Type, level: Path, path: Path, orders: Orders) -> str:
    """A value that stands at ``path`` in the elements of ``level``, its arrays in their orders."""
    if not any(_is_below(other, (*level, *path)) for other, _ in orders):
        return text
    match type_:
        case Record(fields):
            parts = [
                f"{sql_text(name)}, {_inside(f'{text}.{sql_name(name)}', field, level, (*path, name), orders)}"
                for name, field in fields
            ]
            return f"if({text} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Bag(element):
            return _array(text, element, inner_level(level, path), orders)
    return text


def _array(text: str, element: Type, level: Path, orders: Orders) -> str:
    depth = len(level)  # names of lambdas inside each other differ
    if any(other != level and _is_below(other, level) for other, _ in orders):
        text = f"transform({text}, x{depth} -> {_inside(f'x{depth}', element, level, (), orders)})"
    if level not in dict(orders):
        return text
    left, right = f"l{depth}", f"r{depth}"
    return (
        f"array_sort({text}, ({left}, {right}) -> {_compared(left, right, _leaves(element, level, orders))})"
    )


def _compared(left: str, right: str, leaves: list[tuple[Path, ComparedColumn]]) -> str:
    """-1, 0 or 1."""
    found = "0"
    for path, place in reversed(leaves):
        one, two = (side + "".join(f".{sql_name(name)}" for name in path) for side in (left, right))
        null, less = (-1 if place.nulls_first else 1), (1 if place.descends else -1)
        found = (
            f"CASE WHEN {one} IS NULL AND {two} IS NOT NULL THEN {null} WHEN {one} IS NOT NULL AND {two} IS NULL "
            f"THEN {-null} WHEN {one} < {two} THEN {less} WHEN {one} > {two} THEN {-less} ELSE {found} END"
        )
    return found


def _is_below(level: Path, around: Path) -> bool:
    return level[: len(around)] == around
