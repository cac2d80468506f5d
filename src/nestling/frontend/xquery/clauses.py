"""FLWOR, quantified and conditional expressions: what begins with a word and has expressions inside."""

from __future__ import annotations

from abc import abstractmethod

from nestling.frontend.xquery.operators import OperatorParser
from nestling.frontend.xquery.syntax import (
    Clause,
    FlworExpr,
    ForClause,
    GroupClause,
    IfExpr,
    LetClause,
    OrderClause,
    OrderKey,
    QuantifiedExpr,
    SwitchExpr,
    Syntax,
    VariableExpr,
    WhereClause,
)

#: Constructs that begin with a word and are refused by it.
_REFUSED = {
    "typeswitch": "if (…) then … else …", "try": "write the test as a condition",
    "validate": "documents are untyped", "copy": "build the element with a constructor",
}  # fmt: skip
#: Clauses that are refused by their word.
_CLAUSES = {"window": "for $x at $i in …, compare positions", "count": "for $x at $i in …"}


class ClauseParser(OperatorParser):
    """Reads the clauses of FLWOR expressions, and conditions."""

    @abstractmethod
    def single(self) -> Syntax:
        """An expression without a comma outside parentheses."""

    def _begins(self, *words: str) -> bool:
        """Go past ``words`` where a variable follows them."""
        begun = self.i
        if self.words(*words) and self.sees("$"):
            return True
        self.i = begun
        return False

    def flwor(self) -> Syntax | None:
        at, clauses = self.i, list[Clause]()
        while found := self._clause():
            clauses += found
        if not clauses:
            return None
        for word, instead in _CLAUSES.items():
            if self.sees_words(word):
                raise self.error(f"{word} is not supported", instead)
        self.need_word("return")
        return FlworExpr(tuple(clauses), self.single(), at)

    def _clause(self) -> list[Clause]:
        self.space()
        at = self.i
        if self._begins("for"):
            return list(self._bindings(True))
        if self._begins("let"):
            found: list[Clause] = []
            while not found or self.eat(","):
                at = self.i
                name = self.variable()
                if self.words("as"):
                    self.type()
                self.need(":=")
                found.append(LetClause(name, self.single(), at))
            return found
        if self.words("where"):
            return [WhereClause(self.single(), at)]
        if self.words("group", "by"):
            return [GroupClause(self._group_keys(), at)]
        if self.words("stable", "order", "by") or self.words("order", "by"):
            return [OrderClause(self._keys(), at)]
        return []

    def _bindings(self, with_position: bool) -> list[ForClause]:
        found: list[ForClause] = []
        while not found or self.eat(","):
            self.space()
            at = self.i
            name = self.variable()
            if self.words("as"):
                self.type()
            if self.sees_words("allowing"):
                raise self.error("allowing empty is not supported", "use let and if (empty($x)) …")
            position = self.variable() if with_position and self.words("at") else None
            self.need_word("in")
            found.append(ForClause(name, position, self.single(), at))
        return found

    def _group_keys(self) -> tuple[tuple[str, Syntax], ...]:
        keys: list[tuple[str, Syntax]] = []
        while not keys or self.eat(","):
            self.space()
            at = self.i
            name = self.variable()
            if self.words("as"):
                self.type()
            keys.append((name, self.single() if self.eat(":=") else VariableExpr(name, at)))
            self._no_collation()
        return tuple(keys)

    def _no_collation(self) -> None:
        if self.sees_words("collation"):
            raise self.error("texts are compared by code points", "leave the collation out", "XQST0076")

    def _keys(self) -> tuple[OrderKey, ...]:
        keys: list[OrderKey] = []
        while not keys or self.eat(","):
            key = self.single()
            descending = self.words("descending")
            if not descending:
                self.words("ascending")
            greatest = False
            if self.words("empty"):
                greatest = self.words("greatest")
                if not greatest:
                    self.need_word("least")
            self._no_collation()
            keys.append(OrderKey(key, descending, greatest))
        return tuple(keys)

    def quantified(self) -> Syntax | None:
        at = self.i
        for word in ("some", "every"):
            if self._begins(word):
                bindings = tuple(self._bindings(False))
                self.need_word("satisfies")
                return QuantifiedExpr(word == "every", bindings, self.single(), at)
        return None

    def conditional(self) -> Syntax | None:
        at = self.i
        if self.words("if") and self.eat("("):
            test = self.expression()
            self.need(")")
            self.need_word("then")
            yes = self.single()
            self.need_word("else")
            return IfExpr(test, yes, self.single(), at)
        self.i = at
        if self.words("switch") and self.eat("("):
            return self._switch(at)
        self.i = at
        for word, instead in _REFUSED.items():
            if self.words(word) and (self.sees("(") or self.sees("{") or self.sees("$")):
                raise self.error(f"{word} is not supported", instead, at=at)
            self.i = at
        return None

    def _switch(self, at: int) -> Syntax:
        operand = self.expression()
        self.need(")")
        cases: list[tuple[tuple[Syntax, ...], Syntax]] = []
        while self.sees_words("case"):
            values: list[Syntax] = []
            while self.words("case"):
                values.append(self.single())
            self.need_word("return")
            cases.append((tuple(values), self.single()))
        if not cases:
            raise self.error("expected case", self.instead())
        self.need_word("default")
        self.need_word("return")
        return SwitchExpr(operand, tuple(cases), self.single(), at)
