"""What is known not to be ``None`` where a test holds, and terms that make use of it.

``sum(i.qty for i in items if i.qty is not None)`` adds up ints: the type of a nullable column loses its null
where the test has looked. Terms are pure, so what is known of a term is known of every copy of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nestling.calculus.build import FALSE, call
from nestling.calculus.functions import FUNCTIONS
from nestling.calculus.terms import Call, Const, Field, Term, Var
from nestling.calculus.traverse import map_children
from nestling.calculus.types import Scalar
from nestling.calculus.typing import term_type
from nestling.frontend.values import One, Row, Value, default

_FLIPPED = {"==": "!=", "!=": "=="}
NOTHING: frozenset[Term] = frozenset()


def is_nullable(term: Term) -> bool:
    """Whether ``term`` may be null."""
    type_ = term_type(term)
    return isinstance(type_, Scalar) and type_.nullable


def negated(test: Term) -> Term:
    """``not test``, pushed into an equality."""
    match test:
        case Call("not", (inner,)):
            return inner
        case Call("==" | "!=" as name, args):
            return Call(_FLIPPED[name], args)
        case Const(bool(value)):
            return Const(not value, test.type)
    return call("not", test)


def facts(test: Term, holds: bool = True) -> frozenset[Term]:
    """The terms that are not null where ``test`` is true, or where it is false."""
    match test:
        case Call("not", (inner,)):
            return facts(inner, not holds)
        case Call("and" | "or" as name, (left, right)):
            one, two = facts(left, holds), facts(right, holds)
            return one | two if (name == "and") == holds else one & two
        case Call("is_null", (term,)):
            return NOTHING if holds else frozenset({term})
        case Call("==" | "!=") if not holds:
            return facts(negated(test))
    return _facts_of_truth(test) if holds else NOTHING


def _facts_of_truth(test: Term) -> frozenset[Term]:
    match test:
        case Call("coalesce", (inner, other)) if other == FALSE:
            return facts(inner) | _strict_parts(inner)
        case Call("!=", (Call("coalesce", (inner, value)), other)) if value == other:
            return _strict_parts(inner)
        case Call("==", (left, right)):
            one = NOTHING if is_nullable(right) else _strict_parts(left)
            return one if is_nullable(left) else one | _strict_parts(right)
    return _strict_parts(test)


def _strict_parts(term: Term) -> frozenset[Term]:
    """``term`` and what must not be null so that it is not."""
    match term:
        case Call(name, args) if FUNCTIONS[name].strict:
            return frozenset({term}).union(*map(_strict_parts, args))
        case Var() | Field():
            return frozenset({term})
    return NOTHING


def narrowed(value: Value, known: frozenset[Term]) -> Value:
    """``value`` with the terms that are ``known`` not to be null typed so."""
    if not known:
        return value
    match value:
        case One(term):
            return One(narrowed_term(term, known))
        case Row(fields):
            return replace(value, fields=tuple((name, narrowed(field, known)) for name, field in fields))
    return value


def narrowed_term(term: Term, known: frozenset[Term]) -> Any:
    """``term`` with a stand-in for the null that its known parts never have."""
    type_ = term_type(term)
    if term in known and isinstance(type_, Scalar) and type_.nullable:
        return call("coalesce", term, default(type_))
    match term:
        case Call("is_null" | "coalesce"):
            return term
        case Call():
            return map_children(term, lambda child: narrowed_term(child, known))
    return term
