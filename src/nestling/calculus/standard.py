"""The meaning of the scalar functions that standard SQL has beyond Python's, on values that are not null.

Where Spark raises in ANSI mode (a division by zero, a text that is no number, a decimal too long for its
type), these raise; arithmetic on integers alone never overflows.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from nestling.values.exact import EXACT, WIDE
from nestling.values.nan import NAN

#: The digits of a quotient before it is rounded to places: more than a product of two of Spark's longest decimals has.
_LONG = WIDE.copy()
_LONG.prec = 400


def only(count: int) -> bool:
    """That there is one, and neither none nor several."""
    if count != 1:
        raise ValueError(f"{count} elements")
    return True


def quotient(left: int, right: int) -> int:
    """Division towards zero, where Python's goes down.

    >>> quotient(-7, 2)
    -3
    """
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def remainder(left: Any, right: Any) -> Any:
    """What ``quotient`` leaves: it has the sign of ``left``.

    >>> remainder(-7, 2)
    -1
    """
    if isinstance(left, int) and isinstance(right, int):
        return left - right * quotient(left, right)
    if isinstance(left, float) or isinstance(right, float):
        found = math.fmod(left, right)
        return found if found == found else NAN  # noqa: PLR0124 (true of all but NaN)
    return EXACT.remainder(Decimal(left), Decimal(right))


def rounded(value: Any, places: int) -> Any:
    """``value`` to so many places, halves away from zero; of a float, the digits it prints.

    >>> rounded(2.675, 2), rounded(Decimal("-0.5"), 0), rounded(155, -1)
    (2.68, Decimal('-1'), 160)
    """
    if isinstance(value, int):
        return value if places >= 0 else int(_quantized(Decimal(value), places))
    if isinstance(value, float):
        return float(_quantized(Decimal(repr(value)), places)) if math.isfinite(value) else value
    return _quantized(value, places)


def _quantized(value: Decimal, places: int) -> Decimal:
    found = value.quantize(Decimal(1).scaleb(-places, WIDE), ROUND_HALF_UP, WIDE)
    return found.quantize(Decimal(1), context=WIDE) if places < 0 else found


def exact(value: Any, precision: int, scale: int) -> Decimal:
    """``value`` as a ``DECIMAL(precision, scale)``.

    >>> exact(1.25, 4, 1)
    Decimal('1.3')
    """
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    found = _quantized(number, scale)
    if found.copy_abs() >= Decimal(1).scaleb(precision - scale, WIDE):
        raise ValueError(f"{value} is too long for DECIMAL({precision}, {scale})")
    return found


def ratio(left: Any, right: Any, precision: int, scale: int) -> Decimal:
    """``left / right`` to so many places, rounded once; ``precision`` says what it may hold and is not checked.

    >>> ratio(Decimal(2), 3, 8, 6)
    Decimal('0.666667')
    """
    return _quantized(_LONG.divide(Decimal(left), Decimal(right)), scale)


def bounded(value: Any, bits: int) -> int:
    """``value``, without its places, as an int of so many bits.

    >>> bounded(-128.9, 8)
    -128
    """
    number = int(value)
    if (number if number >= 0 else ~number).bit_length() >= bits:
        raise ValueError(f"{value} is too large for {bits} bits")
    return number


def floor(value: Any) -> Any:
    """The greatest whole number that is not above ``value``; of a decimal a decimal."""
    return Decimal(math.floor(value)) if isinstance(value, Decimal) else math.floor(value)


def ceil(value: Any) -> Any:
    """The least whole number that is not below ``value``; of a decimal a decimal."""
    return Decimal(math.ceil(value)) if isinstance(value, Decimal) else math.ceil(value)


def root(value: float) -> float:
    """The square root; of a negative number it is not a number."""
    return math.sqrt(value) if value >= 0 else NAN


def like(text: str, pattern: str, escape: str) -> bool:
    """SQL's pattern: ``%`` is any text, ``_`` any character, and ``escape`` takes the next one as it is.

    >>> like("100%", "1__!%", "!"), like("a", "%b%", "!")
    (True, False)
    """
    return _pattern(pattern, escape).fullmatch(text) is not None


@lru_cache(1024)
def _pattern(pattern: str, escape: str) -> re.Pattern[str]:
    parts, signs = [], iter(pattern)
    for sign in signs:
        if escape and sign == escape:
            taken = next(signs, "")
            if taken not in ("%", "_", escape):
                raise ValueError(f"the pattern {pattern!r} escapes {taken or 'nothing'!r}")
            parts.append(re.escape(taken))
        else:
            parts.append({"%": ".*", "_": "."}.get(sign, re.escape(sign)))
    return re.compile("".join(parts), re.DOTALL)


#: What Java's patterns have and Python's have not, or have in another meaning.
_ONLY_JAVA = re.compile(
    r"\\[pPQEhHRXGzZkNuxcO0-9]|&&|\(\?<[A-Za-z]|\(\?[a-zA-Z-]+[:)]|\[[^\]]*\[|\(\?P|\(\?#|\(\?\("
)


def java_pattern(pattern: str) -> str:
    r"""``pattern`` as Python writes it; a ``ValueError`` where the two may go apart.

    >>> print(java_pattern("a.b"))
    a[^\n\r\x85\u2028\u2029]b
    """
    if found := _ONLY_JAVA.search(pattern):
        raise ValueError(f"{found[0]!r} is not supported in a pattern")
    parts = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    found_parts = [r"[^\n\r\x85\u2028\u2029]" if part == "." else part for part in parts]
    try:
        re.compile("".join(found_parts), re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no pattern: {error}") from None
    return "".join(found_parts)


def matches(text: str, pattern: str) -> bool:
    """Whether ``pattern``, one of ``java_pattern``, is found somewhere in ``text``."""
    try:
        return _compiled(pattern).search(text) is not None
    except re.error as error:
        raise ValueError(f"{pattern!r} is no pattern: {error}") from None


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def substring(text: str, start: int, length: int) -> str:
    """``length`` characters from the ``start``-th on, counted from 1, or from the end where it is negative.

    >>> substring("Spark", 2, 3), substring("Spark", -2, 5)
    ('par', 'rk')
    """
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(0, first) : max(0, first + length)]


def position(text: str, part: str) -> int:
    """Where ``part`` first stands in ``text``, counted from 1; 0 where it does not."""
    return text.find(part) + 1


def add_days(day: date, number: int) -> date:
    """``day`` moved by so many days."""
    return day + timedelta(days=number)


def add_months(moment: Any, number: int) -> Any:
    """``moment`` moved by so many months; a day that the month does not have becomes its last.

    >>> add_months(date(2024, 1, 31), 1)
    datetime.date(2024, 2, 29)
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + number, 12)
    last = monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def days_between(later: date, earlier: date) -> int:
    """How many days ``later`` is after ``earlier``."""
    return (later - earlier).days


