"""Words of the concrete syntax: text to tokens with their places, and names to words.

A name that is not a word of letters, or that means something else, is written between backquotes with the
escapes of a Python string: ``m.`first name```.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from nestling.errors import QueryError, Span

RESERVED = frozenset("for in where union let fold group by as sng flatten and or not true false null".split())

_ESCAPE = r"\\(?:[\\nrt'\"]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
_BYTE = r"\\(?:[\\nrt'\"]|x[0-9a-fA-F]{2})"
_KINDS = {
    "space": r"\s+",
    "bytes": rf"""b(?:'(?:[^'\\\n\x80-\U0010ffff]|{_BYTE})*'|"(?:[^"\\\n\x80-\U0010ffff]|{_BYTE})*")""",
    "string": rf"""'(?:[^'\\\n]|{_ESCAPE})*'|"(?:[^"\\\n]|{_ESCAPE})*\"""",
    "quoted": rf"`(?:[^`\\\n]|{_ESCAPE})*`",
    "number": r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
    "opaque": r"(?:sng|bag)!_[0-9]{1,9}(?!\w)",
    "site": r"(?:sng|bag|inL)_[0-9]{1,9}(?!\w)",
    "name": r"[^\W\d]\w*",
    "symbol": r":=|==|!=|<=|>=|//|\+\+|[⟨⟩()\[\],.:⊎⊖∅×↦∪@?!=<>+\-*/%]",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))


def label(name: str) -> str:
    """``name`` where only a name can stand: after a dot or before a colon.

    >>> label("for"), label("first name")
    ('for', '`first name`')
    """
    return name if re.fullmatch(_KINDS["name"], name) else quoted(name)


def word(name: str) -> str:
    """``name`` where a keyword could stand as well.

    >>> word("form"), word("for"), word("sng_1")
    ('form', '`for`', '`sng_1`')
    """
    taken = name in RESERVED or re.fullmatch(_KINDS["site"], name)
    return quoted(name) if taken else label(name)


def quoted(name: str) -> str:
    """Any ``name``, between backquotes."""
    return "`" + "".join(_escaped(char) for char in name) + "`"


def _escaped(char: str) -> str:
    if char == "`":
        return "\\x60"
    return char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode()


def unquoted(text: str) -> str:
    """What stands between the quotes of a string or of a quoted name."""
    return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: its kind, the text as written, and where it starts."""

    kind: str
    text: str
    start: int


def _tokens(text: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unreadable(text, place)
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), "⊎" if match[0] == "++" else match[0], place)
        place = match.end()
    yield Token("end", "", len(text.rstrip()))


def _unreadable(text: str, place: int) -> QueryError:
    span = _span(text, place, place + 1)
    if text[place] in "'\"`":
        return QueryError(
            "this quote is not closed on its line",
            at=span,
            hint="write a line break as \\n, a backslash as \\\\",
        )
    return QueryError(
        f"{text[place]!r} has no meaning here", at=span, hint="write a name with such a character as `name`"
    )


def _span(text: str, start: int, end: int) -> Span:
    """The place from ``start`` to ``end``, or to the end of the line ``start`` is on."""
    first = text.rfind("\n", 0, start) + 1
    line = text[first:].partition("\n")[0]
    length = max(1, min(end - start, first + len(line) - start))
    # One column per character, so that the caret stands below its place.
    return Span(text.count("\n", 0, start) + 1, start - first, re.sub(r"\s", " ", line), length)


class Tokens:
    """The tokens of a text, read from left to right; a *place* is an index into them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of ``texts``."""
        return self.token.text in texts and self.token.kind != "end"

    def take(self) -> Token:
        """The next token, which is then behind us; the end stays."""
        token = self.token
        self.place += token.kind != "end"
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is ``text``."""
        return self.at(text) and bool(self.take())

    def expect(self, text: str, hint: str = "") -> None:
        """Take the next token, which must be ``text``."""
        if not self.accept(text):
            self.unexpected(repr(text), hint)

    def unexpected(self, wanted: str, hint: str = "") -> NoReturn:
        """Refuse the next token."""
        found = repr(self.token.text) if self.token.text else "the end"
        self.fail(f"expected {wanted} but found {found}", hint)

    def fail(self, what: str, hint: str = "", place: int | None = None) -> NoReturn:
        """Refuse what stands at ``place``, or here."""
        raise QueryError(what, at=self.span(self.place if place is None else place), hint=hint)

    def span(self, first: int, end: int | None = None) -> Span:
        """From the token ``first`` to the one before ``end``."""
        last = self.tokens[first if end is None else max(first, end - 1)]
        return _span(self.text, self.tokens[first].start, last.start + len(last.text))
