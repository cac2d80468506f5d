"""Functions of texts that are JSON documents, with Spark's meaning: of what is none, or has no such part, null."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any

from nestling.calculus.library.entry import Entry, entry
from nestling.calculus.standard import double_text


class _Whole(str):
    """A whole number as it was written; it may be longer than Python reads."""

    __slots__ = ()


def read(text: str) -> Any:
    """The document that ``text`` spells; a ``ValueError`` where it is none."""
    return json.loads(text, parse_int=_Whole, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


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


DOCUMENTS: tuple[Entry, ...] = (
    entry("get_json_object", "str str", "str?", at_path, partial=True, fixed=(1,)),
    entry("json_array_length", "str", "int?", length),
)
