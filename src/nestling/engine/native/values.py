"""Which values have words, and by which letter C knows their kind (``values.c``)."""

from __future__ import annotations

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
    raise Unsupported(f"values of type {show_type(type_)}")