def quarter(moment: Any) -> int:
    """The quarter of the year, 1 to 4."""
    return (int(moment.month) + 2) // 3


def day_of_week(moment: Any) -> int:
    """The day of the week; Sunday is 1."""
    return int(moment.isoweekday()) % 7 + 1


def day_of_year(moment: Any) -> int:
    """The day of the year, from 1."""
    return int(moment.timetuple().tm_yday)


#: The parts of a moment that a unit keeps.
_KEPT = {"year": 1, "month": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}


def truncated(moment: Any, unit: str) -> Any:
    """The first moment of the unit that ``moment`` lies in.

    >>> truncated(date(2024, 5, 17), "quarter"), truncated(datetime(2024, 5, 17, 8, 30), "hour")
    (datetime.date(2024, 4, 1), datetime.datetime(2024, 5, 17, 8, 0))
    """
    if unit == "quarter":
        return truncated(moment, "year").replace(month=3 * quarter(moment) - 2)
    if unit == "week":
        return truncated(moment, "day") - timedelta(days=moment.weekday())
    if unit not in _KEPT:
        raise ValueError(f"{unit!r} is not a unit of time")
    parts = moment.timetuple()[: _KEPT[unit]]
    full = (*parts, *(1, 1, 1)[len(parts) :])
    return datetime(*full) if isinstance(moment, datetime) else date(*full[:3])


def midnight(day: date) -> datetime:
    """The first moment of ``day``."""
    return datetime.combine(day, time())


def read_int(text: str) -> int:
    """The whole number that ``text`` spells."""
    if not re.fullmatch(r"[+-]?[0-9]+", text.strip()):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def read_float(text: str) -> float:
    """The number that ``text`` spells; it may be infinite."""
    word = text.strip().lower()
    return float(word if re.fullmatch(r"[+-]?inf(inity)?", word) else digits(text))


