"""Operators by their precedence, from ``or`` down to the sign before a path."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from nestling.frontend.xquery.steps import PathParser
from nestling.frontend.xquery.syntax import (
    ArithmeticExpr,
    CallExpr,
    CastExpr,
    ComparisonExpr,
    LiteralExpr,
    LogicExpr,
    NodeSetExpr,
    RangeExpr,
    Syntax,
)

_GENERAL = ("!=", "<=", ">=", "=", "<", ">")
_VALUE = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ATOMIC = (
    "string",
    "integer",
    "int",
    "decimal",
    "double",
    "float",
    "boolean",
    "date",
    "dateTime",
    "untypedAtomic",
    "anyAtomicType",
)


class OperatorParser(PathParser):
    """Reads operators and their operands."""

    @abstractmethod
    def type(self) -> str | None:
        """A sequence type; its name where it is an atomic one."""

    def _left(self, operand: Callable[[], Syntax], words: tuple[str, ...], node: Any) -> Syntax:
        found = operand()
        while True:
            self.space()
            at = self.i
            word = next((word for word in words if self.words(word)), None)
            if word is None:
                return found
            found = node(word, found, operand(), at)

    def operators(self) -> Syntax:
        return self._left(self._and, ("or",), LogicExpr)

    def _and(self) -> Syntax:
        return self._left(self._comparison, ("and",), LogicExpr)

    def _comparison(self) -> Syntax:
        left = self._range()
        self.space()
        at = self.i
        for sign in ("<<", ">>"):
            if self.eat(sign):
                return ComparisonExpr(sign, "node", left, self._range(), at)
        for sign in _GENERAL:
            if self.eat(sign):
                return ComparisonExpr(sign, "general", left, self._range(), at)
        for word, sign in _VALUE.items():
            if self.words(word):
                return ComparisonExpr(sign, "value", left, self._range(), at)
        if self.words("is"):
            return ComparisonExpr("is", "node", left, self._range(), at)
        return left

    def _range(self) -> Syntax:
        first = self._additive()
        at = self.i
        return RangeExpr(first, self._additive(), at) if self.words("to") else first

    def _additive(self) -> Syntax:
        found = self._multiplicative()
        while True:
            self.space()
            at = self.i
            if self.eat("||"):
                found = CallExpr("concat", (found, self._multiplicative()), at)
            elif self.eat("+"):
                found = ArithmeticExpr("+", found, self._multiplicative(), at)
            elif self.eat("-"):
                found = ArithmeticExpr("-", found, self._multiplicative(), at)
            else:
                return found

    def _multiplicative(self) -> Syntax:
        found = self._union()
        while True:
            self.space()
            at = self.i
            if self.eat("*"):
                found = ArithmeticExpr("*", found, self._union(), at)
                continue
            word = next((word for word in ("div", "idiv", "mod") if self.words(word)), None)
            if word is None:
                return found
            found = ArithmeticExpr(word, found, self._union(), at)

    def _union(self) -> Syntax:
        found = self._intersect()
        while True:
            self.space()
            at = self.i
            if self.words("union") or (not self.sees("||") and self.eat("|")):
                found = NodeSetExpr("union", found, self._intersect(), at)
            else:
                return found

    def _intersect(self) -> Syntax:
        return self._left(self._cast, ("intersect", "except"), NodeSetExpr)

    def _cast(self) -> Syntax:
        found = self._unary()
        for words in (("instance", "of"), ("treat", "as"), ("castable", "as")):
            if self.sees_words(*words):
                raise self.error(f"{' '.join(words)} is not supported", "documents are untyped")
        at = self.i
        if self.words("cast", "as"):
            return CastExpr(self.atomic(self.type() or "", at), found, at)
        return found

    def atomic(self, type_: str, at: int) -> str:
        if type_.removeprefix("xs:") not in _ATOMIC:
            raise self.error(
                f"the type {type_ or 'here'} is not supported", "xs:double, xs:decimal, …", at=at
            )
        return type_

    def _unary(self) -> Syntax:
        self.space()
        at = self.i
        if self.eat("-"):
            return ArithmeticExpr("-", LiteralExpr(0, at), self._unary(), at)
        if self.eat("+"):
            return self._unary()
        return self.path()
