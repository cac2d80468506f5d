"""Where the parser stands in the tokens of a text: taking words and signs, and saying what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from nestling.errors import QueryError
from nestling.frontend.oql.tokens import OqlToken, span, tokens
from nestling.frontend.oql.tree import Place

Part = TypeVar("Part")

#: Words that are never names of variables, of labels behind an expression, or of extents.
RESERVED = frozenset((
    "select", "distinct", "from", "in", "where", "having", "and", "or", "not", "andthen", "orelse", "for", "as", "like",
    "union", "intersect", "except", "mod", "is", "between", "asc", "desc", "define", "undefine", "true", "false", "nil",
    "undefined", "null",
))  # fmt: skip
_BEGINNING = frozenset(("select", "not", "true", "false", "nil", "null", "undefined"))


class OqlCursor:
    """The tokens of a text, the place of the next one, and the names of classes."""

    def __init__(self, text: str, classes: Collection[str]) -> None:
        self.text, self.classes = text, classes
        self.tokens, self.place = tokens(text), 0

    # -- tokens

    @property
    def here(self) -> OqlToken:
        return self.tokens[self.place]

    def ahead(self, places: int) -> OqlToken:
        return self.tokens[min(self.place + places, len(self.tokens) - 1)]

    def word(self, *words: str) -> str:
        """Take one of these keywords, if it stands here."""
        if not self.here.is_word(*words):
            return ""
        self.place += 1
        return self.tokens[self.place - 1].text.lower()

    def sign(self, *signs: str) -> str:
        """Take one of these signs, if it stands here."""
        if not self.here.is_sign(*signs):
            return ""
        self.place += 1
        return self.tokens[self.place - 1].text

    def expect_word(self, word: str, hint: str = "") -> None:
        if not self.word(word):
            raise self.error(f"{word} is expected here", hint)

    def expect_sign(self, sign: str, hint: str = "") -> None:
        if not self.sign(sign):
            raise self.error(f"{sign} is expected here", hint)

    def error(self, what: str, hint: str = "", token: OqlToken | None = None) -> QueryError:
        found = token or self.here
        if not found.text:
            what += ", and the text ends"
        return QueryError(what, at=span(self.text, (found.start, found.end)), hint=hint)

    def since(self, start: int) -> Place:
        """From ``start`` to the end of the last token."""
        return start, self.tokens[self.place - 1].end

    def is_name(self, token: OqlToken, after: OqlToken) -> bool:
        """Whether ``token``, before ``after``, may be the name of a variable."""
        if token.is_word("order", "group"):
            return not after.is_word("by")
        return token.kind == "name" or (token.kind == "word" and token.text.lower() not in RESERVED)

    def name(self, what: str = "a name", hint: str = "a keyword is a name between backquotes") -> str:
        if not self.is_name(self.here, self.ahead(1)):
            raise self.error(f"{what} is expected here", hint)
        self.place += 1
        return self.tokens[self.place - 1].text

    def any_word(self, what: str) -> str:
        """A word, be it a keyword elsewhere."""
        if not self.here.is_named:
            raise self.error(f"{what} is expected here")
        self.place += 1
        return self.tokens[self.place - 1].text

    def several(self, one: Callable[[], Part]) -> tuple[Part, ...]:
        found = [one()]
        while self.sign(","):
            found.append(one())
        return tuple(found)


def begins(token: OqlToken) -> bool:
    """Whether an expression may begin with ``token``."""
    if token.kind == "word":
        return token.text.lower() not in RESERVED - _BEGINNING
    return token.kind in ("number", "text", "name") or token.is_sign("(")