def read_decimal(text: str, precision: int, scale: int) -> Decimal:
    """The ``DECIMAL(precision, scale)`` that ``text`` spells."""
    return exact(Decimal(digits(text)), precision, scale)


def digits(text: str) -> str:
    """``text`` without spaces around it, if it spells a number."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip()):
        raise ValueError(f"{text!r} is not a number")
    return text.strip()


_DAY = r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"


def read_date(text: str) -> date:
    """The day that ``text`` spells: ``2024-05-17``; a year or month stands for its first day.

    >>> read_date("2024-5-7"), read_date("2024")
    (datetime.date(2024, 5, 7), datetime.date(2024, 1, 1))
    """
    found = re.fullmatch(_DAY + r"(?:[T ].*)?)?)?", text.strip(), re.DOTALL)
    if found is None:
        raise ValueError(f"{text!r} is not a date")
    return date(*(int(part or 1) for part in found.groups()))


def read_datetime(text: str) -> datetime:
    """The moment that ``text`` spells: ``2024-05-17 08:30:00``, without a time zone.

    >>> read_datetime("2024-05-17T8:30"), read_datetime("2024-05-17 08:30:00.25").microsecond
    (datetime.datetime(2024, 5, 17, 8, 30), 250000)
    """
    clock = r"(?:[T ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]+))?)?)?"
    found = re.fullmatch(_DAY + clock + ")?)?", text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a moment without a time zone")
    year, month, day, hour, minute, second, parts = found.groups()
    micros = int((parts or "0").ljust(6, "0")[:6])
    first = datetime(int(year), int(month or 1), int(day or 1))
    return first.replace(
        hour=int(hour or 0), minute=int(minute or 0), second=int(second or 0), microsecond=micros
    )


def read_moment(text: str) -> datetime:
    """The same, or a moment with a time zone, ``Z`` or ``+02:00``: then as it is in UTC.

    >>> read_moment("2024-05-17 08:30+02:00"), read_moment("2024-05-17 08:30")
    (datetime.datetime(2024, 5, 17, 6, 30), datetime.datetime(2024, 5, 17, 8, 30))
    """
    found = re.fullmatch(r"(.*:.*)(?:(Z)|([+-])([0-9]{2}):([0-5][0-9]))", text.strip())
    if found is None:
        return read_datetime(text)
    plain, _, sign, hours, minutes = found.groups()
    behind = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if behind > timedelta(hours=18):
        raise ValueError(f"{text!r} is further than 18 hours from UTC")
    return read_datetime(plain) + (behind if sign == "-" else -behind)


def read_bool(text: str) -> bool:
    """The truth that ``text`` spells."""
    word = text.strip().lower()
    if word in ("t", "true", "y", "yes", "1"):
        return True
    if word in ("f", "false", "n", "no", "0"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def double_text(value: float) -> str:
    """``value`` as Java prints a double, with the fewest digits that tell it apart.

    >>> double_text(0.1), double_text(1e7), double_text(-2.5e-5), double_text(100.0)
    ('0.1', '1.0E7', '-2.5E-5', '100.0')
    """
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124
    sign = "-" if math.copysign(1, value) < 0 else ""
    _, digits, exponent = Decimal(repr(abs(value))).normalize().as_tuple()
    text, place = "".join(map(str, digits)), int(exponent) + len(digits)
    if value == 0:
        return f"{sign}0.0"
    if -3 < place <= 7:
        whole = text[: max(place, 0)].ljust(place, "0") or "0"
        return f"{sign}{whole}.{'0' * -place + text[max(place, 0) :] or '0'}"
    return f"{sign}{text[0]}.{text[1:] or '0'}E{place - 1}"


def written(value: Any) -> str:
    """``value`` as SQL writes it.

    >>> written(True), written(Decimal("1E+2")), written(datetime(2024, 5, 17, 8, 30, 0, 500_000))
    ('true', '100', '2024-05-17 08:30:00.5')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        text = value.isoformat(" ", "microseconds" if value.microsecond else "seconds")
        return text.rstrip("0") if value.microsecond else text
    return value.isoformat() if isinstance(value, date) else str(value)
