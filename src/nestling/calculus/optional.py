"""Records and bags that may be null: a flag stands beside what there is.

::

    optional(A)        = A?                             scalars, as ever
    optional(⟨f: A⟩)   = ⟨·there: bool, f: optional(A)⟩
    optional(Bag(C))   = ⟨·there: bool, ·items: Bag(C)⟩

To the calculus, its passes and the engines these are records like others. Where the flag is false there is one value:
nulls, and no elements; so equal values are equal, a field of what is null is null, and its elements are none.
"""

from __future__ import annotations

from typing import Any, assert_never

from nestling.calculus.types import BOOL, Bag, Dict, LabelType, Record, Scalar, Type, nullable
from nestling.values.bag import EMPTY

THERE, ITEMS = "·there", "·items"


def optional(type_: Type) -> Type:
    """``type_`` with null admitted.

    >>> from nestling.calculus.types import INT, record, show_type
    >>> show_type(optional(record(a=INT, tags=Bag(INT))))
    '⟨·there: bool, a: int?, tags: ⟨·there: bool, ·items: Bag(int)⟩⟩'
    """
    match type_:
        case Scalar():
            return nullable(type_)
        case Record(fields):
            if is_optional(type_):
                return type_
            return Record(((THERE, BOOL), *((name, optional(field)) for name, field in fields)))
        case Bag():
            return Record(((THERE, BOOL), (ITEMS, type_)))
        case LabelType() | Dict():
            return type_
        case _:
            assert_never(type_)


def is_optional(type_: Type) -> bool:
    """Whether ``type_`` is a record or a bag that may be null."""
    return isinstance(type_, Record) and bool(type_.fields) and type_.fields[0][0] == THERE


def held(type_: Type) -> Type:
    """What an optional type has where it is not null."""
    assert isinstance(type_, Record)
    if type_.fields[1:] and type_.fields[1][0] == ITEMS:
        return type_.fields[1][1]
    return Record(type_.fields[1:])


def null_value(type_: Type) -> Any:
    """The null of ``type_``.

    >>> from nestling.calculus.types import INT, record
    >>> null_value(optional(record(a=INT, tags=Bag(INT))))
    (False, None, (False, {}))
    """
    match type_:
        case Record(fields):
            return tuple(False if name == THERE else null_value(field) for name, field in fields)
        case Bag():
            return EMPTY
    return None


def flagged(type_: Type, value: Any) -> tuple[Any, ...]:
    """A ``value`` that is there, of what ``type_`` holds, as one of it."""
    return (True, value) if isinstance(held(type_), Bag) else (True, *value)


def unflagged(type_: Type, value: Any) -> Any:
    """A value of ``type_``, which is there, as one of what it holds."""
    return value[1] if isinstance(held(type_), Bag) else value[1:]
