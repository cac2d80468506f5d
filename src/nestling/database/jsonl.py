"""JSON lines: one row a line, nested as it is.

What JSON has no word for is a string: dates and datetimes in ISO 8601, bytes in Base64; a decimal is a string
or a number, a timedelta its seconds. A map is an object where its keys are strings, and else a list of pairs. A float
that is no number is one of Python's words for it: ``NaN``, ``Infinity``.

Law: ``from_json(t, to_json(t, v))`` is ``v``.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from nestling.calculus.lists import is_list, item_type
from nestling.calculus.maps import is_map
from nestling.calculus.optional import held, is_optional
from nestling.calculus.types import STR, Bag, Record, Scalar, Type
from nestling.errors import ChangeError, Span
from nestling.quoting import is_utf8

SHOWN = 80


@dataclass(frozen=True)
class FileLine:
    """A line of a file, for what is to be said of it."""

    file: Path
    number: int
    text: str

    def span(self, column: int = 0, length: int = 0) -> Span:
        """The line with ``length`` characters at ``column`` underlined; without a length, all of it."""
        start = max(0, min(column - SHOWN // 2, len(self.text) - SHOWN))
        text = self.text[start : start + SHOWN]
        return Span(self.number, column - start, text, length or len(text), self.file.name)


def read_lines(file: Path) -> Iterator[tuple[FileLine, Any]]:
    """The lines of ``file`` that are not blank, with their JSON; numbers with a point are decimals."""
    number = 0
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, text in enumerate(lines, 1):
                if text.strip():
                    line = FileLine(file, number, text.rstrip("\n"))
                    yield line, _parsed(line)
    except UnicodeDecodeError as error:
        raise ChangeError(f"{file.name} is not UTF-8 after line {number}: {error.reason}") from error


def _parsed(line: FileLine) -> Any:
    try:
        return json.loads(line.text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        hint = "every line is one JSON object"
        raise ChangeError(f"not JSON: {error.msg}", at=line.span(error.pos, 1), hint=hint) from error


def from_json(type_: Type, value: Any) -> Any:
    """``value`` with its strings read as the type says; what does not fit stays, to be refused by column.

    >>> from nestling.calculus.types import Scalar, record
    >>> from_json(record(day=Scalar("date"), tags=Bag(Scalar("str"))), {"day": "2024-02-29", "tags": ["a"]})
    {'day': datetime.date(2024, 2, 29), 'tags': ['a']}
    """
    if is_optional(type_):
        return None if value is None else from_json(held(type_), value)
    match type_, value:
        case Bag(Record(((_, key), (_, inner)))), Mapping() if is_map(type_):
            return {from_json(key, k): from_json(inner, v) for k, v in value.items()}
        case Record(), Mapping():
            types = dict(type_.fields)
            return {name: from_json(types[name], v) if name in types else v for name, v in value.items()}
        case Record(fields), list() if len(value) == len(fields):
            return tuple(from_json(field, v) for (_, field), v in zip(fields, value, strict=True))
        case Bag(element), list():
            element = item_type(type_) if is_list(type_) else element
            return [from_json(element, inner) for inner in value]
        case Scalar(name), str() if name in FROM_TEXT:
            return _from_text(name, value)
        case Scalar("timedelta"), int() | Decimal():
            return timedelta(seconds=float(value))
        case Scalar(name), Decimal() if name != "decimal":
            return float(value)
    return value


FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
    "bytes": lambda text: b64decode(text, validate=True),
}
EXAMPLES = {
    "date": "2024-02-29",
    "datetime": "2024-02-29T12:30:00",
    "time": "12:30:00",
    "decimal": "12.50",
    "bytes": "aGk=",
}


def _from_text(name: str, text: str) -> Any:
    try:
        return FROM_TEXT[name](text)
    except (ValueError, ArithmeticError, NotBase64) as error:
        raise ChangeError(f"{text!r} is no {name}", hint=f'write it as "{EXAMPLES[name]}"') from error


def to_json(type_: Type, value: Any) -> Any:
    """``value``, as a view gives it, for ``json.dumps``: records as objects, bags as lists."""
    if is_optional(type_):
        return None if value is None else to_json(held(type_), value)
    match type_, value:
        case Bag(Record(((_, key), (_, inner)))), Mapping():
            entries = [(to_json(key, k), to_json(inner, v)) for k, v in value.items()]
            return dict(entries) if key == STR else entries
        case Record(fields), _:
            pairs = zip(fields, value, strict=True)
            return {name: to_json(field, part) for (name, field), part in pairs}
        case Bag(element), _:
            element = item_type(type_) if is_list(type_) else element
            return [to_json(element, inner) for inner in value]
        case _, datetime() | date() | time():
            return value.isoformat()
        case _, timedelta():
            return value.total_seconds()
        case _, Decimal():
            return str(value)
        case _, bytes():
            return b64encode(value).decode("ascii")
    return value


def write_rows(file: Path, element: Type, rows: Iterable[Any]) -> None:
    """One row a line."""
    with file.open("w", encoding="utf-8") as lines:
        for row in rows:
            found = to_json(element, row)
            text = json.dumps(found, ensure_ascii=False)
            # Half a character has no place in UTF-8, but JSON can say it.
            lines.write((text if is_utf8(text) else json.dumps(found)) + "\n")
