"""Functions of dates and timestamps, with Spark's meaning."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from nestling.calculus.library.entry import LibraryEntry, entry

EPOCH, EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONG_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
#: Spans of a fixed length.
_SPANS = {"week": 7 * 86_400, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_IN_MONTHS = {"year": 12, "quarter": 3, "month": 1}
UNITS = (*_IN_MONTHS, *_SPANS)


def last_day(day: date) -> date:
    """The last day of the month."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def next_day(day: date, name: str) -> date:
    """The first day after ``day`` of that name."""
    word = name.strip().lower()
    found = [
        i for i, long in enumerate(_LONG_DAYS) if word in (long.lower(), long.lower()[:2], long.lower()[:3])
    ]
    if not found:
        raise ValueError(f"{name!r} is no day of the week")
    return day + timedelta(days=(found[0] - day.weekday() - 1) % 7 + 1)


def week(day: date) -> int:
    """The week of the year, by ISO 8601."""
    return day.isocalendar()[1]


def week_year(day: date) -> int:
    """The year that the week belongs to, by ISO 8601."""
    return day.isocalendar()[0]


def day_number(day: date) -> int:
    """How many days after 1970-01-01."""
    return (day - EPOCH_DAY).days


def numbered_day(number: int) -> date:
    """The day so many days after 1970-01-01."""
    return EPOCH_DAY + timedelta(days=number)


def micros(moment: datetime) -> int:
    """How many microseconds after 1970-01-01."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def seconds_of(moment: datetime) -> Decimal:
    """The seconds of the minute, with their places."""
    return Decimal(moment.second * 1_000_000 + moment.microsecond).scaleb(-6)


def difference(unit: str, start: datetime, end: datetime) -> int:
    """How many whole units lie between two moments.

    >>> difference("month", datetime(2024, 1, 31), datetime(2024, 2, 29))
    0
    """
    if unit in _IN_MONTHS:
        months = (end.year - start.year) * 12 + end.month - start.month
        early, late = ((m.day, m.time()) for m in (start, end))
        if months > 0 and late < early:
            months -= 1
        elif months < 0 and late > early:
            months += 1
        return _towards_zero(months, _IN_MONTHS[unit])
    if unit not in _SPANS:
        raise ValueError(f"{unit!r} is no unit of time")
    return _towards_zero(micros(end) - micros(start), _SPANS[unit] * 1_000_000)


def _towards_zero(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)


def months_between(later: datetime, earlier: datetime) -> float:
    """How many months, of 31 days, lie between; whole ones where both are the same or the last day of their months."""
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    last = [m.day == monthrange(m.year, m.month)[1] for m in (later, earlier)]
    if later.day == earlier.day or all(last):
        return float(months)
    seconds = [(m.day * 86_400 + m.hour * 3_600 + m.minute * 60 + m.second) for m in (later, earlier)]
    rest = (seconds[0] - seconds[1]) / (31 * 86_400)
    return math.floor((months + rest) * 1e8 + 0.5) / 1e8


def tumbled(moment: datetime, size: int) -> datetime:
    """The start of the window of ``size`` microseconds, counted from 1970-01-01, that ``moment`` lies in.

    >>> tumbled(datetime(2024, 5, 7, 8, 35), 600_000_000)
    datetime.datetime(2024, 5, 7, 8, 30)
    """
    return _within(micros(moment) // _positive(size) * size)


def tumbled_end(moment: datetime, size: int) -> datetime:
    """The end of that window."""
    return _within((micros(moment) // _positive(size) + 1) * size)


def shifted(moment: datetime, span: int) -> datetime:
    """The moment so many microseconds later, of those that there are.

    >>> shifted(datetime(2024, 5, 7, 8, 35), -600_000_000)
    datetime.datetime(2024, 5, 7, 8, 25)
    """
    return _within(micros(moment) + span)


def _positive(size: int) -> int:
    if size <= 0:
        raise ValueError("a window has a length")
    return size


def _within(number: int) -> datetime:
    """The moment so many microseconds after 1970-01-01, of those that there are."""
    least, most = micros(datetime.min), micros(datetime.max)
    return EPOCH + timedelta(microseconds=min(max(number, least), most))


_MICROS = "unix_micros(CAST({0} AS TIMESTAMP))"
#: More microseconds than lie between any two moments.
_FAR = 4 * 10**17


def _window(step: int) -> str:
    """Spark's text of the start, and of the end, of a window."""
    return _moment_text(f"({_MICROS} - pmod({_MICROS}, {{1}}) + {step} * {{1}})")


def _moment_text(number: str) -> str:
    first, last = "TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
    found = f"CAST(timestamp_micros({number}) AS TIMESTAMP_NTZ)"
    return f"CASE WHEN {{0}} IS NOT NULL THEN least(greatest({found}, {first}), {last}) END"


def _fraction(places: int, moment: datetime) -> str:
    return f"{moment.microsecond:06}"[:places]


