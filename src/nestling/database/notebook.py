"""How a notebook shows tables, views, changes and databases: as tables, inner bags as tables inside them.

Whatever a row, a name or a type holds, it is text there: ``markup`` escapes it. A long bag is shown by its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import entry_types, is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import Bag, Record, Type, show_type
from nestling.database.markup import Html, join, tag
from nestling.errors import brief

#: Rows that are shown of a table, and elements of a bag inside one.
MOST_ROWS, MOST_ELEMENTS = 20, 8
LONGEST = 200


def rows_html(title: str, element: Type, rows: Sequence[Any]) -> Html:
    """The first rows of a table or a view, under what it is."""
    count = f"{len(rows):,} rows" if len(rows) != 1 else "1 row"
    caption = join([tag("b", title), f": {show_type(element)}, {count}"])
    return tag("div", tag("p", caption), _table(element, rows, MOST_ROWS))


def changed_html(title: str, parts: Iterable[tuple[str, Type, Sequence[Any]]]) -> Html:
    """What came and went, each under what happened to it."""
    shown = [
        tag("div", tag("p", f"{what}:"), _table(type_, rows, MOST_ROWS))
        for what, type_, rows in parts
        if rows
    ]
    return tag("div", tag("p", tag("b", title)), *(shown or [tag("p", "nothing changed")]))


def listed_html(title: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> Html:
    """A list of things with what is said of each."""
    body = [tag("tr", *(tag("td", cell) for cell in line)) for line in lines]
    return tag("div", tag("p", tag("b", title)), tag("table", _head(head), tag("tbody", *body)))


def _table(element: Type, rows: Sequence[Any], most: int) -> Html:
    names = element.names if isinstance(element, Record) else ("value",)
    types = element.types if isinstance(element, Record) else (element,)
    body = []
    for row in rows[:most]:
        cells = row if isinstance(element, Record) else (row,)
        body.append(tag("tr", *(tag("td", _cell(t, value)) for t, value in zip(types, cells, strict=True))))
    if len(rows) > most:
        body.append(tag("tr", tag("td", f"… {len(rows) - most:,} more", colspan=str(len(names)))))
    return tag("table", _head(names), tag("tbody", *body))


def _head(names: Sequence[str]) -> Html:
    return tag("thead", tag("tr", *(tag("th", name) for name in names)))


def _cell(type_: Type, value: Any) -> str:
    if value is None:
        return "None"
    if is_optional(type_):
        return _cell(held(type_), value)
    if is_list(type_):
        return _cell(Bag(item_type(type_)), value)
    if is_map(type_):
        key, held_there = entry_types(type_)
        return _cell(Bag(Record((("key", key), ("value", held_there)))), list(value.items()))
    match type_:
        case Bag(Record() as element) if value and not is_optional(element):
            return _table(element, value, MOST_ELEMENTS)
        case Record():
            return _table(type_, [value], 1)
        case Bag(element):
            shown = [_cell(element, inner) for inner in value[:MOST_ELEMENTS]]
            return join([*shown, *(["…"] if len(value) > MOST_ELEMENTS else [])], ", ")
    return value if isinstance(value, str) and len(value) <= LONGEST else brief(value, LONGEST)
