"""The update language of Foster, Konuru, Siméon and Villard (2008, figure 3), as text.

    u  ::= UNop | UDel | UIns(e) | URepl(e) | UNode(None, u) | UNode(name, u) | USeq[(i, u), …]

An update acts on a sequence of nodes: that of a document is its root element, that inside a node its child elements.
``e`` is an XQuery expression. ``UIns`` inserts before the sequence, ``USeq`` updates its items by their positions,
counted from 1 before the update; the position behind the last takes an insertion. The paper's ``UTup`` and ``UTab``
act on tables, which no document has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nestling.depth import room
from nestling.errors import QueryError, shown
from nestling.frontend.xquery.parse import Parser
from nestling.frontend.xquery.syntax import ModuleSyntax, SequenceExpr, Syntax


@dataclass(frozen=True, slots=True)
class UNop:
    """``UNop``: all stays."""

    at: int


@dataclass(frozen=True, slots=True)
class UDel:
    """``UDel``: the nodes go."""

    at: int


@dataclass(frozen=True, slots=True)
class UIns:
    """``UIns(e)``: the nodes of ``e`` come before them."""

    source: Syntax
    at: int


@dataclass(frozen=True, slots=True)
class URepl:
    """``URepl(e)``: the nodes of ``e`` come in their place."""

    source: Syntax
    at: int


@dataclass(frozen=True, slots=True)
class UNode:
    """``UNode(name, u)``: the one node gets a name, if one is given, and ``u`` updates its child elements."""

    name: str | None
    inner: PaperUpdate
    at: int


@dataclass(frozen=True, slots=True)
class USeq:
    """``USeq[(i, u), …]``: ``u`` updates the i-th node."""

    items: tuple[tuple[int, PaperUpdate], ...]
    at: int


PaperUpdate: TypeAlias = UNop | UDel | UIns | URepl | UNode | USeq
_WORDS = "UNop, UDel, UIns(…), URepl(…), UNode(None, …), USeq[(1, …)]"


def parse_paper_update(text: object) -> tuple[ModuleSyntax, PaperUpdate]:
    """An update, and the text that it stands in; ``QueryError`` with line, caret and advice.

    >>> parse_paper_update("USeq[(1, UNode(None, UDel))]")[1]
    USeq(items=((1, UNode(name=None, inner=UDel(at=21), at=9)),), at=0)
    """
    if not isinstance(text, str):
        raise QueryError(f"an update is a text, not {shown(text)}", hint=_WORDS)
    with room():
        return _PaperParser(text).whole()


class _PaperParser(Parser):
    def whole(self) -> tuple[ModuleSyntax, PaperUpdate]:
        found = self._paper_update()
        self.space()
        if self.i < len(self.text):
            raise self.error("the text goes on after the update", self.instead())
        return ModuleSyntax(self.text, {}, (), SequenceExpr((), 0)), found

    def _paper_update(self) -> PaperUpdate:
        self.space()
        at = self.i
        with self.deeper():
            if self.words("UNop"):
                return UNop(at)
            if self.words("UDel"):
                return UDel(at)
            for word, made in (("UIns", UIns), ("URepl", URepl)):
                if self.words(word):
                    return made(self._argument(), at)
            if self.words("UNode"):
                return self._node(at)
            if self.words("USeq"):
                return self._sequence(at)
        for word in ("UTup", "UTab"):
            if self.words(word):
                raise self.error(f"{word} acts on tables, and a document has none", "USeq[…]", at=at)
        raise self.error("expected an update", _WORDS, at=at)

    def _argument(self) -> Syntax:
        self.need("(")
        found = self.expression()
        self.need(")")
        return found

    def _node(self, at: int) -> UNode:
        self.need("(")
        name = None if self.words("None") else self.name()
        self.need(",")
        inner = self._paper_update()
        self.need(")")
        return UNode(name, inner, at)

    def _sequence(self, at: int) -> USeq:
        items: list[tuple[int, PaperUpdate]] = []
        self.need("[")
        while not items or self.eat(","):
            self.need("(")
            self.space()
            place, number = self.i, self.number()
            if not isinstance(number, int) or number < 1:
                raise self.error("expected a position: a whole number from 1 on", at=place)
            self.need(",")
            items.append((number, self._paper_update()))
            self.need(")")
        self.need("]")
        return USeq(tuple(items), at)
