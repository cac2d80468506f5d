"""Lists: bags of entries, each with the position that it stands at.

``List(T) = Bag(⟨·at: int, ·item: T⟩)``, whose positions are 0, 1, …, each once. To the calculus it is a bag like any
other; rows are numbered where they come in, and what yields a list numbers it anew. So equal lists are equal bags.
"""

from __future__ import annotations

from nestling.calculus.types import INT, Bag, Record, Type

AT, ITEM = "·at", "·item"


def list_type(item: Type) -> Bag:
    """The type of lists of ``item``."""
    return Bag(Record(((AT, INT), (ITEM, item))))


def is_list(type_: Type) -> bool:
    """Whether ``type_`` is one of lists.

    >>> from nestling.calculus.types import STR
    >>> is_list(list_type(STR)), is_list(Bag(STR))
    (True, False)
    """
    return isinstance(type_, Bag) and isinstance(type_.element, Record) and type_.element.names == (AT, ITEM)


def item_type(type_: Type) -> Type:
    """The type of the elements of a list."""
    assert isinstance(type_, Bag) and isinstance(type_.element, Record)
    return type_.element.types[1]
