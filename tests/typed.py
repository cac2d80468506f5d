"""Whether a value belongs to a type."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, assert_never

from nestling.calculus.types import Bag, Dict, LabelType, Record, Scalar, Type
from nestling.values.bag import ZBag
from nestling.values.label import Label as LabelValue

#: An int is also a float and a decimal, as in arithmetic.
CLASSES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "decimal": (Decimal, int),
    "str": (str,),
    "bytes": (bytes,),
    "date": (date,),
    "datetime": (datetime,),
    "timedelta": (timedelta,),
}


def has_type(value: Any, type_: Type) -> bool:
    """Whether ``value`` is one of ``type_``."""
    match type_:
        case Scalar(name, nullable):
            return nullable if value is None else type(value) in CLASSES[name]
        case Record(fields):
            return (
                isinstance(value, tuple)
                and len(value) == len(fields)
                and all(has_type(part, field) for part, (_, field) in zip(value, fields, strict=True))
            )
        case Bag(element):
            return isinstance(value, ZBag) and all(has_type(inner, element) for inner in value)
        case LabelType():
            return isinstance(value, LabelValue)
        case Dict(element):
            return isinstance(value, dict) and all(has_type(rows, Bag(element)) for rows in value.values())
        case _:
            assert_never(type_)
