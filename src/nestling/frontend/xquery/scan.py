"""Reading a text sign by sign: names, words, literals, comments, and errors with their place.

XQuery has no reserved words and reads markup in place, so there are no tokens apart from the grammar.
"""

from __future__ import annotations

import re
from decimal import Decimal

from nestling.errors import QueryError, Span
from nestling.xml.entries import NAME

_LOCAL = re.compile(NAME)
_QNAME = re.compile(rf"{NAME}(?::{NAME})?")
_NUMBER = re.compile(r"(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")
_SPACE = re.compile(r"[ \t\r\n]+")
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(lt|gt|amp|quot|apos));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def refusal(text: str, at: int, what: str, hint: str = "", code: str = "") -> QueryError:
    """An error at an offset of a text, with the code that XQuery has for it."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    span = Span(text.count("\n", 0, at) + 1, at - start, line)
    return QueryError(f"{what} ({code})" if code else what, at=span, hint=hint)


class Scanner:
    """A place in a text, and what can be read from there."""

    def __init__(self, text: str) -> None:
        self.text, self.i = text, 0

    def error(self, what: str, hint: str = "", code: str = "XPST0003", at: int | None = None) -> QueryError:
        return refusal(self.text, self.i if at is None else at, what, hint, code)

    def space(self) -> None:
        """Skip white space and comments, which nest."""
        while True:
            if found := _SPACE.match(self.text, self.i):
                self.i = found.end()
            elif self.text.startswith("(:", self.i):
                self._comment()
            else:
                return

    def _comment(self) -> None:
        begun, depth = self.i, 0
        while True:
            if self.text.startswith("(:", self.i):
                depth, self.i = depth + 1, self.i + 2
            elif self.text.startswith(":)", self.i):
                depth, self.i = depth - 1, self.i + 2
                if not depth:
                    return
            elif self.i >= len(self.text):
                raise self.error("a comment is not closed", "close it: :)", at=begun)
            else:
                self.i += 1

    def sees(self, sign: str) -> bool:
        """Whether ``sign`` comes next."""
        self.space()
        return self.text.startswith(sign, self.i)

    def eat(self, sign: str) -> bool:
        """Go past ``sign`` where it comes next."""
        if self.sees(sign):
            self.i += len(sign)
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.eat(sign):
            raise self.error(f"expected {sign}", self.instead())

    def instead(self) -> str:
        """What is there, for an error."""
        found = self.text[self.i : self.i + 20].split("\n")[0]
        return f"there is {found!r}" if found else "the text ends here"

    def words(self, *words: str) -> bool:
        """Go past ``words`` where they come next, each a whole name."""
        begun = self.i
        for word in words:
            self.space()
            found = _LOCAL.match(self.text, self.i)
            if found is None or found[0] != word:
                self.i = begun
                return False
            self.i = found.end()
        return True

    def need_word(self, word: str) -> None:
        if not self.words(word):
            raise self.error(f"expected {word}", self.instead())

    def sees_words(self, *words: str) -> bool:
        begun = self.i
        found = self.words(*words)
        self.i = begun
        return found

    def sees_name(self) -> bool:
        self.space()
        return _LOCAL.match(self.text, self.i) is not None

    def name(self) -> str:
        """A name, with its prefix where it has one."""
        self.space()
        found = _QNAME.match(self.text, self.i)
        if found is None:
            raise self.error("expected a name", self.instead())
        self.i = found.end()
        return found[0]

    def variable(self) -> str:
        self.need("$")
        return self.name()

    def number(self) -> int | float | Decimal | None:
        """A number where one comes next."""
        found = _NUMBER.match(self.text, self.i)
        if found is None:
            return None
        if _LOCAL.match(self.text, found.end()):
            raise self.error("a number runs into a name", "part them by a space")
        self.i = found.end()
        if found[2]:
            return float(found[0])
        return Decimal(found[0]) if "." in found[0] else int(found[0])

    def string(self) -> str:
        """The text between quotes, which are doubled inside."""
        begun, quote, parts = self.i, self.text[self.i], list[str]()
        self.i += 1
        while True:
            end = self.text.find(quote, self.i)
            if end < 0:
                raise self.error("a text is not closed", f"close it: {quote}", at=begun)
            parts.append(self.text[self.i : end])
            self.i = end + 1
            if not self.text.startswith(quote, self.i):
                return self.resolved("".join(parts), begun)
            parts.append(quote)
            self.i += 1

    def resolved(self, text: str, at: int) -> str:
        """``text`` with its references replaced."""
        if "&" not in text:
            return text
        rest = _REFERENCE.sub("", text)
        if "&" in rest:
            raise self.error("& begins a reference", "write &amp;", at=at)
        return _REFERENCE.sub(self._referred, text)

    def _referred(self, found: re.Match[str]) -> str:
        if found[3]:
            return _NAMED[found[3]]
        number = int(found[1], 16) if found[1] else int(found[2])
        if not (number in (9, 10, 13) or 0x20 <= number <= 0xD7FF or 0xE000 <= number <= 0x10FFFF):
            raise self.error(f"{found[0]} is no character of XML", code="XQST0090")
        return chr(number)
