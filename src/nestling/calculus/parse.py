"""Text → term; the inverse of ``show``.

Law: ``parse(show(e, width), catalog) == e`` for every checked ``e`` and every width.

A variable's type is found from what it ranges over, and every node is checked as soon as it is built, so
an error of type knows its place in the text. Whatever the text, ``QueryError`` is the only exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias, TypeVar

import nestling.calculus.terms as t
from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.functions import FUNCTIONS, INFIX
from nestling.calculus.lex import LITERALS, RESERVED, Tokens, unquoted
from nestling.calculus.show import brief
from nestling.calculus.types import (
    ELEMENT,
    LABEL,
    NUMERIC,
    SCALARS,
    UNIT,
    Bag,
    Dict,
    Record,
    Scalar,
    Type,
    bag_levels,
    dictionary_name,
    nullable,
    show_type,
)
from nestling.calculus.typing import check_node, dictionary_element, element_type, fold_type, term_type
from nestling.errors import QueryError

Catalog: TypeAlias = Mapping[str, Bag]
Scope: TypeAlias = Mapping[str, t.Var | t.BagVar]
T = TypeVar("T")

_TYPES = (*SCALARS, "Label", "Bag", "Opaque", "Dict")
_FORMS = {
    "for": "for x in … where … union …",
    "let": "let X := … in …",
    "fold": "fold x := sum(…) in …",
    "group": "group x in … by k := … as X union …",
}
_MAKERS: dict[str, Callable[[str], Any]] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "float": float,
}


def parse(text: str, catalog: Catalog, scope: Scope | None = None) -> t.Expr:
    """The expression ``text``; ``catalog`` has the types of the relations.

    A dictionary ``R.items`` holds the flat elements of that level of ``R``, or what ``catalog`` says of
    ``"R.items"``.

    >>> from nestling.calculus.types import INT
    >>> parse("sng(1) ⊎ R", {"R": Bag(INT)})
    Union(terms=(Sing(element=Const(value=1, type=Scalar(name='int', nullable=False))), ...
    """
    return _parse(text, _Parser.expr, catalog, scope)


def parse_dictionary(text: str, catalog: Catalog, scope: Scope | None = None) -> t.Dictionary:
    """The dictionary ``text``."""
    return _parse(text, _Parser.dictionary, catalog, scope)


def parse_term(text: str, scope: Scope | None = None) -> t.Term:
    """The term ``text`` over the variables of ``scope``."""
    return _parse(text, _Parser.term, {}, scope)


def parse_type(text: str) -> Type:
    """The type ``text``; the inverse of ``show_type``."""
    return _parse(text, _Parser.type, {}, {})


def _parse(text: str, rule: Callable[[_Parser], T], catalog: Catalog, scope: Scope | None) -> T:
    parser = _Parser(text, catalog, scope or {})
    try:
        result = rule(parser)
    except RecursionError:
        at = parser.span(parser.place)
        hint = "name the inner parts as views of their own"
        raise QueryError("the query is nested too deeply", at=at, hint=hint) from None
    if parser.token.kind != "end":
        parser.unexpected("the end", "join bags with ⊎ and conditions with and, or put parentheses")
    return result


class _Parser(Tokens):
    """One method per rule of the grammar; ``scope`` holds the variables bound around the next token."""

    def __init__(self, text: str, catalog: Catalog, scope: Scope) -> None:
        super().__init__(text)
        self.catalog, self.scope = catalog, scope

    # what all rules share

    @contextmanager
    def binding(self, *variables: t.Var | t.BagVar) -> Iterator[None]:
        outer = self.scope
        self.scope = {**outer, **{var.name: var for var in variables if var.name != "_"}}
        yield
        self.scope = outer

    def checked(self, node: T, first: int, end: int | None = None) -> T:
        """``node`` if it is well typed, else the blame on the tokens from ``first`` to ``end``."""
        try:
            check_node(node)
        except QueryError as error:
            error.located(self.span(first, end))
            raise
        return node

    def placed(self, rule: Callable[[], T]) -> tuple[T, int, int]:
        """What ``rule`` reads, and the place where it stands."""
        first = self.place
        return rule(), first, self.place

    def listed(self, rule: Callable[[], T], closing: str) -> list[T]:
        """``rule, … closing``."""
        found: list[T] = []
        while not self.at(closing):
            found.append(rule())
            if not self.accept(","):
                break
        self.expect(closing, f"separate by commas and close with {closing}")
        return found

    def between(self, opening: str, rule: Callable[[], T], closing: str) -> T:
        self.expect(opening)
        found = rule()
        self.expect(closing)
        return found

    def label(self) -> str:
        if self.token.kind not in ("name", "site", "quoted"):
            self.unexpected("the name of a field", "a name that is no word is written `name`")
        token = self.take()
        return unquoted(token.text) if token.kind == "quoted" else token.text

    def named(self, rule: Callable[[], T]) -> tuple[int, str, T]:
        """``name: rule``, with the place of the name."""
        place, name = self.place, self.label()
        self.expect(":", "a field is written name: value")
        return place, name, rule()

    def record(self, node: T, fields: Sequence[tuple[int, str, Any]], first: int) -> T:
        """``node`` with the blame for a name that stands twice on the second."""
        names = [name for _, name, _ in fields]
        repeated = [place for i, (place, name, _) in enumerate(fields) if name in names[:i]]
        return self.checked(node, *(repeated[:1] or [first]))

    def binder(self) -> str:
        """The name of a variable that is bound here."""
        if self.token.text in RESERVED or self.token.kind not in ("name", "quoted"):
            self.unexpected("the name of a variable", "a variable may not be called like a keyword")
        place, name = self.place, self.label()
        if name in self.scope and name != "_":
            self.fail(f"{name!r} is bound twice", "rename one of the two variables", place)
        return name

    # types

    def type(self) -> Type:
        if self.accept("⟨"):
            fields = self.listed(lambda: self.named(self.type), "⟩")
            return Record(tuple((name, field) for _, name, field in fields))
        place, name = self.place, self.take().text
        if name in SCALARS:
            return Scalar(name, self.accept("?"))
        if name in ("Bag", "Opaque", "Dict"):
            element = self.between("(", self.type, ")")
            return Dict(element) if name == "Dict" else Bag(element, name == "Opaque")
        if name != "Label":
            self.fail(f"there is no type {name!r}", _close(name, _TYPES, "the types are ⟨f: T, …⟩"), place)
        return LABEL

    # terms

    def term(self, level: int = 0) -> t.Term:
        """Operators of precedence ``level`` and more; they group to the left."""
        left = self.placed(self.negation if self.at("not") else self.path)
        while self.token.text in INFIX and (own := FUNCTIONS[self.token.text].precedence) >= level:
            place, name = self.place, self.take().text
            right = self.placed(lambda own=own: self.term(own + 1))  # type: ignore[misc]
            left = self.call(name, place, [left, right]), left[1], self.place
        return left[0]

    def negation(self) -> t.Term:
        place, name = self.place, self.take().text
        return self.call(name, place, [self.placed(lambda: self.term(FUNCTIONS["not"].precedence))])

    def call(self, name: str, place: int, args: Sequence[tuple[t.Term, int, int]]) -> t.Term:
        """A call, with the blame on an argument that is no scalar, or on the function."""
        node = t.Call(name, tuple(arg for arg, _, _ in args))
        wrong = [(first, end) for arg, first, end in args if not isinstance(term_type(arg), Scalar)]
        return self.checked(node, *(wrong[0] if wrong else (place,)))

    def path(self) -> t.Term:
        term = self.atom()
        while self.accept("."):
            place = self.place
            term = self.checked(t.Field(term, self.label()), place)
        return term

    def atom(self) -> t.Term:
        kind, text = self.token.kind, self.token.text
        if self.at("⟨"):
            return self.tuple_()
        if self.at("("):
            return self.between("(", self.term, ")")
        if kind == "site" and text.startswith("inL"):
            return t.InL(int(self.take().text[4:]), tuple(self.arguments(self.term)))
        follows = self.tokens[self.place + 1].text if kind == "name" else ""
        if kind in ("number", "string", "bytes") or text in ("-", "true", "false", "null"):
            return self.constant()
        if follows == "(":
            return self.constant() if text in (*_MAKERS, "timedelta") else self.function()
        return self.variable()

    def arguments(self, rule: Callable[[], T]) -> list[T]:
        self.expect("(")
        return self.listed(rule, ")")

    def tuple_(self) -> t.Tuple:
        place = self.place
        self.take()
        fields = self.listed(lambda: self.named(self.term), "⟩")
        return self.record(t.Tuple(tuple((name, term) for _, name, term in fields)), fields, place)

    def function(self) -> t.Term:
        place, name = self.place, self.take().text
        if name in AGGREGATES:
            self.fail(f"{name} is an aggregate, not a function", f"bind it: {_FORMS['fold']}", place)
        if name not in FUNCTIONS:
            self.checked(t.Call(name, ()), place)
        return self.call(name, place, self.arguments(lambda: self.placed(self.term)))

    def variable(self) -> t.Var:
        if self.token.text in RESERVED or self.token.kind not in ("name", "quoted"):
            self.unexpected("a term", "a term is x, x.field, ⟨f: t, …⟩, a literal or function(t, …)")
        place, name = self.place, self.label()
        var = self.scope.get(name)
        if isinstance(var, t.Var):
            return var
        if var or name in self.catalog:
            self.fail(f"{name!r} is a bag, not an element", f"range over it: for x in {name} union …", place)
        names = [other for other, var in self.scope.items() if isinstance(var, t.Var)]
        self.fail(f"{name!r} is not bound", _close(name, names, "in scope"), place)

    def constant(self) -> t.Const:
        place = self.place
        if self.accept("null"):
            type_ = self.between("[", self.scalar, "]")
            return t.Const(None, nullable(type_))
        try:
            value = self.value()
        except (ValueError, ArithmeticError) as error:
            self.fail(f"this literal has no value: {error}", "compare the form that show prints", place)
        natural = LITERALS[type(value)]
        type_ = self.between("[", self.scalar, "]") if self.at("[") else natural
        if type_.name != natural.name and not (natural.name == "int" and type_.name in NUMERIC):
            self.fail(f"this literal is no {type_.name}", "drop the type", place)
        return t.Const(value, type_)

    def scalar(self) -> Scalar:
        place, type_ = self.place, self.type()
        if not isinstance(type_, Scalar):
            self.fail(f"a literal is a scalar, not a {show_type(type_)}", f"one of {', '.join(SCALARS)}", place)
        return type_

    def value(self) -> Any:
        kind, text = self.token.kind, self.token.text
        if kind == "number" or text == "-":
            return self.number()
        self.take()
        if text in _MAKERS:
            return _MAKERS[text](self.between("(", self.string, ")"))
        if text == "timedelta":
            return timedelta(*self.arguments(self.number))
        if kind == "bytes":
            return unquoted(text[1:]).encode("latin-1")
        return unquoted(text) if kind == "string" else text == "true"

    def string(self) -> str:
        if self.token.kind != "string":
            self.unexpected("a string", "write the value in quotes: decimal('1.20')")
        return unquoted(self.take().text)

    def number(self) -> int | float:
        sign = -1 if self.accept("-") else 1
        if self.token.kind != "number":
            self.unexpected("a number", "the negative of a term is neg(t)")
        text = self.take().text
        return sign * (int(text) if text.isdigit() else float(text))

    # expressions

    def expr(self) -> t.Expr:
        first = self.place
        return self.bag(self.node(), first)

    def bag(self, node: t.Expr | t.Dictionary, first: int) -> t.Expr:
        if isinstance(node, t.DictLit | t.DictInput | t.DictUnion | t.DictEmpty):
            hint = f"look a label up in it: {brief(node)}(x.label)"
            raise QueryError("a dictionary stands where a bag is needed", at=self.span(first, self.place), hint=hint)
        return node

    def dictionary(self) -> t.Dictionary:
        first, node = self.place, self.node()
        if isinstance(node, t.DictLit | t.DictInput | t.DictUnion | t.DictEmpty):
            return node
        hint = "a dictionary is R.path, [⟨1, x: T⟩ ↦ e], (d ∪ d) or [][T]"
        raise QueryError("a bag stands where a dictionary is needed", at=self.span(first, self.place), hint=hint)

    def operand_bag(self) -> t.Expr:
        first = self.place
        return self.bag(self.operand(), first)
