"""Rows that are stored as they come: a test written for the columns of one table.

Nearly every row of a program is a tuple of ints and texts, and nothing needs to be done to it. The test has no text of
a user in it: only names of classes, positions and bounds.

Law: where ``plain(record)`` holds for a row, ``row_value(record, row)`` is that row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any

from nestling.calculus.types import Record, Scalar, Type
from nestling.engine.python.terms import run_source

#: The types of which an instance of the very class is a value. Decimals have digits to count, and bags elements.
CLASSES: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "str": str, "bytes": bytes,
    "date": date, "datetime": datetime, "time": time, "timedelta": timedelta,
}  # fmt: skip


def plain(record: Record) -> Callable[[Any], bool]:
    """The test of ``record``'s columns; where one of them always needs a look, no row passes.

    >>> from nestling.calculus.types import INT, STR, record
    >>> test = plain(record(id=INT, name=STR))
    >>> test((7, "tea")), test((7, None)), test((True, "tea")), test({"id": 7, "name": "tea"})
    (True, False, False, False)
    """
    text = plain_text(record)
    if text is None:
        return lambda row: False
    names: dict[str, Any] = {"type": type, "len": len, "tuple": tuple, **CLASSES}
    run_source(f"test = lambda row: {text}\n", "plain rows", names)
    test: Callable[[Any], bool] = names["test"]
    return test


def plain_text(record: Record) -> str | None:
    """The test in Python; none where no row passes."""
    tests = [_test(type_, place) for place, type_ in enumerate(record.types)]
    if None in tests:
        return None
    size = f"type(row) is tuple and len(row) == {len(tests)}"
    return " and ".join([size, *(test for test in tests if test is not None)])


def _test(type_: Type, place: int) -> str | None:
    """What holds of the value in one column, if that can be said."""
    if not isinstance(type_, Scalar) or type_.name not in CLASSES:
        return None
    text = f"type(v := row[{place}]) is {type_.name}"
    match type_.name:
        case "int" if type_.size:
            bound = 1 << type_.size[0] - 1
            text += f" and {-bound} <= v < {bound}"
        case "float":
            text += " and v == v"  # there is one NaN for all
        case "datetime" | "time":
            text += " and v.tzinfo is None"
    return f"({text} or v is None)" if type_.nullable else text
