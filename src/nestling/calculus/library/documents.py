"""Functions of texts that are JSON documents, with Spark's meaning: of what is none, or has no such part, null."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any

from nestling.calculus.library.entry import LibraryEntry, entry
from nestling.calculus.standard import double_text
from nestling.values.nan import NAN


class _Whole(str):
    """A whole number as it was written; it may be longer than Python reads."""

    __slots__ = ()


def read(text: str) -> Any:
    """The document that ``text`` spells; a ``ValueError`` where it is none."""
    return json.loads(text, parse_int=_Whole, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(parse_int=_Whole, parse_constant=_refuse)


@lru_cache(1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The keys and places of ``$.a.b[0]``."""
    found = re.fullmatch(r"\$((?:\.[^.\[\]*'\s]+|\['[^'\]*]+'\]|\[[0-9]+\])*)", path)
    if found is None:
        raise ValueError(f"{path!r} is no path")
    parts = re.findall(r"\.([^.\[\]*']+)|\['([^'\]]+)'\]|\[([0-9]+)\]", found[1])
    return tuple(int(place) if place else key or quoted for key, quoted, place in parts)


def at_path(text: str, path: str) -> str | None:
    """What stands at ``path``: a text as it is, anything else as JSON.

    >>> at_path('{"a": [{"b": "x"}, 2.50]}', "$.a[0].b"), at_path('{"a": [1, 2.50]}', "$.a")
    ('x', '[1,2.5]')
    """
    steps = _steps(path)
    try:
        found = read(text)
    except (ValueError, RecursionError):
        return None
    for step in steps:
        if isinstance(step, int):
            if not isinstance(found, list) or step >= len(found):
                return None
            found = found[step]
        elif isinstance(found, dict) and step in found:
            found = found[step]
        else:
            return None
    return None if found is None else str(found) if isinstance(found, str) else written(found)


def written(value: Any) -> str:
    """``value`` as JSON, without spaces."""
    if isinstance(value, _Whole):
        return str(value)
    if isinstance(value, float):
        text = double_text(value)
        return text if math.isfinite(value) else f'"{text}"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{written(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def length(text: str) -> int | None:
    """How many elements the array has."""
    try:
        found = read(text)
    except (ValueError, RecursionError):
        return None
    return len(found) if isinstance(found, list) else None


def _field(text: str, name: str) -> Any:
    """The value of a field of an object; None where there is none."""
    try:
        found, _ = _DECODER.raw_decode(
            text.lstrip(" \t\r\n")
        )  # what stands behind the object is not looked at
    except (ValueError, RecursionError):
        return None
    return found.get(name) if isinstance(found, dict) else None


def field_text(text: str, name: str) -> str | None:
    """A field as a text: what is no text as JSON."""
    found = _field(text, name)
    if isinstance(found, _Whole) and found == "-0":
        return "0"
    return None if found is None else str(found) if isinstance(found, str) else written(found)


def field_int(text: str, name: str) -> int | None:
    """A field that is a whole number of 64 bits."""
    found = _field(text, name)
    if not isinstance(found, _Whole) or len(found) > MOST_DIGITS or not -(1 << 63) <= int(found) < 1 << 63:
        return None
    return int(found)


def field_float(text: str, name: str) -> float | None:
    """A field that is a number, or a word for one that is none."""
    found = _field(text, name)
    if isinstance(found, str) and not isinstance(found, _Whole):
        return _NO_NUMBERS.get(found)
    return float(found) if isinstance(found, _Whole | float) else None


def field_bool(text: str, name: str) -> bool | None:
    """A field that is true or false."""
    found = _field(text, name)
    return found if isinstance(found, bool) else None


def _in_struct(type_: str) -> str:
    """A field of one type by its name, which is written out."""
    return f"CAST(from_json({{0}}, concat('`', {{1}}, '` {type_}')) AS STRUCT<v: {type_}>).v"


def quoted(text: str) -> str:
    """A text in JSON."""
    return (
        '"'
        + "".join(_ESCAPES.get(sign) or (f"\\u{ord(sign):04X}" if sign < " " else sign) for sign in text)
        + '"'
    )


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
MOST_DIGITS = 20
_NO_NUMBERS = {
    "NaN": NAN, "INF": math.inf, "+INF": math.inf, "Infinity": math.inf, "+Infinity": math.inf, "-INF": -math.inf,
    "-Infinity": -math.inf,
}  # fmt: skip
#: A value in JSON, without the object around it.
_VALUE = "substr(to_json(named_struct('v', {0})), 6, length(to_json(named_struct('v', {0}))) - 6)"


DOCUMENTS: tuple[LibraryEntry, ...] = (
    entry("json_field", "str str", "str?", field_text, _in_struct("STRING"), fixed=(1,)),
    entry("json_int", "str str", "int?", field_int, _in_struct("BIGINT"), fixed=(1,)),
    entry("json_float", "str str", "float?", field_float, _in_struct("DOUBLE"), fixed=(1,)),
    entry("json_bool", "str str", "bool?", field_bool, _in_struct("BOOLEAN"), fixed=(1,)),
    entry("json_quoted", "str", "str", quoted, _VALUE),
    entry("json_number", "float", "str", written, _VALUE),
    entry("get_json_object", "str str", "str?", at_path, partial=True, fixed=(1,)),
    entry("json_array_length", "str", "int?", length),
)
