"""Maps: bags of entries, of which no two have one key.

``Map(K, V) = Bag(⟨·key: K, ·value: V⟩)``. To the calculus it is a bag like others; that a key is there once is seen to
where rows come in, and no function that yields a map can make it twice.
"""

from __future__ import annotations

from nestling.calculus.types import Bag, Record, Type

KEY, VALUE = "·key", "·value"


def word(name: str) -> str:
    """What users call a field: the two of an entry have hidden names.

    >>> word(KEY), word(VALUE), word("price")
    ('key', 'value', 'price')
    """
    return name.removeprefix("·") if name in (KEY, VALUE) else name


def map_type(key: Type, value: Type) -> Bag:
    """The type of maps from ``key`` to ``value``."""
    return Bag(Record(((KEY, key), (VALUE, value))))


def is_map(type_: Type) -> bool:
    """Whether ``type_`` is one of maps.

    >>> from nestling.calculus.types import INT, STR
    >>> is_map(map_type(STR, INT)), is_map(Bag(INT))
    (True, False)
    """
    return isinstance(type_, Bag) and is_entry(type_.element)


def is_entry(type_: Type) -> bool:
    """Whether ``type_`` is one of the entries of maps."""
    return isinstance(type_, Record) and type_.names == (KEY, VALUE)


def entry_types(type_: Type) -> tuple[Type, Type]:
    """The types of the keys and the values of maps."""
    assert isinstance(type_, Bag) and isinstance(type_.element, Record)
    key, value = type_.element.types
    return key, value
