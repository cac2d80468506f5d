"""Arrays whose order counts: ``nl.List[T]`` in a class or a dict, ``ordered=["items"]`` beside any other schema.

A plain ``list[T]`` or ``ARRAY<T>`` is a bag, whose elements come and go by themselves. In one that is ordered each has
its position, and it changes with its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from nestling.calculus.lists import is_list, item_type, list_type
from nestling.calculus.maps import is_map
from nestling.calculus.optional import ITEMS, held, is_optional
from nestling.calculus.types import Bag, Record, Type
from nestling.errors import QueryError

ORDERED = "nestling: in order"


class _Ordered:
    def __class_getitem__(cls, element: Any) -> Any:
        return Annotated[list[element], ORDERED]


if TYPE_CHECKING:
    List = list
else:
    List = _Ordered


def with_order(record: Record, texts: Sequence[str], table: str) -> Record:
    """``record`` with the arrays at the paths ``texts``, written with dots, in order, and arrays right inside them.

    >>> from nestling.calculus.types import STR, show_type
    >>> from nestling.calculus.types import record as made
    >>> show_type(with_order(made(tags=Bag(STR)), ["tags"], "o"))
    '⟨tags: Bag(⟨·at: int, ·item: str⟩)⟩'
    """
    for text in texts:
        known = dict(_arrays(record))
        if text not in known:
            raise QueryError(
                f"{table} has no array {text!r} to be in order",
                hint=f"its arrays: {', '.join(known) or 'none'}",
            )
        record = _replaced(record, text.split("."))  # type: ignore[assignment]
    return record


def _arrays(type_: Type, path: str = "") -> Iterator[tuple[str, Bag]]:
    """The arrays by their paths; elements of arrays are passed through."""
    if is_optional(type_):
        type_ = held(type_)
    match type_:
        case Bag() if is_map(type_):
            return
        case Bag(element):
            yield path, type_
            inside = item_type(type_) if is_list(type_) else element
            if isinstance(inside, Record):
                yield from _arrays(inside, path)
        case Record(fields):
            for name, field in fields:
                yield from _arrays(field, f"{path}.{name}" if path else name)


def _replaced(type_: Type, names: list[str]) -> Type:
    match type_:
        case Record(fields) if fields and fields[-1][0] == ITEMS:
            return Record((*fields[:-1], (ITEMS, _replaced(fields[-1][1], names))))
        case Bag(element) if not names:
            inside = item_type(type_) if is_list(type_) else element
            return list_type(
                _replaced(inside, []) if isinstance(inside, Bag) and not is_map(inside) else inside
            )
        case Bag(element) if is_list(type_):
            return list_type(_replaced(item_type(type_), names))
        case Bag(element):
            return Bag(_replaced(element, names))
        case Record(fields):
            # A name may have dots too.
            size = next(n for n in range(1, len(names) + 1) if ".".join(names[:n]) in type_.names)
            name = ".".join(names[:size])
            return Record(tuple((n, _replaced(t, names[size:]) if n == name else t) for n, t in fields))
    raise TypeError(type_)
