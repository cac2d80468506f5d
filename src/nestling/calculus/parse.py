"""Text → term; the inverse of ``show``.

Law: ``parse(show(e, width), catalog) == e`` for every checked ``e`` and every width.

A variable's type is found from what it ranges over, and every node is checked as soon as it is made, so an
error of type knows its place in the text. Whatever the text, ``QueryError`` is the only exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

import nestling.calculus.terms as t
import nestling.calculus.types as ty
from nestling.calculus.aggregates import AGGREGATES
from nestling.calculus.countwise import OPERATORS
from nestling.calculus.functions import FUNCTIONS, INFIX
from nestling.calculus.lex import LITERALS, Tokens, read_literal
from nestling.calculus.typing import check_node, dictionary_element, element_type, fold_type, term_type
from nestling.depth import room
from nestling.errors import QueryError

Catalog: TypeAlias = Mapping[str, ty.Bag]
Scope: TypeAlias = Mapping[str, t.Var | t.BagVar]
T = TypeVar("T")
N = TypeVar("N", bound=t.Node)

Dictionary: TypeAlias = t.DictLit | t.DictInput | t.DictUnion | t.DictEmpty
_TERM = "a term is x, x.f, ⟨f: t, …⟩, a literal or f(t, …)"
_BAG = "a bag is R, sng(t), [t], ∅[T], ⟨f: e × …⟩, e ⊎ e, ⊖e, f(e, …), d(t), or a for, let, fold or group"
_DICT = "a dictionary is R.path, [⟨1, x: T⟩ ↦ e], (d ∪ d) or [][T]"


def parse(text: str, catalog: Catalog, scope: Scope | None = None) -> t.Expr:
    """The expression ``text``; ``catalog`` has the types of the relations.

    The elements of a dictionary ``R.items`` are those of ``catalog["R.items"]``, else the flat ones of that
    level of ``R``.

    >>> parse("R ⊎ ∅[int]", {"R": ty.Bag(ty.INT)}).terms[0].name
    'R'
    """
    return _parse(text, _Parser.bag, catalog, scope)


def parse_dictionary(text: str, catalog: Catalog, scope: Scope | None = None) -> t.Dictionary:
    """The dictionary ``text``."""
    return _parse(text, _Parser.dictionary, catalog, scope)


def parse_term(text: str, scope: Scope | None = None) -> t.Term:
    """The term ``text`` over the variables of ``scope``."""
    return _parse(text, _Parser.term, {}, scope)


def parse_type(text: str) -> ty.Type:
    """The type ``text``; the inverse of ``show_type``."""
    return _parse(text, _Parser.type, {}, None)


def _parse(text: str, rule: Callable[[_Parser], T], catalog: Catalog, scope: Scope | None) -> T:
    parser = _Parser(text, catalog, scope or {})
    try:
        with room():
            result = rule(parser)
    except RecursionError:
        hint = "name the inner parts as views of their own"
        raise QueryError("nested too deeply", at=parser.span(parser.place), hint=hint) from None
    if parser.token.text:
        parser.unexpected("the end", "join bags with ⊎ and conditions with and; check the parentheses")
    return result


class _Parser(Tokens):
    """The rules of the grammar; ``scope`` is what the next word sees, ``spans`` where nodes stand, by id."""

    def __init__(self, text: str, catalog: Catalog, scope: Scope) -> None:
        super().__init__(text)
        self.catalog, self.scope = catalog, scope
        self.spans: dict[int, tuple[int, int]] = {}
        self.rules: dict[str, Callable[[], t.Expr | t.Dictionary]] = {
            "for": self.for_,
            "let": self.let,
            "fold": self.fold,
            "group": self.group,
            "sng": self.singleton,
            "[": self.square,
            "(": self.round,
            "@": self.reference,
            "∅": self.empty,
            "⟨": lambda: t.Product(self.fields(self.bag, "×")),
            "⊖": lambda: t.Negate(*self.read("⊖", self.operand)),
            "⊎": lambda: t.Union((*self.read("⊎", "(", self.bag, ")"),)),
            "flatten": lambda: t.Flatten(*self.read("flatten", "(", self.bag, ")")),
            "first": self.first,
            "last": self.first,
        }

    def fields(self, rule: Callable[[], T], separator: str = ",") -> tuple[tuple[str, T], ...]:
        """``⟨name: rule, …⟩``; a product of nothing is ``⟨×⟩``."""
        self.expect("⟨", "a record is ⟨f: …, …⟩")
        _ = separator == "×" and self.accept("×")
        return self.listed(lambda: (*self.read(self.name, ":", rule),), "⟩", separator)

    def made(self, node: N, first: int, place: int | None = None) -> N:
        """``node``, which stands from ``first`` up to here, if it is well typed."""
        self.spans[id(node)] = (first, self.place)
        with self.blaming(first if place is None else place, node):
            check_node(node)
        return node

    @contextmanager
    def blaming(self, place: int, node: Any = None) -> Iterator[None]:
        """Errors are the fault of a child of ``node`` if one can be found, else of the word at ``place``."""
        try:
            yield
        except QueryError as error:
            error.located(self.span(*self.spans.get(id(_culprit(node)), (place, 0))))
            raise

    @contextmanager
    def binding(self, *variables: t.Var | t.BagVar) -> Iterator[None]:
        outer = self.scope
        self.scope = {**outer, **{var.name: var for var in variables if var.name != "_"}}
        yield
        self.scope = outer

    def binder(self) -> str:
        """The name of a variable that is bound here."""
        place, name = self.place, self.word("a variable", "a keyword as a name is written `name`")
        if name in self.scope and name != "_":
            self.fail(f"{name!r} is bound twice", "rename one of the two variables", place)
        return name

    def type(self) -> ty.Type:
        if self.token.text == "⟨":
            return ty.Record(self.fields(self.type))
        if self.accept("Label"):
            return ty.LABEL
        if self.token.text not in ("Bag", "Opaque", "Dict"):
            return self.scalar()
        name, element = self.read(self.take, "(", self.type, ")")
        return ty.Dict(element) if name == "Dict" else ty.Bag(element, name == "Opaque")

    def scalar(self) -> ty.Scalar:
        place, name = self.place, self.take()
        if name not in ty.SCALARS:
            types = (*ty.SCALARS, "Label", "Bag", "Opaque", "Dict")
            self.fail(f"{name!r} is not a type", _close(name, types, "a type is ⟨f: T, …⟩ or one of"), place)
        return ty.Scalar(name, self.accept("?"))

    def term(self, level: int = 0) -> t.Term:
        """Operators of precedence ``level`` and more; they group to the left."""
        first = self.place
        left = self.path()
        while self.token.text in INFIX and (own := FUNCTIONS[self.token.text].precedence) >= level:
            place, name = self.place, self.take()
            left = self.made(t.Call(name, (left, self.term(own + 1))), first, place)
        return left

    def path(self) -> t.Term:
        first = self.place
        term = self.made(self.atom(), first)
        while self.accept("."):
            place = self.place
            term = self.made(t.Field(term, self.name()), first, place)
        return term

    def atom(self) -> t.Term:
        term: t.Term
        kind, text = self.token.kind, self.token.text
        if text == "(":
            (term,) = self.read("(", self.term, ")")
            return term
        if text == "⟨":
            return t.Tuple(self.fields(self.term))
        if self.accept("not"):
            return t.Call(text, (self.term(FUNCTIONS[text].precedence),))
        if kind in ("scalar", "bytes", "string", "number") or text in ("-", "true", "false", "null"):
            return self.constant()
        if text.startswith("inL_") and kind == "site":
            (site,) = self.read(self.site, "(")
            return t.InL(site, self.listed(self.term))
        if self.calls():
            return self.call(t.Call, FUNCTIONS, self.term)
        return self.variable()

    def site(self) -> int:
        return int(self.take().rpartition("_")[2])

    def calls(self) -> bool:
        return self.token.kind == "name" and self.tokens[self.place + 1].text == "("

    def call(self, make: Callable[[str, Any], N], known: Iterable[str], rule: Callable[[], Any]) -> N:
        """``name(rule, …)``; a name that is not ``known`` is refused before its arguments are read."""
        place, name, _ = self.place, self.take(), self.take()
        if name not in known and name in AGGREGATES:
            self.fail(f"the value of {name} needs a variable", f"write fold x := {name}(…) in …", place)
        if name not in known:
            self.made(make(name, ()), place)
        return make(name, self.listed(rule))

    def variable(self) -> t.Var:
        place, name = self.place, self.word("a term", _TERM)
        var = self.scope.get(name)
        if isinstance(var, t.Var):
            return t.Var(name, var.type)
        if var or name in self.catalog:
            self.fail(f"{name!r} is a bag, not an element", f"range over it: for x in {name} union …", place)
        elements = [name for name, var in self.scope.items() if isinstance(var, t.Var)]
        self.fail(f"{name!r} is not bound", _close(name, elements, "in scope"), place)

    def constant(self) -> t.Const:
        place, sign = self.place, "-" if self.accept("-") else ""
        if self.accept("null"):
            (type_,) = self.read("[", self.scalar, "]")
            return t.Const(None, ty.nullable(type_))
        try:
            value = read_literal(sign + self.take())
        except ValueError:
            self.fail("this is not a literal", "the negative of a term is neg(t)", place, self.place)
        own = LITERALS[type(value)]
        (type_,) = self.read("[", self.scalar, "]") if self.token.text == "[" else (own,)
        if own.name not in (type_.name, "int" if type_.name in ty.NUMERIC else ""):
            self.fail(f"a literal of type {own.name} is not a {type_.name}", "drop the type", place)
        return t.Const(value, type_)

    def bag(self) -> t.Expr:
        """Operands joined by ``⊎``."""
        return self.sum(self.place, self.operand())

    def sum(self, first: int, term: t.Expr) -> t.Expr:
        terms, place = [term], self.place
        while self.accept("⊎"):
            terms.append(self.operand())
        return terms[0] if len(terms) == 1 else self.made(t.Union(tuple(terms)), first, place)

    def operand(self) -> t.Expr:
        first, node = self.place, self.node()
        if isinstance(node, Dictionary):
            self.fail("a dictionary is not a bag", "look a label up in it: d(t)", first, self.place)
        return node

    def dictionary(self) -> t.Dictionary:
        first, node = self.place, self.node()
        if isinstance(node, Dictionary):
            return node
        self.fail("a bag is not a dictionary", _DICT, first, self.place)

    def node(self) -> t.Expr | t.Dictionary:
        first, token = self.place, self.token
        if token.text in self.rules:
            node = self.made(self.rules[token.text](), first)
        elif token.kind == "site" and token.text.startswith("sng"):
            node = self.made(self.nested(), first)
        elif self.calls():
            node = self.made(self.call(t.CountWise, OPERATORS, self.bag), first)
        else:
            node = self.made(self.reference(), first)
        if isinstance(node, Dictionary) and self.token.text == "(":
            node = self.made(t.Lookup(node, *self.read("(", self.term, ")")), first)
        return node

    def for_(self) -> t.Expr:
        name, source = self.read("for", self.binder, "in", self.bag)
        var = t.Var(name, element_type(source))
        with self.binding(var):
            if not self.accept("where"):
                return t.For(var, source, *self.read("union", self.bag))
            place = self.place
            test = self.made(t.Guard(self.term()), place)
            return t.For(var, source, t.For(t.Var("_", ty.UNIT), test, *self.read("union", self.bag)))

    def let(self) -> t.Expr:
        name, bound = self.read("let", self.binder, ":=", self.bag, "in")
        var = t.BagVar(name, ty.Bag(element_type(bound)))
        with self.binding(var):
            return t.Let(var, bound, self.bag())

    def first(self) -> t.Expr:
        limit, source = self.read(greatest := self.token.text, "(", self.constant, ",", self.bag, ")")
        return t.First(limit.value, source, greatest == "last")

    def fold(self) -> t.Expr:
        (name,), place = self.read("fold", self.binder, ":="), self.place
        aggregate, source = self.read(self.name, "(", self.bag, ")", "in")
        with self.blaming(place):
            var = t.Var(name, fold_type(aggregate, source))
        with self.binding(var):
            return t.Fold(var, aggregate, source, self.bag())

    def group(self) -> t.Expr:
        name, source, key_name = self.read("group", self.binder, "in", self.bag, "by", self.binder, ":=")
        var = t.Var(name, element_type(source))
        with self.binding(var):
            key = self.term()
        (rows_name,) = self.read("as", self.binder, "union")
        key_var, rows = t.Var(key_name, term_type(key)), t.BagVar(rows_name, ty.Bag(var.type))
        with self.binding(key_var, rows):
            return t.Group(var, source, key, key_var, rows, self.bag())

    def singleton(self) -> t.Expr:
        """``sng(t)`` or ``sng⟨f: t, g: bag_1(e), …⟩``"""
        place, _ = self.place, self.take()
        if self.token.text != "⟨":
            return t.Sing(*self.read("(", self.term, ")"))
        factors = self.fields(self.component)
        items = tuple((name, factor.element) for name, factor in factors if isinstance(factor, t.Sing))
        if len(items) < len(factors):
            return t.Product(factors)
        return t.Sing(self.made(t.Tuple(items), place))

    def component(self) -> t.Expr:
        bag = self.token.kind == "site" and self.token.text.startswith("bag")
        return self.nested() if bag else t.Sing(self.term())

    def nested(self) -> t.Expr:
        """``sng_1(e)``, in a record ``bag_1(e)``; with ``!`` opaque"""
        opaque = "!" in self.token.text
        site, body = self.read(self.site, "(", self.bag, ")")
        return t.SingBag(site, body, opaque)

    def empty(self) -> t.Expr:
        self.take()
        opaque = self.accept("!")
        (element,) = self.read("[", self.type, "]")
        return t.Empty(ty.Bag(element, opaque))

    def square(self) -> t.Expr | t.Dictionary:
        """``[t]``, ``[][T]`` or ``[⟨1, x: T, …⟩ ↦ e]``"""
        self.take()
        if self.accept("]"):
            return t.DictEmpty(*self.read("[", self.type, "]"))
        if self.token.text != "⟨" or not self.tokens[self.place + 1].text.isdigit():
            return t.Guard(*self.read(self.term, "]"))
        (site,) = self.read("⟨", self.take)
        self.accept(",")
        params = self.listed(lambda: t.Var(*self.read(self.binder, ":", self.type)), "⟩")
        with self.binding(*params):
            return t.DictLit(int(site), params, *self.read("↦", self.bag, "]"))

    def round(self) -> t.Expr | t.Dictionary:
        """``(e)`` or ``(d ∪ …)``"""
        self.take()
        first, node = self.place, self.node()
        if not isinstance(node, Dictionary):
            node = self.sum(first, node)
        elif self.accept("∪"):
            return t.DictUnion((node, *self.listed(self.dictionary, ")", "∪")))
        self.expect(")", "close with )")
        return node

    def reference(self) -> t.Expr | t.Dictionary:
        """``R``, ``ΔR``, ``X`` or ``R.path``; ``@R`` is a relation whose name a variable has taken."""
        place, plain = self.place, not self.accept("@")
        change = re.match("Δ([0-9]{0,9})", self.token.text)
        name, order = self.word("a bag", _BAG), 0
        var = self.scope.get(name)
        if plain and isinstance(var, t.BagVar) and self.token.text != ".":
            return t.BagVar(name, var.type)
        if change:
            name, order = name[change.end() :] or self.name(), int(change[1] or 1)
        if self.token.text == ".":
            return self.input(name, order, place)
        type_ = self.relation(name, place)
        return t.InputChange(name, type_, order) if order else t.Relation(name, type_)

    def relation(self, name: str, place: int) -> ty.Bag:
        if name in self.catalog:
            return self.catalog[name]
        if isinstance(self.scope.get(name), t.Var):
            hint = f"the elements of an inner bag are flatten(sng({name}.…))"
            self.fail(f"{name!r} is an element, not a bag", hint, place)
        variables = [name for name, var in self.scope.items() if isinstance(var, t.BagVar)]
        hint = _close(name, [*variables, *self.catalog], "there are")
        self.fail(f"there is no relation {name!r}", hint, place)

    def input(self, relation: str, order: int, place: int) -> t.Dictionary:
        path: ty.Path = ()
        while self.accept("."):
            path = (*path, self.take() if self.token.text == ty.ELEMENT else self.name())
        name = ty.dictionary_name(relation, path)
        if name in self.catalog:
            return t.DictInput(relation, path, self.catalog[name].element, order)
        levels = dict(ty.bag_levels(self.relation(relation, place).element))
        if path not in levels:
            names = [ty.dictionary_name(relation, level) for level in levels]
            self.fail(f"there is no dictionary {name!r}", _close(name, names, "there are"), place, self.place)
        return t.DictInput(relation, path, ty.flat_type(levels[path].element), order)


def _culprit(node: Any) -> Any:
    """The child at fault where ``node`` is ill typed, if it is one."""
    match node:
        case t.Guard(child) | t.Flatten(child) | t.Lookup(_, child) | t.Group(_, _, child):
            return child
        case t.Call(_, args):
            return next((arg for arg in args if not isinstance(term_type(arg), ty.Scalar)), None)
        case t.Union(args):
            return _odd(args, [element_type(arg) for arg in args])
        case t.CountWise(_, args):
            return _odd(args, [ty.with_opaque(element_type(arg), True) for arg in args])
        case t.DictUnion(parts):
            return _odd(parts, [dictionary_element(part) for part in parts])
    return None


def _odd(children: tuple[Any, ...], types: list[ty.Type]) -> Any:
    return next((child for child, type_ in zip(children, types, strict=True) if type_ != types[0]), None)


def _close(name: str, names: Iterable[str], otherwise: str) -> str:
    names = list(names)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{otherwise}: {', '.join(names) or 'nothing'}"
