"""Expressions of OQL: conditions, operators, paths and what they begin with."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from math import isinf

from nestling.frontend.oql.cursor import RESERVED, OqlCursor, begins
from nestling.frontend.oql.tokens import OqlToken
from nestling.frontend.oql.tree import (
    Among,
    Between,
    Binary,
    Cast,
    Collect,
    Constant,
    Dot,
    Index,
    Interval,
    Invoke,
    Like,
    Name,
    NewObject,
    Nil,
    Quantifier,
    Query,
    Slice,
    StructOf,
    Unary,
    Versus,
)
from nestling.frontend.schema import in_utc

#: Words that begin a collection before a parenthesis.
_COLLECTIONS = ("set", "bag", "list", "array")
#: Functions that take one query.
ONE_QUERY = frozenset((
    "count", "sum", "min", "max", "avg", "element", "flatten", "distinct", "listtoset", "first", "last", "unique",
    "exists", "is_defined", "is_undefined",
))  # fmt: skip
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class OqlExpressions(OqlCursor):
    """One function per rule; ``query`` is where a query may stand for an expression."""

    def query(self) -> Query:
        raise NotImplementedError

    # -- conditions

    def expr(self) -> Query:
        return self.chain(self.orelse, words=("or",))

    def orelse(self) -> Query:
        return self.chain(self.and_, words=("orelse",))

    def and_(self) -> Query:
        return self.chain(self.andthen, words=("and",))

    def andthen(self) -> Query:
        return self.chain(self.not_, words=("andthen",))

    def chain(
        self, part: Callable[[], Query], words: tuple[str, ...] = (), signs: tuple[str, ...] = ()
    ) -> Query:
        start, left = self.here.start, part()
        while operator := self.word(*words) or self.sign(*signs):
            left = Binary(operator, left, part(), self.since(start))
        return left

    def not_(self) -> Query:
        start = self.here.start
        if self.word("not"):
            return Unary("not", self.not_(), self.since(start))
        if self.here.is_word("for") and self.ahead(1).is_word("all"):
            self.place += 2
            return self.quantifier("for all", start)
        if self.here.is_word("exists") and self.ahead(2).is_word("in"):
            self.place += 1
            return self.quantifier("exists", start)
        return self.equality()

    def quantifier(self, kind: str, start: int) -> Query:
        name = self.name("a variable")
        self.expect_word("in", f"{kind} x in collection: condition")
        collection = self.equality()
        self.expect_sign(":", f"{kind} x in collection: condition")
        return Quantifier(kind, name, collection, self.not_(), self.since(start))

    def equality(self) -> Query:
        start, left = self.here.start, self.relational()
        while True:
            negative = self.here.is_word("not") and self.ahead(1).is_word("like", "in", "between")
            self.place += negative
            found = self.test(left, start)
            if found is None:
                return left
            left = Unary("not", found, self.since(start)) if negative else found

    def test(self, left: Query, start: int) -> Query | None:
        """What stands behind ``left``, if that is a test of it."""
        if self.word("like"):
            return Like(left, self.relational(), self.since(start))
        if self.word("in"):
            return Among(left, self.relational(), self.since(start))
        if self.word("between"):
            low = self.additive()
            self.expect_word("and", "between low and high")
            return Between(left, low, self.additive(), self.since(start))
        if self.word("is"):
            negative = self.word("not")
            if not self.word("null", "nil", "undefined"):
                raise self.error("null is expected here", "is null, is not null")
            name = "is_defined" if negative else "is_undefined"
            return Invoke(name, (left,), self.since(start))
        if operator := self.sign("=", "!=", "<>"):
            return self.compared("!=" if operator == "<>" else operator, left, self.relational, start)
        return None

    def relational(self) -> Query:
        start, left = self.here.start, self.additive()
        while operator := self.sign("<", ">", "<=", ">="):
            left = self.compared(operator, left, self.additive, start)
        return left

    def compared(self, operator: str, left: Query, right: Callable[[], Query], start: int) -> Query:
        # ``any`` may be a variable too: then an operator or the end follows it.
        if self.here.is_word("all", "any", "some") and begins(self.ahead(1)):
            which = "all" if self.word("all", "any", "some") == "all" else "any"
            return Versus(operator, which, left, right(), self.since(start))
        return Binary(operator, left, right(), self.since(start))

    # -- operators

    def additive(self) -> Query:
        return self.chain(self.multiplicative, ("union", "except"), ("+", "-", "||"))

    def multiplicative(self) -> Query:
        return self.chain(self.membership, ("mod", "intersect"), ("*", "/"))

    def membership(self) -> Query:
        start, left = self.here.start, self.unary()
        return Among(left, self.unary(), self.since(start)) if self.word("in") else left

    def unary(self) -> Query:
        start = self.here.start
        if operator := self.sign("+", "-"):
            return Unary(operator, self.unary(), self.since(start))
        if (
            self.here.is_word("abs")
            and self.ahead(1).kind in ("word", "name", "number")
            and begins(self.ahead(1))
        ):
            self.place += 1
            return Invoke("abs", (self.unary(),), self.since(start))
        if self.is_cast():
            name = self.ahead(1).text
            self.place += 3
            return Cast(name, self.unary(), self.since(start))
        return self.postfix()

    def is_cast(self) -> bool:
        """Whether ``(class) e`` stands here."""
        is_class = self.here.is_sign("(") and self.ahead(1).text in self.classes
        return is_class and self.ahead(2).is_sign(")") and begins(self.ahead(3))

    def postfix(self) -> Query:
        start, found = self.here.start, self.primary()
        while True:
            if self.sign(".", "->"):
                name = self.any_word("an attribute")
                if self.here.is_sign("("):
                    found = self.invoked(name, (found, *self.arguments()), start)
                else:
                    found = Dot(found, name, self.since(start))
            elif self.sign("["):
                found = self.subscript(found, start)
            else:
                return found

    def subscript(self, base: Query, start: int) -> Query:
        first = self.expr()
        if self.here.is_sign(","):
            raise self.error("several positions have no meaning", "write one [i], or [i:j]")
        last = self.expr() if self.sign(":") else None
        self.expect_sign("]")
        at = self.since(start)
        return Index(base, first, at) if last is None else Slice(base, first, last, at)

    def arguments(self) -> tuple[Query, ...]:
        self.expect_sign("(")
        if self.sign(")"):
            return ()
        found = self.several(self.query)
        self.expect_sign(")")
        return found

    def fields(self) -> tuple[tuple[str, Query], ...]:
        self.expect_sign("(")
        found: dict[str, Query] = {}
        while True:
            token = self.here
            label = self.any_word("a label")
            self.expect_sign(":", "struct(label: query, …)")
            if label in found:
                raise self.error(f"{label} stands twice", "rename one of them", token)
            found[label] = self.query()
            if not self.sign(","):
                break
        self.expect_sign(")")
        return tuple(found.items())

    # -- what an expression begins with

    def primary(self) -> Query:
        token, start = self.here, self.here.start
        if token.kind in ("number", "text"):
            self.place += 1
            return Constant(self.literal(token), self.since(start))
        if self.sign("("):
            found = self.query()
            self.expect_sign(")")
            return found
        if word := self.word("true", "false"):
            return Constant(word == "true", self.since(start))
        if self.word("nil", "undefined", "null"):
            return Nil(self.since(start))
        if token.is_word("date", "timestamp", "time") and self.ahead(1).kind == "text":
            return self.moment()
        is_function = token.kind == "word" and token.text.lower() not in RESERVED - {"distinct"}
        if is_function and self.ahead(1).is_sign("("):
            return self.call()
        if token.kind == "name" and self.ahead(1).is_sign("("):
            return self.invoked(self.any_word("a function"), self.arguments(), start)
        hint = "a value, a name, a path or (select …)"
        if token.kind == "word":
            hint += f"; a name that is a keyword is written `{token.text}`"
        return Name(self.name("an expression", hint), self.since(start))

    def literal(self, token: OqlToken) -> object:
        if token.kind == "number":
            value = int(token.text) if token.text.isdigit() else float(token.text)
            if isinstance(value, float) and isinf(value):
                raise self.error("this number is too large for a float", token=token)
            return value
        if token.text[0] == "'":
            return token.text[1:-1].replace("''", "'")
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), token.text[1:-1])

    def moment(self) -> Query:
        start, kind = self.here.start, self.here.text.lower()
        if kind == "time":
            raise self.error("there is no type of times", "write timestamp '…', or an int of seconds")
        self.place += 2
        written = self.literal(self.tokens[self.place - 1])
        try:
            value = (date if kind == "date" else datetime).fromisoformat(str(written))
        except ValueError:
            hint = "date '2001-01-05'" if kind == "date" else "timestamp '2001-01-05 12:30:00'"
            raise self.error(f"this is no {kind}", hint, self.tokens[self.place - 1]) from None
        if isinstance(value, datetime) and value.tzinfo is not None:
            moment = in_utc(value)
            if moment is None:
                raise self.error(
                    "this is no moment in UTC", "years are 1 to 9999", self.tokens[self.place - 1]
                )
            value = moment
        return Constant(value, self.since(start))

    def call(self) -> Query:
        start, name = self.here.start, self.any_word("a function")
        word = name.lower()
        if word == "struct":
            return StructOf(self.fields(), self.since(start))
        if word in _COLLECTIONS:
            return self.collection("list" if word == "array" else word, start)
        if self.ahead(1).is_named and self.ahead(2).is_sign(":") and word not in ONE_QUERY:
            return NewObject(name, self.fields(), self.since(start))
        if word == "count" and self.ahead(1).is_sign("*"):
            self.place += 2
            self.expect_sign(")")
            at = self.since(start)
            return Invoke("count", (Name("partition", at),), at)
        return self.invoked(name, self.arguments(), start)

    def invoked(self, name: str, args: tuple[Query, ...], start: int) -> Query:
        """A call; a function of OQL itself takes one query, and is written in small letters."""
        if name.lower() not in ONE_QUERY:
            return Invoke(name, args, self.since(start))
        if len(args) != 1:
            what = f"{name.lower()} takes one query, not {len(args)}"
            raise self.error(what, f"{name.lower()}(select …)", self.tokens[self.place - 1])
        return Invoke(name.lower(), args, self.since(start))

    def collection(self, kind: str, start: int) -> Query:
        self.expect_sign("(")
        if self.sign(")"):
            return Collect(kind, (), self.since(start))
        first = self.query()
        if kind == "list" and self.sign(".."):
            high = self.query()
            self.expect_sign(")")
            return Interval(first, high, self.since(start))
        items = [first]
        while self.sign(","):
            items.append(self.query())
        self.expect_sign(")")
        return Collect(kind, tuple(items), self.since(start))
