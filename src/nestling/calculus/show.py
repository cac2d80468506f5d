"""Term → document → text.

Law: ``parse(show(e, width), catalog) == e`` for every checked ``e`` and every width.

``for``, ``let``, ``fold`` and ``group`` reach as far right as they can, so they stand in parentheses where
something follows. A chain of them is set flush; only what the last one yields is indented.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias, assert_never

import nestling.calculus.terms as t
from nestling.calculus.functions import FUNCTIONS, INFIX
from nestling.calculus.layout import LINE, Doc, bracket, group, nest, render
from nestling.calculus.lex import LITERALS, label, literal, quoted, word
from nestling.calculus.traverse import binders, walk
from nestling.calculus.types import ELEMENT, UNIT, Bag, Dict, LabelType, Record, Scalar, Type, show_type
from nestling.values.update import change_name

Binder: TypeAlias = t.Let | t.For | t.Fold | t.Group
Call: TypeAlias = t.Sing | t.SingBag | t.Flatten | t.CountWise | t.First | t.Guard | t.Lookup

#: What may stand without parentheses: anything, all but binders, neither binders nor unions.
OPEN, DELIMITED, OPERAND = 0, 1, 2
ATOM = 1 + max(function.precedence for function in FUNCTIONS.values())


def show(node: t.Node, width: int = 88) -> str:
    """``node`` in the concrete syntax, in lines of at most ``width`` columns where that can be.

    >>> from nestling.calculus.types import INT, record
    >>> x = t.Var("x", record(a=INT))
    >>> show(t.For(x, t.Relation("R", Bag(x.type)), t.Sing(t.Field(x, "a"))))
    'for x in R union sng(x.a)'
    """
    match node:
        case t.Var() | t.Field() | t.Tuple() | t.Const() | t.Call() | t.InL():
            return render(_term(node), width)
        case t.DictLit() | t.DictInput() | t.DictUnion() | t.DictEmpty():
            return render(_Writer(node).dictionary(node), width)
        case _:
            return render(_Writer(node).expr(node), width)


def brief(node: t.Node, width: int = 40) -> str:
    """``node`` in one line, cut after ``width`` characters."""
    text = show(_top(node, width // _LEAST), 10**9)
    return text if len(text) <= width else text[: width - 1] + "…"


#: A binder takes as many characters before its body, at the least: ``for x in R union``.
_LEAST = 8


def _top(node: t.Node, binders: int) -> t.Node:
    """``node`` without what stands behind so many binders inside one another."""
    if not isinstance(node, Binder):
        return node
    body = _top(node.body, binders - 1) if binders else t.Empty(Bag(UNIT))
    return node if body is node.body else replace(node, body=body)  # type: ignore[arg-type]


def _term(term: t.Term, level: int = 0) -> Doc:
    """``term`` where operators of precedence below ``level`` need parentheses."""
    match term:
        case t.Var(name):
            return word(name)
        case t.Field(record, name):
            return (_term(record, ATOM), f".{label(name)}")
        case t.Tuple(items):
            return bracket("⟨", [_named(name, _term(item)) for name, item in items], "⟩")
        case t.Const():
            return _const(term, level)
        case t.Call(function, args):
            return _call(function, args, level)
        case t.InL(site, args):
            return bracket(f"inL_{site}(", [_term(arg) for arg in args], ")")
        case _:
            assert_never(term)


def _named(name: str, doc: Doc) -> Doc:
    return (f"{label(name)}: ", doc)


def _call(function: str, args: tuple[t.Term, ...], level: int) -> Doc:
    match args:
        case (arg,) if function == "not":
            doc: Doc = ("not ", _term(arg, FUNCTIONS["not"].precedence))
        case (left, right) if function in INFIX:
            doc = group(_chain(function, left, right))
        case _:
            return bracket(f"{function}(", [_term(arg) for arg in args], ")")
    return doc if FUNCTIONS[function].precedence >= level else bracket("(", [doc], ")")


def _chain(function: str, left: t.Term, right: t.Term) -> Doc:
    """``left function right``; operators of one precedence are broken together."""
    own = FUNCTIONS[function].precedence
    match left:
        case t.Call(inner, (a, b)) if inner in INFIX and FUNCTIONS[inner].precedence == own:
            first = _chain(inner, a, b)
        case _:
            first = _term(left, own)
    return (first, nest(LINE, f"{function} ", _term(right, own + 1)))


def _const(const: t.Const, level: int) -> str:
    if const.value is None:
        return f"null[{const.type.name}]"
    text = literal(const.value)
    if LITERALS.get(type(const.value)) != const.type:
        text += f"[{show_type(const.type)}]"
    # A minus sign belongs to its literal where it cannot be an operator: x == -1, but x - (-1).
    return f"({text})" if text.startswith("-") and level > FUNCTIONS["=="].precedence else text


def _type(type_: Type) -> Doc:
    match type_:
        case Record(fields):
            return bracket("⟨", [_named(name, _type(field)) for name, field in fields], "⟩")
        case Bag(element, opaque):
            return bracket("Opaque(" if opaque else "Bag(", [_type(element)], ")")
        case Dict(element):
            return bracket("Dict(", [_type(element)], ")")
        case Scalar() | LabelType():
            return show_type(type_)
        case _:
            assert_never(type_)


def _input(name: str, order: int) -> str:
    if order:
        return change_name(label(name), order)
    return quoted(name) if name.startswith("Δ") else word(name)


class _Writer:
    """Expressions to documents, knowing which names variables have taken from relations."""

    def __init__(self, root: t.Expr | t.Dictionary) -> None:
        nodes = list(walk(root))
        variables = [*nodes, *(var for node in nodes for var in binders(node))]
        self.taken = {var.name for var in variables if isinstance(var, t.BagVar)}

    def expr(self, expr: t.Expr, level: int = OPEN) -> Doc:
        """``expr`` with parentheses if ``level`` asks for them."""
        several = isinstance(expr, t.Union) and len(expr.terms) > 1
        if level > (OPEN if isinstance(expr, Binder) else DELIMITED if several else OPERAND):
            return bracket("(", [self.expr(expr)], ")")
        match expr:
            case t.Let() | t.For() | t.Fold() | t.Group():
                return group(self.binder(expr))
            case t.Relation() | t.InputChange() | t.BagVar() | t.Empty():
                return self.leaf(expr)
            case t.Sing() | t.SingBag() | t.Flatten() | t.CountWise() | t.First() | t.Guard() | t.Lookup():
                return self.call(expr)
            case t.Product(factors):
                return self.product(factors)
            case t.Union(terms):
                return self.union(terms, level)
            case t.Negate(body):
                return ("⊖", self.expr(body, OPERAND))
            case _:
                assert_never(expr)

    def leaf(self, expr: t.Relation | t.InputChange | t.BagVar | t.Empty) -> Doc:
        match expr:
            case t.Relation(name):
                return ("@" if name in self.taken else "") + _input(name, 0)
            case t.InputChange(name, _, order):
                return ("@" if change_name(name, order) in self.taken else "") + _input(name, order)
            case t.BagVar(name):
                return word(name)
            case t.Empty(Bag(element, opaque)):
                return bracket("∅![" if opaque else "∅[", [_type(element)], "]")
            case _:
                assert_never(expr)

    def call(self, expr: Call) -> Doc:
        match expr:
            case t.Sing(element):
                record = isinstance(element, t.Tuple)
                return ("sng", _term(element)) if record else bracket("sng(", [_term(element)], ")")
            case t.SingBag():
                return self.nested("sng", expr)
            case t.Flatten(body):
                return bracket("flatten(", [self.expr(body)], ")")
            case t.CountWise(operator, args):
                return bracket(f"{operator}(", [self.expr(arg) for arg in args], ")")
            case t.First(limit, source, greatest):
                return bracket("last(" if greatest else "first(", [str(limit), self.expr(source)], ")")
            case t.Guard(test):
                return bracket("[", [_term(test)], "]")
            case t.Lookup(dictionary, key):
                return (self.dictionary(dictionary), bracket("(", [_term(key)], ")"))
            case _:
                assert_never(expr)

    def nested(self, name: str, expr: t.SingBag) -> Doc:
        return bracket(f"{name}{'!' * expr.opaque}_{expr.site}(", [self.expr(expr.body)], ")")

    def product(self, factors: tuple[tuple[str, t.Expr], ...]) -> Doc:
        single = [(name, factor) for name, factor in factors if isinstance(factor, t.Sing | t.SingBag)]
        if len(single) < len(factors) or all(isinstance(factor, t.Sing) for _, factor in single):
            docs = [_named(name, self.delimited(factor)) for name, factor in factors]
            return bracket("⟨", docs, _closing(docs, "×", "⟩"), " ×")
        docs = [
            _named(name, _term(f.element) if isinstance(f, t.Sing) else self.nested("bag", f))
            for name, f in single
        ]
        return bracket("sng⟨", docs, "⟩")

    def union(self, terms: tuple[t.Expr, ...], level: int) -> Doc:
        if len(terms) < 2:
            return bracket("⊎(", [self.expr(term) for term in terms], ")")
        ends_open = level == OPEN and isinstance(terms[-1], Binder)
        docs = [self.expr(term, OPERAND) for term in (terms[:-1] if ends_open else terms)]
        if ends_open:
            docs.append(nest(self.expr(terms[-1])))
        return group(docs[0], *((LINE, "⊎ ", doc) for doc in docs[1:]))

    def delimited(self, expr: t.Expr) -> Doc:
        """``expr`` where a word or symbol that is no operator follows."""
        doc = self.expr(expr, DELIMITED)
        return nest(doc) if isinstance(expr, t.Union) else doc

    def binder(self, expr: Binder) -> Doc:
        head, body = self.head(expr)
        if isinstance(body, Binder):
            return (head, LINE, self.binder(body))
        return (head, nest(LINE, self.expr(body)))

    def head(self, expr: Binder) -> tuple[Doc, t.Expr]:
        """What stands before the body of a binder, and the body."""
        name = word(expr.var.name)
        match expr:
            case t.For(_, source, t.For(t.Var("_", Record(())), t.Guard(test), body)):
                where = nest(LINE, "where ", _term(test))
                return group(f"for {name} in ", self.delimited(source), where, LINE, "union"), body
            case t.For(_, source, body):
                return (f"for {name} in ", self.delimited(source), " union"), body
            case t.Let(_, bound, body):
                return (f"let {name} := ", self.delimited(bound), " in"), body
            case t.Fold(_, aggregate, source, body):
                return (f"fold {name} := ", bracket(f"{aggregate}(", [self.expr(source)], ")"), " in"), body
            case t.Group(_, source, key, key_var, rows, body):
                by = nest(LINE, f"by {word(key_var.name)} := ", _term(key), f" as {word(rows.name)}")
                return group(f"group {name} in ", self.delimited(source), by, LINE, "union"), body
            case _:
                assert_never(expr)

    def dictionary(self, dictionary: t.Dictionary) -> Doc:
        match dictionary:
            case t.DictLit(site, params, body):
                names: list[Doc] = [str(site)]
                names += [(f"{word(var.name)}: ", _type(var.type)) for var in params]
                return group("[", bracket("⟨", names, "⟩"), " ↦", nest(LINE, self.expr(body)), "]")
            case t.DictInput(relation, path, _, order):
                steps = [step if step == ELEMENT else label(step) for step in path]
                return ".".join((_input(relation, order), *steps))
            case t.DictUnion(parts):
                docs = [self.dictionary(part) for part in parts]
                return bracket("(", docs, _closing(docs, "∪", ")"), " ∪")
            case t.DictEmpty(element):
                return bracket("[][", [_type(element)], "]")
            case _:
                assert_never(dictionary)


def _closing(docs: list[Doc], operator: str, closing: str) -> str:
    """``closing``, after the operator where none stands between ``docs``."""
    return {0: operator, 1: f" {operator}"}.get(len(docs), "") + closing
