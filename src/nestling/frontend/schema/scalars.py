"""Scalars of Python, NumPy and pandas to scalars of the calculus.

* An int is taken where a float or a decimal is wanted. Nothing else is converted: a bool is no int, a
  datetime no date, a float no decimal.
* All NaNs become one object, so that a bag finds them again. A decimal is a number: no NaN, no infinity.
* A datetime with a time zone is the same moment in UTC, without one, as in Spark's TIMESTAMP; one without is taken as
  it is.
* NumPy's scalars, pandas' ``Timestamp`` and ``Timedelta`` and instances of other subclasses become the Python values
  that they equal. What is finer than a microsecond equals none, and is refused.
* A member of an enumeration is its value, and a UUID its text, in small letters with hyphens.
* pandas' ``NaT`` and ``NA`` are None, and so is a NaN where the column is nullable and holds no numbers with a NaN of
  their own: this is how pandas writes what is missing.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from nestling.calculus.types import Scalar, show_type
from nestling.errors import ChangeError, QueryError, shown
from nestling.values.exact import WIDE
from nestling.values.nan import NAN

_CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "decimal": Decimal, "str": str, "bytes": bytes,
    "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
}  # fmt: skip
#: The types whose instances, if of no subclass, are all plain values.
_PLAIN = {name: _CLASSES[name] for name in ("bool", "int", "str", "bytes", "date", "timedelta")}
_NO_VALUE = object()
#: A decimal has no digit further from its point than this, so that sums and products of some are exact.
FARTHEST = 5_000


def scalar_value(type_: Scalar, value: object, where: str) -> Any:
    """``value`` as one of ``type_``; ``where`` is the column that an error names."""
    if type(value) is _PLAIN.get(type_.name):
        return _fitting(type_, value, where) if type_.size else value
    given, value = value, native(value)
    if value is None:
        return _missing(type_, given, where)
    plain = _plain(type_.name, value)
    if plain is not _NO_VALUE:
        return _fitting(type_, plain, where) if type_.size else plain
    if type_.nullable and type_.name != "decimal" and isinstance(value, float) and math.isnan(value):
        return None
    raise ChangeError(
        f"column {where!r} takes {show_type(type_)}, not {shown(given)}", hint=_hint(type_, value)
    )


def constant(value: object, what: str) -> Any:
    """``value`` as a scalar of the type that it has by itself, or None; ``what`` is named by an error."""
    found = native(value)
    if found is None:
        return None
    # A bool is an int to Python, and a datetime a date: the narrower class is asked first.
    for name in ("bool", "int", "float", "decimal", "str", "bytes", "datetime", "date", "time", "timedelta"):
        if isinstance(found, _CLASSES[name]):
            plain = _plain(name, found)
            if plain is not _NO_VALUE:
                return plain
            raise QueryError(f"{what} cannot be {shown(value)}", hint=_hint(Scalar(name), found))
    raise QueryError(
        f"{what} is a scalar, not {shown(value)}",
        hint="one mark stands for one value: write IN (?, ?) for two",
    )


def _missing(type_: Scalar, given: object, where: str) -> None:
    if not type_.nullable:
        raise ChangeError(
            f"column {where!r} is never {'None' if given is None else shown(given)}",
            hint=f"declare it as {type_.name} | None, or in a DDL string with NULL behind its type",
        )


# -- other libraries' values, known by the names of their classes and never imported


def native(value: object) -> Any:
    """A scalar of NumPy or pandas as the Python value that it equals, the value of a member of an enumeration, and the
    text of a UUID; anything else, and what equals none, as it is."""
    class_ = type(value)
    if isinstance(value, Enum):
        return value.value
    if class_ is UUID:
        return str(value)
    package = class_.__module__.partition(".")[0]
    if package == "pandas" and class_.__name__ in ("NaTType", "NAType"):
        return None
    if package == "numpy" and any(base.__name__ == "generic" for base in class_.__mro__):
        return _from_numpy(value)
    return value


def _from_numpy(value: Any) -> Any:
    kind = value.dtype.kind
    if kind in "Mm":
        return _from_time(value, "datetime64[us]" if kind == "M" else "timedelta64[us]")
    if kind == "f":
        number = float(value)
        return number if number == value or math.isnan(number) else value
    return value.item() if kind in "biuSU" else value


def _from_time(value: Any, micros: str) -> Any:
    """``datetime64`` in days or longer is a date, in anything shorter a datetime; ``timedelta64`` is a timedelta."""
    if str(value) == "NaT":
        return None
    unit = value.dtype.name.partition("[")[2]
    if unit in ("D]", "W]", "M]", "Y]") and value.dtype.kind == "M":
        found = value.item()
        return found if isinstance(found, date) else value
    if unit in ("", "M]", "Y]"):
        return value  # without a unit, or in months: no span of time
    exact = value.astype(micros)
    found = exact.item()
    return found if exact == value and isinstance(found, datetime | timedelta) else value


def _plain(name: str, value: Any) -> Any:
    """``value`` as a plain value of the scalar type ``name``, or ``_NO_VALUE`` where it is none."""
    if isinstance(value, bool) and name != "bool":
        return _NO_VALUE
    if name == "float" and isinstance(value, int | float):
        return _float(value)
    if name == "decimal" and isinstance(value, int | Decimal):
        exact = Decimal(value)
        return exact if _is_number(exact) else _NO_VALUE
    if name == "date" and isinstance(value, datetime):
        return _NO_VALUE
    if not isinstance(value, _CLASSES[name]):
        return _NO_VALUE
    match value:
        case datetime():
            return _moment(value)
        case time():
            return _NO_VALUE if value.tzinfo is not None else value.replace(fold=0)
        case timedelta() if getattr(value, "nanoseconds", False):
            return _NO_VALUE
    return _base(_CLASSES[name], value)


def _is_number(value: Decimal) -> bool:
    """Whether ``value`` is a number, with all its digits near enough to its point."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -FARTHEST and value.adjusted() <= FARTHEST


