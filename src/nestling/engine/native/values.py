"""Which values have words, and by which letter C knows their kind (``values.c``)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from nestling.calculus.terms import Const, Term
from nestling.calculus.types import LABEL, Scalar, Type, show_type

#: Kinds whose words are in the order of their values.
IN_ORDER = "ibdtp"

#: Kinds whose values C can put in order.
VALUED_IN_ORDER = IN_ORDER + "fsy"

_KINDS = {
    "int": "i",
    "bool": "b",
    "date": "d",
    "datetime": "t",
    "timedelta": "p",
    "float": "f",
    "str": "s",
    "bytes": "y",
}


#: The most places of a decimal: there is a letter for each number of them.
MOST_PLACES = 25


class Unsupported(Exception):
    """A program, or a part of one, that the native engine does not run; the text says why."""


def kind_of(type_: Type) -> str:
    """The letter of a type.

    >>> kind_of(Scalar("date")), kind_of(LABEL)
    ('d', 'l')
    """
    if type_ == LABEL:
        return "l"
    if isinstance(type_, Scalar) and type_.name in _KINDS:
        return _KINDS[type_.name]
    if isinstance(type_, Scalar) and type_.name == "decimal":
        if not type_.size:
            raise Unsupported("a decimal without declared digits and places")
        return decimal_kind(type_.size[1])
    raise Unsupported(f"values of type {show_type(type_)}")


def decimal_kind(places: int) -> str:
    """The letter of decimals with so many places.

    >>> decimal_kind(2), places_of("C"), places_of("i"), places_of("f")
    ('C', 2, 0, None)
    """
    if not 0 <= places <= MOST_PLACES:
        raise Unsupported(f"a decimal of {places} places")
    return chr(ord("A") + places)


def places_of(kind: str) -> int | None:
    """How many places exact numbers of a kind have; nothing where it is none of exact numbers."""
    if kind == "i":
        return 0
    return ord(kind) - ord("A") if kind.isupper() else None


def is_in_order(kind: str) -> bool:
    """Whether the words of a kind are in the order of its values."""
    return kind in IN_ORDER or kind.isupper()


def is_zero(term: Term) -> bool:
    return isinstance(term, Const) and term.value is not None and term.value == 0


def constant_kind(value: Any, type_: Type) -> str:
    """The kind of a constant: of a decimal, that of its own places."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "i"
    if not isinstance(value, Decimal):
        return kind_of(type_)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise Unsupported("a decimal that is no number")
    return decimal_kind(-exponent)