_FORMATS: dict[str, Any] = {
    "y": lambda m: str(m.year), "yyyy": lambda m: f"{m.year:04}", "yy": lambda m: f"{m.year % 100:02}",
    "M": lambda m: str(m.month), "MM": lambda m: f"{m.month:02}", "MMM": lambda m: _MONTHS[m.month - 1],
    "MMMM": lambda m: _LONG_MONTHS[m.month - 1], "d": lambda m: str(m.day), "dd": lambda m: f"{m.day:02}",
    "D": lambda m: str(m.timetuple().tm_yday), "DDD": lambda m: f"{m.timetuple().tm_yday:03}",
    "E": lambda m: _DAYS[m.weekday()], "EEE": lambda m: _DAYS[m.weekday()],
    "EEEE": lambda m: _LONG_DAYS[m.weekday()], "H": lambda m: str(m.hour), "HH": lambda m: f"{m.hour:02}",
    "h": lambda m: str((m.hour + 11) % 12 + 1), "hh": lambda m: f"{(m.hour + 11) % 12 + 1:02}",
    "m": lambda m: str(m.minute), "mm": lambda m: f"{m.minute:02}", "s": lambda m: str(m.second),
    "ss": lambda m: f"{m.second:02}", "a": lambda m: "AM" if m.hour < 12 else "PM",
    "q": lambda m: str((m.month + 2) // 3), "Q": lambda m: str((m.month + 2) // 3),
    **{"S" * n: partial(_fraction, n) for n in range(1, 7)},
}  # fmt: skip


@lru_cache(256)
def _parts(pattern: str) -> tuple[tuple[bool, str], ...]:
    found = []
    for match in re.finditer(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+|'", pattern):
        text = match[0]
        if text == "'" or (text[0].isalpha() and text not in _FORMATS):
            raise ValueError(f"{text!r} is not supported in a format of dates")
        if text[0] == "'":
            found.append((False, text[1:-1].replace("''", "'") or "'"))
        else:
            found.append((text[0].isalpha(), text))
    return tuple(found)


def formatted(moment: datetime, pattern: str) -> str:
    """``moment`` as ``pattern`` says.

    >>> formatted(datetime(2024, 5, 7, 8, 30), "EEE, d MMM yyyy h:mm a")
    'Tue, 7 May 2024 8:30 AM'
    """
    return "".join(_FORMATS[text](moment) if is_letter else text for is_letter, text in _parts(pattern))


_AT = "CAST({0} AS TIMESTAMP)"
_SHIFTED = _moment_text(f"({_MICROS} + least(greatest({{1}}, -{_FAR}L), {_FAR}L))")

MOMENTS: tuple[LibraryEntry, ...] = (
    entry("last_day", "date", "date", last_day),
    entry("next_day", "date str", "date", next_day, partial=True, fixed=(1,)),
    entry("weekofyear", "date", "int", week),
    entry("yearofweek", "date", "int", week_year, "extract(YEAROFWEEK FROM {0})"),
    entry("dayname", "date", "str", lambda day: _DAYS[day.weekday()]),
    entry("monthname", "date", "str", lambda day: _MONTHS[day.month - 1]),
    entry("make_date", "int32 int32 int32", "date", date, partial=True,
          holds="{0} BETWEEN 1 AND 9999 AND try_cast(concat_ws('-', lpad({0}, 4, '0'), {1}, {2}) AS DATE) IS NOT NULL"),
    entry("unix_date", "date", "int", day_number),
    entry("date_from_unix_date", "int32", "date", numbered_day, partial=True,
          holds="date_from_unix_date({0}) BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'"),
    entry("unix_micros", "datetime", "int", micros, f"unix_micros({_AT})"),
    entry("unix_millis", "datetime", "int", lambda moment: micros(moment) // 1_000, f"unix_millis({_AT})"),
    entry("unix_seconds", "datetime", "int", lambda moment: micros(moment) // 1_000_000, f"unix_seconds({_AT})"),
    entry("seconds_of", "datetime", "decimal", seconds_of, "CAST(extract(SECOND FROM {0}) AS DECIMAL(37,18))"),
    entry("months_between", "datetime datetime", "float", months_between,
          "months_between(CAST({0} AS TIMESTAMP), CAST({1} AS TIMESTAMP))"),
    *(entry(f"{unit}s_apart", "datetime datetime", "int", partial(difference, unit),
            f"timestampdiff({unit.upper()}, CAST({{0}} AS TIMESTAMP), CAST({{1}} AS TIMESTAMP))") for unit in UNITS),
    entry("date_format", "datetime str", "str", formatted, partial=True, fixed=(1,)),
    entry("shifted", "datetime int", "datetime", shifted, f"CASE WHEN {{1}} IS NOT NULL THEN {_SHIFTED} END"),
    entry("tumbled", "datetime int", "datetime", tumbled, _window(0), partial=True, fixed=(1,)),
    entry("tumbled_end", "datetime int", "datetime", tumbled_end, _window(1), partial=True, fixed=(1,)),
)  # fmt: skip