def _float(value: Any) -> Any:
    try:
        number = float(value)
    except OverflowError:
        return _NO_VALUE
    return NAN if math.isnan(number) else number


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


def _moment(value: datetime) -> Any:
    if getattr(value, "nanosecond", False):
        return _NO_VALUE
    if value.tzinfo is not None:
        return in_utc(value) or _NO_VALUE
    if type(value) is datetime:
        return value
    return datetime.combine(
        date(value.year, value.month, value.day), value.time().replace(fold=value.fold), tzinfo=None
    )


def in_utc(value: datetime) -> datetime | None:
    """A moment with a time zone as the same one in UTC, without one; of a year that Python has not, nothing."""
    try:
        moment = value.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    # Out of its parts: a subclass gives its own.
    return datetime(*moment.timetuple()[:6], moment.microsecond)


# -- sizes


def _fitting(type_: Scalar, value: Any, where: str) -> Any:
    """``value``, if the column holds as much; a decimal has all places of its column."""
    if type_.name == "int":
        (bits,) = type_.size
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
        raise ChangeError(
            f"column {where!r} holds {bits} bits, too few for {_number(value)}", hint="declare a wider one"
        )
    digits, places = type_.size
    found = value.quantize(Decimal(1).scaleb(-places, WIDE), context=WIDE)
    if found == value and value.copy_abs() < Decimal(1).scaleb(digits - places, WIDE):
        return found
    raise ChangeError(
        f"column {where!r} is a DECIMAL({digits}, {places}), which does not hold {value}",
        hint="round it, or declare a wider one",
    )


def _number(value: int) -> str:
    return str(value) if value.bit_length() < 10_000 else f"an int of {value.bit_length()} bits"


# -- what to write instead


def _hint(type_: Scalar, value: object) -> str:
    match type_.name, value:
        case "time", time():
            return "a column has no time zone: pass value.replace(tzinfo=None)"
        case (("datetime" | "timedelta"), _) if _is_finer(value):
            return "it is finer than a microsecond: round it first"
        case "date", datetime():
            return "pass value.date()"
        case "datetime", datetime():
            return "years are 1 to 9999, also in UTC"
        case "datetime", date():
            return "pass a datetime"
        case "int", bool():
            return "a bool is no int: pass int(value)"
        case "decimal", Decimal() | int() | float():
            return _decimal_hint(value)
        case "int", float():
            return "pass an int, or declare the column as float"
        case "float", int():
            return "no float is as large: declare the column as int or Decimal"
    return f"pass a value of type {_CLASSES[type_.name].__name__}"


def _decimal_hint(value: Decimal | float) -> str:
    if isinstance(value, float):
        return "a float is not exact: pass Decimal(str(value))"
    if isinstance(value, Decimal) and not value.is_finite():
        return "a decimal is a number: declare the column as float, or as one that may be None"
    return f"a decimal has at most {FARTHEST} digits before its point and {FARTHEST} after it"


def _is_finer(value: object) -> bool:
    """Whether a moment or a span has nanoseconds; NumPy's were taken already if they had none."""
    return bool(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)) or hasattr(
        value, "dtype"
    )
