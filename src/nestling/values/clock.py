"""A time of the day as the microseconds since midnight, and back."""

from __future__ import annotations

from datetime import datetime, time, timedelta

#: The microseconds of a day.
DAY = 86_400_000_000
_MIDNIGHT = datetime(1970, 1, 1)


def micros_of(clock: time) -> int:
    """The microseconds from midnight to ``clock``.

    >>> micros_of(time(0, 0, 1, 5))
    1000005
    """
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond


def clock_of(micros: int) -> time:
    """The time of the day so many microseconds after midnight.

    >>> clock_of(1000005)
    datetime.time(0, 0, 1, 5)
    """
    if not 0 <= micros < DAY:
        raise ValueError("a time lies between 00:00 and 24:00")
    return (_MIDNIGHT + timedelta(microseconds=micros)).time()
