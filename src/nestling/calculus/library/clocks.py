"""Functions of times of the day, with Spark's meaning. On Spark such a time is the microseconds since midnight."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

from nestling.calculus.library.entry import LibraryEntry, entry
from nestling.values.clock import clock_of, micros_of

#: What both Python and Spark read: hours and minutes, seconds with places, AM or PM.
PATTERN = r"^ *T?\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)? *([AaPp][Mm])? *$"
_CLOCK = re.compile(r" *T?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)? *([AaPp][Mm])? *", re.ASCII)
_UNITS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_MICROSECOND = timedelta(microseconds=1)


def read_time(text: str) -> time:
    """The time that ``text`` writes.

    >>> read_time("9:05"), read_time("10:11:12.5 PM")
    (datetime.time(9, 5), datetime.time(22, 11, 12, 500000))
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.40} is no time of the day")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    places, half = found[4] or "", (found[5] or "").upper()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"{text!r:.40} is no time of the day")
        hour = hour % 12 + 12 * (half == "PM")
    return time(hour, minute, second, int(places[:6].ljust(6, "0")))


def time_text(clock: time) -> str:
    """``clock`` as SQL writes it, without zeros at the end of its places."""
    places = f".{clock.microsecond:06}".rstrip("0") if clock.microsecond else ""
    return f"{clock:%H:%M:%S}{places}"


def make_time(hour: int, minute: int, seconds: Decimal) -> time:
    """The time of those hours, minutes and seconds, to the microsecond."""
    whole, micros = divmod(int(seconds.quantize(Decimal("0.000001"), ROUND_HALF_UP).scaleb(6)), 1_000_000)
    return time(hour, minute, whole, micros)


def unit_of(name: str) -> int:
    """The microseconds of a unit."""
    if name.upper() not in _UNITS:
        raise ValueError(f"{name!r} is none of {', '.join(_UNITS)}")
    return _UNITS[name.upper()]


def truncated(clock: time, unit: str) -> time:
    """The last whole ``unit`` before ``clock``."""
    return clock_of(micros_of(clock) // unit_of(unit) * unit_of(unit))


def difference(start: time, end: time, unit: str) -> int:
    """How many whole units lie between two times."""
    micros = micros_of(end) - micros_of(start)
    return micros // unit_of(unit) if micros >= 0 else -(-micros // unit_of(unit))


def seconds_of(clock: time) -> Decimal:
    """The seconds of the minute, with their places."""
    return Decimal(clock.second * 1_000_000 + clock.microsecond).scaleb(-6)


def _within(text: str) -> str:
    return f"{text} BETWEEN 0 AND 86399999999"


_CLOCK_HOLDS = "{0} BETWEEN 0 AND 23 AND {1} BETWEEN 0 AND 59"


def _seconds(i: int) -> str:
    return f"coalesce(try_cast({{{i}}} AS DECIMAL(16,6)) >= 0 AND try_cast({{{i}}} AS DECIMAL(16,6)) < 60, false)"


CLOCKS: tuple[LibraryEntry, ...] = (
    entry("read_time", "str", "time", read_time, "time_to_micros(CAST({0} AS TIME))", partial=True,
          holds=f"{{0}} RLIKE '{PATTERN}' AND try_cast({{0}} AS TIME) IS NOT NULL".replace("\\", "\\\\")
          .replace("{1,2}", "{{1,2}}")),
    entry("time_text", "time", "str", time_text, "CAST(time_from_micros({0}) AS STRING)"),
    entry("hour_of", "time", "int", lambda clock: clock.hour, "({0} DIV 3600000000)"),
    entry("minute_of", "time", "int", lambda clock: clock.minute, "(({0} DIV 60000000) % 60)"),
    entry("second_of", "time", "int", lambda clock: clock.second, "(({0} DIV 1000000) % 60)"),
    entry("clock_seconds", "time", "decimal", seconds_of,
          "CAST(CAST({0} % 60000000 AS DECIMAL(20,6)) / 1000000 AS DECIMAL(37,18))"),
    entry("whole_seconds", "time", "int", lambda clock: micros_of(clock) // 1_000_000, "({0} DIV 1000000)"),
    entry("time_of", "datetime", "time", lambda moment: moment.time(), "time_to_micros(CAST({0} AS TIME))"),
    entry("at_time", "date time", "datetime", datetime.combine, "make_timestamp_ntz({0}, time_from_micros({1}))"),
    entry("make_time", "int32 int32 decimal", "time", make_time,
          "time_to_micros(make_time({0}, {1}, CAST({2} AS DECIMAL(16,6))))", partial=True,
          holds=f"{_CLOCK_HOLDS} AND {_seconds(2)}"),
    entry("clock_trunc", "time str", "time", truncated, "time_to_micros(time_trunc({1}, time_from_micros({0})))",
          partial=True, fixed=(1,)),
    entry("clock_diff", "time time str", "int", difference,
          "time_diff({2}, time_from_micros({0}), time_from_micros({1}))", partial=True, fixed=(2,)),
    entry("time_plus", "time timedelta", "time", lambda clock, span: clock_of(micros_of(clock) + span // _MICROSECOND),
          "({0} + {1})", partial=True, holds=_within("({0} + {1})")),
    entry("time_minus", "time time", "timedelta",
          lambda one, two: timedelta(microseconds=micros_of(one) - micros_of(two)), "({0} - {1})"),
    entry("time_to_micros", "time", "int", micros_of, "{0}"),
    entry("time_from_micros", "int", "time", clock_of, "{0}", partial=True, holds=_within("{0}")),
    entry("time_from_seconds", "int", "time", lambda seconds: clock_of(seconds * 1_000_000), "({0} * 1000000)",
          partial=True, holds="{0} BETWEEN 0 AND 86399"),
)  # fmt: skip
