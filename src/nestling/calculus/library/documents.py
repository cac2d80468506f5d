"""Functions of texts that are JSON documents, with Spark's meaning: of what is none, or has no such part, null."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
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
    return json.loads(text, parse_int=_Whole, parse_constant=_refuse, object_pairs_hook=_first_of_each)


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object by the first value of each key: where a path leads, if a key is there twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


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
    >>> at_path('{"a": 1, "a": 2}', "$.a")
    '1'
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


def _begun(text: str) -> Any:
    """The value that ``text`` begins with; what stands behind it is not looked at. None where there is none."""
    try:
        return _DECODER.raw_decode(text.lstrip(" \t\r\n"))[0]
    except (ValueError, RecursionError):
        return None


def _field(text: str, name: str) -> Any:
    """The value of a field of an object; None where there is none."""
    found = _begun(text)
    return found.get(name) if isinstance(found, dict) else None


def _text(found: Any) -> str | None:
    """A value as a text: what is no text as JSON."""
    if isinstance(found, _Whole) and found == "-0":
        return "0"
    return None if found is None else str(found) if isinstance(found, str) else written(found)


def _int(found: Any) -> int | None:
    """A whole number of 64 bits."""
    if not isinstance(found, _Whole) or len(found) > MOST_DIGITS or not -(1 << 63) <= int(found) < 1 << 63:
        return None
    return int(found)


def _float(found: Any) -> float | None:
    """A number, or what a word for one that is none stands for."""
    if isinstance(found, str) and not isinstance(found, _Whole):
        return _NO_NUMBERS.get(found)
    return float(found) if isinstance(found, _Whole | float) else None


def _bool(found: Any) -> bool | None:
    return found if isinstance(found, bool) else None


def nested(text: str, name: str, begin: str) -> str | None:
    """A field that is an object or an array, by the sign that it begins with, as JSON.

    >>> nested('{"a": [1], "b": "[1]"}', "a", "["), nested('{"a": [1], "b": "[1]"}', "b", "[")
    ('[1]', None)
    """
    found = _field(text, name)
    return written(found) if isinstance(found, {"{": dict, "[": list}[begin]) else None


#: The bits of each type of whole numbers.
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def _fits(found: Any, type_: str) -> bool:
    """Whether a value is null or one of ``type_``, as Spark writes it; of a struct, whatever its fields are."""
    if found is None or type_ == "STRING":
        return True
    if type_.startswith("ARRAY<"):
        return isinstance(found, list) and all(_fits(part, type_[6:-1]) for part in found)
    if type_ in _BITS:
        number, most = _int(found), 1 << _BITS[type_] - 1
        return number is not None and -most <= number < most
    if type_ == "DOUBLE":
        return _float(found) is not None
    return isinstance(found, bool if type_ == "BOOLEAN" else dict)


def _elements(text: str, type_: str) -> list[Any] | None:
    """The elements of an array, if each is of ``type_``; an object is an array of itself."""
    found = _begun(text)
    if isinstance(found, dict) and type_.startswith("STRUCT"):
        return [found]
    return found if isinstance(found, list) and _fits(found, f"ARRAY<{type_}>") else None


def items(text: str, type_: str) -> int | None:
    """How many elements of ``type_`` the array has; none where one is of another type.

    >>> items("[1, null]", "INT"), items('[1, "a"]', "INT"), items('{"a": 1}', "STRUCT<v: STRING>")
    (2, None, 1)
    """
    found = _elements(text, type_)
    return None if found is None else len(found)


def _item(type_: str, read_: Callable[[Any], Any]) -> Callable[[str, int], Any]:
    """The element of ``type_`` at a place."""

    def item(text: str, at: int) -> Any:
        found = _elements(text, type_)
        return read_(found[at]) if found is not None and 0 <= at < len(found) else None

    return item


def _item_text(text: str, at: int) -> str | None:
    """The element at a place as a text; an object is its own first."""
    found = _begun(text)
    if isinstance(found, dict):
        return text if at == 0 else None
    return _text(found[at]) if isinstance(found, list) and 0 <= at < len(found) else None


def _in_struct(type_: str) -> str:
    """A field of one type by its name, which is written out."""
    return f"CAST(from_json({{0}}, concat('`', {{1}}, '` {type_}')) AS STRUCT<v: {type_}>).v"


def _in_array(type_: str) -> str:
    """The element of one type at a place."""
    return f"get(from_json({{0}}, 'ARRAY<{type_}>'), {{1}})"


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
_JSON = "to_json(named_struct('v', {0}))"
_VALUE = f"CASE WHEN {{0}} IS NOT NULL THEN substr({_JSON}, 6, length({_JSON}) - 6) END"


#: Functions of a field, and of an element of an array: the type of both, how it is read, and Spark's type.
_READ: tuple[tuple[str, str, Callable[[Any], Any], str], ...] = (
    ("int", "int?", _int, "BIGINT"), ("float", "float?", _float, "DOUBLE"), ("bool", "bool?", _bool, "BOOLEAN"),
)  # fmt: skip


def _of_field(read_: Callable[[Any], Any]) -> Callable[[str, str], Any]:
    return lambda text, name: read_(_field(text, name))


DOCUMENTS: tuple[LibraryEntry, ...] = (
    entry("json_field", "str str", "str?", _of_field(_text), _in_struct("STRING"), fixed=(1,)),
    *(
        entry(f"json_{name}", "str str", gives, _of_field(read_), _in_struct(type_), fixed=(1,))
        for name, gives, read_, type_ in _READ
    ),
    entry(
        "json_nested",
        "str str str",
        "str?",
        nested,
        f"CASE WHEN {{2}} = '[' AND {_in_struct('ARRAY<STRING>')} IS NOT NULL"
        f" OR {{2}} = '{{{{' AND {_in_struct('STRUCT<v: STRING>')} IS NOT NULL THEN {_in_struct('STRING')} END",
        fixed=(1, 2),
    ),
    entry(
        "json_items",
        "str str",
        "int?",
        items,
        "element_at(transform(array(from_json({0}, concat('ARRAY<', {1}, '>'))),"
        " a -> CASE WHEN a IS NOT NULL THEN size(a) END), 1)",
        fixed=(1,),
    ),
    entry(
        "json_item",
        "str int32",
        "str?",
        _item_text,
        f"CASE WHEN {{0}} RLIKE '^[ \\t\\r\\n]*[{{{{]' THEN CASE WHEN {{1}} = 0 THEN {{0}} END"
        f" ELSE {_in_array('STRING')} END",
    ),
    *(
        entry(f"json_item_{name}", "str int32", gives, _item(type_, read_), _in_array(type_))
        for name, gives, read_, type_ in _READ
    ),
    entry("json_quoted", "str", "str", quoted, _VALUE),
    entry("json_number", "float", "str", written, _VALUE),
    entry("get_json_object", "str str", "str?", at_path, partial=True, fixed=(1,)),
    entry("json_array_length", "str", "int?", length),
)
