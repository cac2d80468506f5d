"""Words of the concrete syntax: names and literals as text, and text as tokens with their places.

A name that is not a word of letters, or that means something else, is written between backquotes with the
escapes of a Python string: ``m.`first name```.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple, NoReturn, TypeVar

from nestling.calculus.types import Scalar
from nestling.errors import QueryError, Span

T = TypeVar("T")
_CLASSES = (bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta)
#: The scalar type of a literal, by the class of its value.
LITERALS: dict[type, Scalar] = {class_: Scalar(class_.__name__.lower()) for class_ in _CLASSES}

_BINDERS = ("for", "in", "where", "union", "let", "fold", "group", "by", "as")
RESERVED = frozenset((*_BINDERS, "sng", "flatten", "and", "or", "not", "true", "false", "null"))

_FORMS = {
    "for": "for x in … where … union …",
    "let": "let X := … in …",
    "fold": "fold x := sum(…) in …",
    "group": "group x in … by k := … as X union …",
}
_FORMS |= {"union": _FORMS["for"], "as": _FORMS["group"]}
_MAKERS: dict[str, Callable[..., Any]] = {
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": timedelta,
    "float": float,
}
_BYTE = r"\\[\\nrt'\"]|\\x[0-9a-fA-F]{2}"
_CHAR = rf"{_BYTE}|\\u[0-9a-fA-F]{{4}}|\\U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{{4}}"
_STRING = rf"""'(?:[^'\\\n]|{_CHAR})*'|"(?:[^"\\\n]|{_CHAR})*\""""
_INT = "[0-9]{1,4000}"  # what int() reads without being asked for more
_KINDS = {
    "space": r"\s+",
    "scalar": rf"(?:{'|'.join(_MAKERS)})\((?:{_STRING}|-?{_INT}(?:, -?{_INT})*)\)",
    "bytes": rf"""b'(?:[^'\\\n\x80-\U0010ffff]|{_BYTE})*'|b"(?:[^"\\\n\x80-\U0010ffff]|{_BYTE})*\"""",
    "string": _STRING,
    "number": rf"{_INT}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
    "quoted": rf"`(?:[^`\\\n]|{_CHAR})*`",
    "site": r"(?:(?:sng|bag)!?|inL)_[0-9]{1,9}(?!\w)",
    "name": r"[^\W\d]\w*",
    "symbol": r":=|==|!=|<=|>=|//|\+\+|[⟨⟩()\[\],.:⊎⊖∅×↦∪@?!=<>+\-*/%]",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))


def label(name: str) -> str:
    """``name`` where only a name can stand: after a dot or before a colon."""
    return name if re.fullmatch(_KINDS["name"], name) else quoted(name)


def word(name: str) -> str:
    """``name`` where a keyword could stand as well.

    >>> word("form"), word("for"), word("sng_1"), word("first name")
    ('form', '`for`', '`sng_1`', '`first name`')
    """
    return quoted(name) if name in RESERVED or re.fullmatch(_KINDS["site"], name) else label(name)


def quoted(name: str) -> str:
    """Any ``name``, between backquotes."""
    safe = [c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in name]
    return "`" + "".join(safe).replace("`", "\\x60") + "`"


def unquoted(text: str) -> str:
    """What stands between the quotes of a name or a string."""
    return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")


def literal(value: Any) -> str:
    """A scalar other than ``None``, as it is written in a query.

    >>> literal(True), literal("a"), literal(Decimal("1.20"))
    ('true', "'a'", "decimal('1.20')")
    """
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"decimal({str(value)!r})"
        case date() | time():
            return f"{type(value).__name__}({value.isoformat()!r})"
        case timedelta():
            return f"timedelta({value.days}, {value.seconds}, {value.microseconds})"
        case float() if not isfinite(value):
            return f"float({str(value)!r})"
        case _:
            return repr(value)


