"""Record types from Spark's DDL: ``id INT, items ARRAY<STRUCT<pid: INT, qty: INT>>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from nestling.calculus.maps import map_type
from nestling.calculus.optional import optional
from nestling.calculus.sizes import MOST
from nestling.calculus.types import Bag, Record, Scalar, Type
from nestling.errors import QueryError, Span

#: What Spark calls a scalar type, by its type here.
_WORDS = {
    "bool": "BOOLEAN",
    "int": "TINYINT BYTE SMALLINT SHORT INT INTEGER BIGINT LONG",
    "float": "DOUBLE",
    "decimal": "DECIMAL DEC NUMERIC",
    "str": "STRING VARCHAR CHAR CHARACTER",
    "bytes": "BINARY",
    "date": "DATE",
    "datetime": "TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ",
    "time": "TIME",
    "timedelta": "INTERVAL",
}
_BITS = {
    "TINYINT": 8,
    "BYTE": 8,
    "SMALLINT": 16,
    "SHORT": 16,
    "INT": 32,
    "INTEGER": 32,
    "BIGINT": 64,
    "LONG": 64,
}
SPARK_SCALARS = {
    word: Scalar(name, size=(_BITS[word],) if word in _BITS else ())
    for name, words in _WORDS.items()
    for word in words.split()
}
_UNITS = {"DAY", "HOUR", "MINUTE", "SECOND"}
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d]\w*)|(\d+)|'((?:[^'\\]|\\.)*)'|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DdlToken:
    """A word, quoted name, number, string or sign, and where it stands; the end is the empty sign."""

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


def parse_ddl(text: str) -> Record:
    """The record type of a DDL string; a column is nullable where it says ``NULL``.

    >>> from nestling.calculus.types import show_type
    >>> show_type(parse_ddl("id BIGINT NOT NULL, `unit price` DOUBLE NULL"))
    '⟨id: int, unit price: float?⟩'
    """
    parser = _Parser(text)
    record = parser.fields("")
    parser.expect("", "a comma or the end")
    return record


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.place = text, _tokens(text), 0

    @property
    def here(self) -> DdlToken:
        return self.tokens[self.place]

    def next(self) -> DdlToken:
        token = self.here
        self.place += token.text != "" or token.kind != "sign"
        return token

    def accept(self, sign: str) -> bool:
        found = self.here.kind == "sign" and self.here.text == sign
        self.place += found and sign != ""
        return found

    def expect(self, sign: str, wanted: str) -> None:
        if not self.accept(sign):
            raise self.error(f"{wanted} is expected here")

    def error(self, what: str, hint: str = "", token: DdlToken | None = None) -> QueryError:
        token = token or self.here
        line = self.text.count("\n", 0, token.start) + 1
        first = self.text.rfind("\n", 0, token.start) + 1
        shown = self.text[first:].split("\n", 1)[0]
        length = max(1, min(token.end, first + len(shown)) - token.start)
        return QueryError(what, at=Span(line, token.start - first, shown, length), hint=hint)

    def fields(self, closing: str) -> Record:
        """Columns up to ``closing``, which stays."""
        found: dict[str, Type] = {}
        while True:
            token = self.next()
            if token.kind not in ("word", "name"):
                raise self.error("the name of a column is expected here", token=token)
            if token.text in found:
                raise self.error(f"column {token.text!r} stands twice", "rename one of them", token)
            self.accept(":")
            found[token.text] = self.column()
            if not self.accept(","):
                return Record(tuple(found.items()))

    def column(self) -> Type:
        """A type with what may follow it: ``NOT NULL``, ``NULL``, ``COMMENT '…'``."""
        type_ = self.type()
        if self.here.is_word("NOT"):
            self.next()
            if not self.next().is_word("NULL"):
                raise self.error("NOT is followed by NULL")
        elif self.here.is_word("NULL"):
            self.next()
            type_ = optional(type_)
        if self.here.is_word("COMMENT"):
            self.next()
            if self.next().kind != "string":
                raise self.error("a comment stands between quotes")
        return type_

    def type(self) -> Type:
        token = self.next()
        name = token.text.upper() if token.kind == "word" else ""
        match name:
            case "ARRAY":
                self.expect("<", "ARRAY<…>: <")
                element = self.column()
                self.expect(">", ">")
                return Bag(element)
            case "MAP":
                self.expect("<", "MAP<…, …>: <")
                key = self.type()
                self.expect(",", ",")
                value = self.column()
                self.expect(">", ">")
                return self.map(key, value, token)
            case "STRUCT":
                self.expect("<", "STRUCT<…>: <")
                record = self.fields(">")
                self.expect(">", ">")
                return record
            case _ if name in SPARK_SCALARS:
                numbers = self.arguments(name)
                if SPARK_SCALARS[name].name == "decimal":
                    return self.decimal(numbers, token)
                return SPARK_SCALARS[name]
        raise self.unknown(token, name)

    def arguments(self, name: str) -> list[int]:
        """Precision and scale, a width, which is not kept, and the units of an interval."""
        numbers: list[int] = []
        if name == "INTERVAL":
            while self.here.is_word("TO", *_UNITS):
                self.next()
        elif self.accept("("):
            while self.here.kind == "number":
                numbers.append(int(self.next().text))
                if not self.accept(","):
                    break
            self.expect(")", ")")
        return numbers

    def decimal(self, numbers: list[int], token: DdlToken) -> Scalar:
        """``DECIMAL(p, s)``; without them it has 10 digits and no places, as Spark's has."""
        digits, places = (*numbers, *(10, 0)[len(numbers) :])
        if not 0 <= places <= digits <= MOST or not digits:
            raise self.error(f"there is no DECIMAL({digits}, {places})", "digits are 38 at most", token)
        return Scalar("decimal", size=(digits, places))

    def map(self, key: Type, value: Type, token: DdlToken) -> Type:
        """``MAP<K, V>``, whose keys are scalars."""
        if not isinstance(key, Scalar):
            raise self.error("the keys of a MAP are scalars", "write MAP<STRING, …>", token)
        return map_type(key, value)

    def unknown(self, token: DdlToken, name: str) -> QueryError:
        if not name:
            return self.error("a type is expected here", token=token)
        if name in ("FLOAT", "REAL"):
            what = f"{name} has 32 bits, and a number with a point has 64 here"
            raise self.error(what, "write DOUBLE", token)
        close = get_close_matches(name, [*SPARK_SCALARS, "ARRAY", "STRUCT"], n=1)
        hint = f"did you mean {close[0]}?" if close else f"a type is {', '.join(_common())}"
        return self.error(f"there is no type {token.text}", hint, token)


def _common() -> list[str]:
    return [*(words.split()[0] for words in _WORDS.values()), "ARRAY<…>", "STRUCT<…>"]


def _tokens(text: str) -> list[DdlToken]:
    kinds = ("", "name", "word", "number", "string", "sign")
    tokens = []
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastindex or 0
        found = match.group(kind).replace("``", "`") if kind == 1 else match.group(kind)
        tokens.append(DdlToken(kinds[kind], found, match.start(kind), match.end(kind)))
    return [*tokens, DdlToken("sign", "", len(text), len(text) + 1)]
