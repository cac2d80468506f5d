"""Texts that are read as VARIANT, with Spark's meaning: what stands at a path, as a value of some type.

A number without an exponent is a decimal, if it has no more than 38 digits, and is written without zeros at its end.
The keys of an object are in order. A text that is no JSON, or has a key twice, has no value; nor has a part that is no
value of the type, and is null where that is only tried.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from nestling.calculus.library.documents import quoted
from nestling.calculus.library.entry import LibraryEntry, entry
from nestling.calculus.standard import double_text, read_bool, read_float, read_int
from nestling.values.nan import NAN

Number = int | Decimal | float
#: The digits of a decimal.
MOST_DIGITS = 38


def variant(text: str) -> Any:
    """The value that ``text`` begins with; a ``ValueError`` where it is none."""
    found, end = _DECODER.raw_decode(text.lstrip(" \t\r\n"))
    rest = text.lstrip(" \t\r\n")[end:]
    if rest and not isinstance(found, dict | list | str) and rest[0] not in " \t\r\n":
        raise ValueError(f"{text!r} is no JSON")
    if "\\u" in text:
        written(found).encode()  # half a letter is none: a ``UnicodeError``, which is a ``ValueError``
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _number(text: str) -> Decimal | float:
    """A number with a point or an exponent, or of more than 64 bits."""
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        number = Decimal(text)
        _, digits, exponent = number.as_tuple()
        if len(digits) <= MOST_DIGITS and -int(exponent) <= MOST_DIGITS:
            return number
    return float(text)


def _whole(text: str) -> Number:
    if len(text) > MOST_DIGITS or not -(1 << 63) <= int(text) < 1 << 63:
        return _number(text)
    return int(text)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(
    parse_int=_whole, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_object
)
_STEP = r"\.([A-Za-z0-9_ ]+)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[([0-9]+)\]"


@lru_cache(1024)
def steps_of(path: str) -> tuple[str | int, ...]:
    """The keys and places of ``$.a['b'][0]``.

    >>> steps_of("$.a['b'][0]")
    ('a', 'b', 0)
    """
    if re.fullmatch(rf"\$(?:{_STEP})*", path) is None:
        raise ValueError(f"{path!r} is no path")
    parts = [found.groups() for found in re.finditer(_STEP, path)]
    return tuple(int(place) if place else key or one or two or "" for key, one, two, place in parts)


def part(text: str, path: str) -> Any:
    """What stands at ``path``; None where nothing does."""
    steps = steps_of(path)
    try:
        found = variant(text)
    except RecursionError:
        raise ValueError("too deep") from None
    for step in steps:
        is_list = isinstance(step, int) and isinstance(found, list) and step < len(found)
        if not is_list and not (isinstance(step, str) and isinstance(found, dict) and step in found):
            return None
        found = found[step]
    return found


def as_text(found: Any) -> str:
    """A part as STRING: a text as it is, anything else as JSON."""
    if isinstance(found, str):
        return found
    return double_text(found) if isinstance(found, float) else written(found)


def written(found: Any) -> str:
    """A part as JSON, without spaces.

    >>> written(variant('{"b": [1.50, 1e2], "a": "x"}'))
    '{"a":"x","b":[1.5,100.0]}'
    """
    match found:
        case dict():
            pairs = sorted(found.items(), key=lambda pair: pair[0].encode("utf-16-be", "surrogatepass"))
            return "{" + ",".join(f"{quoted(key)}:{written(inner)}" for key, inner in pairs) + "}"
        case list():
            return "[" + ",".join(map(written, found)) + "]"
        case str():
            return quoted(found)
        case bool():
            return "true" if found else "false"
        case Decimal():
            return _plain(found)
        case float():
            text = double_text(found)
            return f'"{text}"' if text.endswith("Infinity") else text
    return "null" if found is None else str(found)


def _plain(number: Decimal) -> str:
    """A decimal without zeros at its end."""
    text = format(number, "f")
    stripped = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if number == 0 else stripped


def as_int(found: Any) -> int:
    """A part as BIGINT: a number is cut, a text is read."""
    if isinstance(found, dict | list):
        raise ValueError("no number")
    number = read_int(found) if isinstance(found, str) else int(found)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{number} has more than 64 bits")
    return number


def as_float(found: Any) -> float:
    """A part as DOUBLE."""
    if isinstance(found, dict | list):
        raise ValueError("no number")
    if isinstance(found, str):
        return NAN if found.strip().lower() == "nan" else read_float(found)
    return found if isinstance(found, float) else float(found) + 0.0


def as_bool(found: Any) -> bool:
    """A part as BOOLEAN: a number is true but for 0."""
    if isinstance(found, dict | list):
        raise ValueError("neither true nor false")
    return read_bool(found) if isinstance(found, str) else bool(found)


def _read(read: Callable[[Any], Any]) -> Callable[[str, str], Any]:
    """What stands at a path as a value of a type; no value where it is none of it."""

    def of(text: str, path: str) -> Any:
        found = part(text, path)
        try:
            return None if found is None else read(found)
        except OverflowError as error:
            raise ValueError(str(error)) from None

    return of


def _tried(read: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """The same; null where there is no value, but not of a path that is none."""

    def of(text: str, path: str) -> Any:
        steps_of(path)
        try:
            return read(text, path)
        except ValueError:
            return None

    return of


def checked(text: str) -> str:
    """``text``, if it is JSON."""
    part(text, "$")
    return text


def if_json(text: str) -> str | None:
    """``text``, or null if it is no JSON."""
    try:
        return checked(text)
    except ValueError:
        return None


_JSON = "try_parse_json({0})"
_AT = f"try_variant_get({_JSON}, {{1}}, 'variant')"
_ABSENT = f"{_JSON} IS NOT NULL AND ({_AT} IS NULL OR is_variant_null({_AT}))"
#: By the end of the name: what is given, how it is read, and Spark's type.
READ: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "text": ("str?", as_text, "STRING"), "int": ("int?", as_int, "BIGINT"),
    "float": ("float?", as_float, "DOUBLE"), "bool": ("bool?", as_bool, "BOOLEAN"),
}  # fmt: skip


def _entries(name: str, gives: str, read: Callable[[Any], Any], type_: str) -> tuple[LibraryEntry, ...]:
    tried = f"try_variant_get({_JSON}, {{1}}, '{type_}')"
    strict = f"variant_get(parse_json({{0}}), {{1}}, '{type_}')"
    holds = f"({tried} IS NOT NULL OR {_ABSENT})"
    return (
        entry(f"variant_{name}", "str str", gives, _read(read), strict, partial=True, holds=holds),
        entry(f"try_variant_{name}", "str str", gives, _tried(_read(read)), tried, partial=True, fixed=(1,)),
    )


VARIANTS: tuple[LibraryEntry, ...] = (
    *(found for name, kind in READ.items() for found in _entries(name, *kind)),
    entry(
        "checked_json", "str", "str", checked,
        f"CASE WHEN {{0}} IS NOT NULL AND {_JSON} IS NULL THEN raise_error('this is no JSON') ELSE {{0}} END",
        partial=True, holds=f"{_JSON} IS NOT NULL",
    ),
    entry("if_json", "str", "str?", if_json, f"CASE WHEN {_JSON} IS NOT NULL THEN {{0}} END"),
)  # fmt: skip