def read_literal(text: str) -> Any:
    """The value that ``literal`` writes as ``text``; ``ValueError`` if there is none."""
    if text in ("true", "false"):
        return text == "true"
    maker, _, args = text.partition("(")
    try:
        # A string may have parentheses in it, too.
        made = args and maker in _MAKERS
        return _MAKERS[maker](*ast.literal_eval(f"({args[:-1]},)")) if made else ast.literal_eval(text)
    except (SyntaxError, TypeError, KeyError, ArithmeticError) as error:
        raise ValueError(str(error)) from error


class Token(NamedTuple):
    """A piece of text: its kind, the text as written, and where it starts."""

    kind: str
    text: str
    start: int


class Tokens:
    """The tokens of a text, read from left to right; a *place* is an index into them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def take(self) -> str:
        """The text of the next token, which is then behind us; the end stays."""
        text = self.token.text
        self.place += self.token.kind != "end"
        return text

    def accept(self, text: str) -> bool:
        """Take the next token if it is ``text``."""
        return self.token.text == text and bool(self.take())

    def expect(self, text: str, hint: str) -> None:
        """Take the next token, which must be ``text``."""
        if not self.accept(text):
            self.unexpected(repr(text), hint)

    def read(self, *form: str | Callable[[], Any]) -> list[Any]:
        """What the rules of ``form`` yield; its words must stand there."""
        words = " ".join(part if isinstance(part, str) else "…" for part in form)
        hint = f"the form is {_FORMS.get(words.partition(' ')[0], words)}"
        found = []
        for part in form:
            if isinstance(part, str):
                self.expect(part, hint)
            else:
                found.append(part())
        return found

    def listed(self, rule: Callable[[], T], closing: str = ")", separator: str = ",") -> tuple[T, ...]:
        """``rule, … closing``"""
        found: list[T] = []
        while self.token.text != closing:
            found.append(rule())
            if not self.accept(separator):
                break
        self.expect(closing, f"separate with {separator} and close with {closing}")
        return tuple(found)

    def name(self) -> str:
        if self.token.kind not in ("name", "site", "quoted"):
            self.unexpected("a name", "a name that is no word is written `name`")
        quoted = self.token.kind == "quoted"
        return unquoted(self.take()) if quoted else self.take()

    def word(self, wanted: str, hint: str) -> str:
        """A name that is no keyword."""
        if self.token.kind not in ("name", "quoted") or self.token.text in RESERVED:
            self.unexpected(wanted, hint)
        return self.name()

    def unexpected(self, wanted: str, hint: str) -> NoReturn:
        """Refuse the next token."""
        found = repr(self.token.text) if self.token.text else "the end"
        self.fail(f"expected {wanted} but found {found}", hint, self.place)

    def fail(self, what: str, hint: str, first: int, end: int = 0) -> NoReturn:
        """Refuse what stands from ``first`` to the token before ``end``."""
        raise QueryError(what, at=self.span(first, end), hint=hint)

    def span(self, first: int, end: int = 0) -> Span:
        """The place from the token ``first`` to the one before ``end``, at least ``first`` itself."""
        last = self.tokens[max(first, end - 1)]
        return _span(self.text, self.tokens[first].start, last.start + len(last.text))


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            hint = "quotes close on their line; a name that is no word is written `name`"
            raise QueryError(f"{text[place]!r} starts no word", at=_span(text, place, place + 1), hint=hint)
        if found.lastgroup != "space":
            yield Token(str(found.lastgroup), "⊎" if found[0] == "++" else found[0], place)
        place = found.end()
    yield Token("end", "", len(text.rstrip()))


def _span(text: str, start: int, end: int) -> Span:
    """The place from ``start`` to ``end``, or to the end of the line ``start`` is on."""
    first = text.rfind("\n", 0, start) + 1
    line = text[first:].partition("\n")[0]
    length = max(1, min(end - start, first + len(line) - start))
    # One column per character, so that the caret stands below its place.
    return Span(text.count("\n", 0, start) + 1, start - first, re.sub(r"\s", " ", line), length)
