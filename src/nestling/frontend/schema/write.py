"""Python values to values of the calculus: what a row may look like, and what is refused.

A row is a dict (or any mapping), a tuple or list in the order of the columns, a dataclass, a named tuple or a
pyspark ``Row``. A column that may be null may be left out of a row with names. Inside it, records are rows
again, and a bag is a list, tuple, set, array or ``ZBag``.

* An int is taken where a float or a decimal is wanted. Nothing else is converted: a bool is no int, a
  datetime no date, a float no decimal.
* All NaNs become one object, so that a bag finds them again. A decimal is a number: no NaN, no infinity.
* A datetime with a time zone becomes the same moment in UTC, without one; a plain datetime stays as it is.
* Instances of subclasses and NumPy scalars become plain Python values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from nestling.calculus.types import Bag, Record, Scalar, Type, show_type
from nestling.errors import ChangeError
from nestling.values.bag import ZBag
from nestling.values.exact import WIDE
from nestling.values.nan import NAN

_CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "decimal": Decimal, "str": str, "bytes": bytes,
    "date": date, "datetime": datetime, "timedelta": timedelta,
}  # fmt: skip
#: The types whose instances, if of no subclass, are all plain values.
_PLAIN = {name: _CLASSES[name] for name in ("bool", "int", "str", "bytes", "date", "timedelta")}
_MISSING = object()
#: A decimal has no digit further from its point than this, so that sums and products of some are exact.
FARTHEST = 5_000


def row_value(record: Record, row: object) -> tuple[Any, ...]:
    """The value of ``row`` as one of ``record``; ``ChangeError`` names the column and what is wrong with it.

    >>> from nestling.calculus.types import FLOAT, INT, record
    >>> row_value(record(id=INT, prices=Bag(FLOAT)), {"id": 7, "prices": [1, 0.5, 1]})
    (7, {1.0: 2, 0.5: 1})
    """
    return _record(record, row, "")


def element_value(type_: Type, value: object) -> Any:
    """The value of ``value`` as one of ``type_``: a row, or an element of an inner bag."""
    return _value(type_, value, "")


def _value(type_: Type, value: object, where: str) -> Any:
    match type_:
        case Scalar():
            return _scalar(type_, value, where)
        case Record():
            return _record(type_, value, where)
        case Bag(element):
            return _bag(element, value, where)
    raise TypeError(f"a row has no {type_}")


def _record(record: Record, row: object, where: str) -> tuple[Any, ...]:
    named = _named(record, row)
    values = _positional(record, row, where) if named is None else _by_name(record, named, where)
    columns = zip(record.fields, values, strict=True)
    return tuple(
        [_value(type_, value, f"{where}.{name}" if where else name) for (name, type_), value in columns]
    )


def _named(record: Record, row: object) -> Mapping[Any, Any] | None:
    """The fields of ``row`` by name, if it has names."""
    if type(row) is tuple:
        return None
    if isinstance(row, Mapping):
        return row
    if is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    names = getattr(row, "_fields", None) or getattr(row, "__fields__", None)
    if isinstance(row, tuple) and names and set(names) == set(record.names):
        return dict(zip(names, row, strict=True))
    return None


def _by_name(record: Record, row: Mapping[Any, Any], where: str) -> list[Any]:
    for name in row:
        if name not in record.names:
            close = get_close_matches(str(name), record.names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the columns are {', '.join(record.names)}"
            raise ChangeError(f"there is no column {_join(where, name)!r}", hint=hint)
    return [
        row[name] if name in row else _left_out(type_, _join(where, name)) for name, type_ in record.fields
    ]


def _left_out(type_: Type, where: str) -> Any:
    if not isinstance(type_, Scalar) or not type_.nullable:
        hint = "an empty list says that there is none" if isinstance(type_, Bag) else "give it a value"
        raise ChangeError(f"column {where!r} is missing", hint=hint)
    return None


def _positional(record: Record, row: object, where: str) -> list[Any]:
    place = f"column {where!r}" if where else "a row"
    if not isinstance(row, tuple | list):
        raise ChangeError(
            f"{place} is a record, not {_shown(row)}", hint=f"pass a dict or a tuple of {show_type(record)}"
        )
    if len(row) != len(record.fields):
        raise ChangeError(
            f"{place} has {len(record.fields)} values, not {len(row)}: {_shown(row)}",
            hint=f"the columns are {', '.join(record.names)}",
        )
    return list(row)


def _bag(element: Type, value: object, where: str) -> ZBag:
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, ZBag):
        if not value.is_nonnegative():
            raise ChangeError(f"column {where!r} holds a negative count: {value!r}")
        return ZBag((_value(element, inner, where), times) for inner, times in value.items())
    if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ChangeError(
            f"column {where or 'value'!r} is a bag, not {_shown(value)}", hint="pass a list; it may be empty"
        )
    if not isinstance(value, list | tuple | Set):
        value = list(value)
    return ZBag((_value(element, inner, where), 1) for inner in value)


def _scalar(type_: Scalar, value: object, where: str) -> Any:
    if type(value) is _PLAIN.get(type_.name):
        return _fitting(type_, value, where) if type_.size else value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if value is None:
        if type_.nullable:
            return None
        raise ChangeError(f"column {where!r} is never None", hint=f"declare it as {type_.name} | None")
    plain = _plain(type_.name, value)
    if plain is _MISSING:
        raise ChangeError(
            f"column {where!r} takes {show_type(type_)}, not {_shown(value)}", hint=_hint(type_, value)
        )
    return _fitting(type_, plain, where) if type_.size else plain


def _fitting(type_: Scalar, value: Any, where: str) -> Any:
    """``value``, if the column holds as much; a decimal has all places of its column."""
    if type_.name == "int":
        (bits,) = type_.size
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
        raise ChangeError(
            f"column {where!r} holds {bits} bits, too few for {value}", hint="declare a wider one"
        )
    digits, places = type_.size
    found = value.quantize(Decimal(1).scaleb(-places, WIDE), context=WIDE)
    if found == value and value.copy_abs() < Decimal(1).scaleb(digits - places, WIDE):
        return found
    raise ChangeError(
        f"column {where!r} is a DECIMAL({digits}, {places}), which does not hold {value}",
        hint="round it, or declare a wider one",
    )


def _plain(name: str, value: Any) -> Any:
    """``value`` as a plain value of the scalar type ``name``, or ``_MISSING`` where it is none."""
    if isinstance(value, bool) and name != "bool":
        return _MISSING
    if name == "float" and isinstance(value, int | float):
        number = float(value)
        return NAN if math.isnan(number) else number
    if name == "decimal" and isinstance(value, int | Decimal):
        exact = Decimal(value)
        return exact if _is_number(exact) else _MISSING
    if name == "date" and isinstance(value, datetime):
        return _MISSING
    if not isinstance(value, _CLASSES[name]):
        return _MISSING
    return _moment(value) if isinstance(value, datetime) else _base(_CLASSES[name], value)


def _is_number(value: Decimal) -> bool:
    """Whether ``value`` is a number, with all its digits near enough to its point."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -FARTHEST and value.adjusted() <= FARTHEST


