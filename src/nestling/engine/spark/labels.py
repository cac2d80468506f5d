"""Labels as text: one column that can be joined and grouped by, whatever the label's site and environment.

A label is its site followed by the values of its environment, each with a letter for its type, text and bytes with
their length in front. Labels of inputs are written here; those of queries are written by SQL, in the same way.

Law: ``read_label(write_label(l)) == l``; two labels are equal iff their texts are.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from nestling.errors import NestlingError
from nestling.values.clock import clock_of, micros_of
from nestling.values.label import Label

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


def write_label(label: Label) -> str:
    """``label`` as text.

    >>> write_label(Label("orders.items", (7,)))
    's12:orders.items(i7;)'
    """
    return f"{_written(label.site)}{_written(label.environment)}"


def label_start(site: str) -> str:
    """What the labels of a site begin with.

    >>> label_start("orders.items")
    's12:orders.items('
    """
    return f"{_written(site)}("


def _written(value: Any) -> str:  # noqa: C901 - one arm per type
    match value:
        case None:
            return "n"
        case bool():
            return f"b{int(value)}"
        case Label():
            text = write_label(value)
            return f"l{len(text)}:{text}"
        case int():
            return f"i{value};"
        case str():
            return f"s{len(value)}:{value}"
        case float():
            return f"f{value + 0.0!r};"
        case Decimal():
            every_digit = Context(prec=len(value.as_tuple().digits))
            return f"d{every_digit.normalize(value)!s};"
        case bytes():
            return f"x{value.hex()};"
        case datetime():
            return f"T{(value - EPOCH) // MICROSECOND};"
        case date():
            return f"D{value.isoformat()};"
        case timedelta():
            return f"t{value // MICROSECOND};"
        case time():
            return f"c{micros_of(value)};"
        case tuple():
            return f"({''.join(map(_written, value))})"
    raise NestlingError(f"a label has no value {value!r}")


#: Of most labels: a site, and an int.
_ONE_INT = re.compile(r"s(\d+):(.*)\(i(-?\d+);\)", re.DOTALL)


def read_label(text: str) -> Label:
    """The label that ``text`` stands for."""
    short = _ONE_INT.fullmatch(text)
    if short is not None and int(short[1]) == len(short[2]):
        return Label(short[2], (int(short[3]),))
    reader = _Reader(text)
    site = reader.value()
    return Label(site, reader.value())


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def value(self) -> Any:  # noqa: C901 - one arm per type
        letter = self.text[self.at]
        self.at += 1
        match letter:
            case "n":
                return None
            case "b":
                self.at += 1
                return self.text[self.at - 1] == "1"
            case "i":
                return int(self.until())
            case "s":
                return self.counted()
            case "l":
                return read_label(self.counted())
            case "f":
                return float(self.until())
            case "d":
                return Decimal(self.until())
            case "x":
                return bytes.fromhex(self.until())
            case "T":
                return EPOCH + int(self.until()) * MICROSECOND
            case "D":
                return date.fromisoformat(self.until())
            case "t":
                return int(self.until()) * MICROSECOND
            case "c":
                return clock_of(int(self.until()))
            case "(":
                return tuple(self.members())
        raise NestlingError(f"not a label: {self.text!r}")

    def members(self) -> list[Any]:
        found = []
        while self.text[self.at] != ")":
            found.append(self.value())
        self.at += 1
        return found

    def until(self) -> str:
        end = self.text.index(";", self.at)
        part, self.at = self.text[self.at : end], end + 1
        return part

    def counted(self) -> str:
        end = self.text.index(":", self.at)
        start = end + 1
        self.at = start + int(self.text[self.at : end])
        return self.text[start : self.at]