def _base(class_: type, value: Any) -> Any:
    """``value`` without the subclass it may have."""
    if type(value) is class_:
        return value
    if class_ is date:
        return date(value.year, value.month, value.day)
    if class_ is timedelta:
        return timedelta(value.days, value.seconds, value.microseconds)
    # The plain method: a subclass such as an enumeration prints itself in its own way.
    return str.__str__(value) if class_ is str else class_(value)


def _moment(value: datetime) -> datetime:
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if type(value) is datetime:
        return value
    return datetime(
        value.year,
        value.month,
        value.day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
        fold=value.fold,
    )


def _hint(type_: Scalar, value: object) -> str:
    match type_.name, value:
        case "date", datetime():
            return "pass value.date()"
        case "datetime", date():
            return "pass a datetime"
        case "int", bool():
            return "a bool is no int: pass int(value)"
        case "decimal", Decimal() if not value.is_finite():
            return "a decimal is a number: declare the column as float, or as one that may be None"
        case "decimal", Decimal() | int():
            return f"a decimal has at most {FARTHEST} digits before its point and {FARTHEST} behind it"
        case "decimal", float():
            return "a float is not exact: pass Decimal(str(value))"
        case "int", float():
            return "pass an int, or declare the column as float"
    return f"pass a value of type {_CLASSES[type_.name].__name__}"


def _join(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:59] + '…'} ({type(value).__name__})"
