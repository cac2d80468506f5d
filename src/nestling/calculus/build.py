"""Smart constructors: build and keep the normal form.

Small letters normalise: unions are flat and without ``∅``, ``∅`` absorbs products and loops, ``⊖⊖e = e``.
Emptiness propagation is not an optimisation: without it a delta keeps the degree of its query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    Dictionary,
    DictUnion,
    Empty,
    Expr,
    Field,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    Let,
    Lookup,
    Negate,
    Product,
    Sing,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.traverse import Names, binders, free_vars, substitute, walk
from nestling.calculus.types import BOOL, INT, STR, UNIT, Bag, Record, Scalar, Type
from nestling.calculus.typing import element_type, fold_type, term_type
from nestling.errors import Span

#: A longer conjunction is a balanced tree.
FEW = 16
TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


def empty(element: Type) -> Empty:
    """``∅`` of elements of type ``element``."""
    return Empty(Bag(element))


def union(element: Type, *terms: Expr) -> Expr:
    """``terms`` added up: flat, without ``∅``, a lone term standing for itself."""
    flat: list[Expr] = []
    for term in terms:
        match term:
            case Empty():
                pass
            case Union(inner):
                flat.extend(inner)
            case _:
                flat.append(term)
    if len(flat) == 1:
        return flat[0]
    return Union(tuple(flat)) if flat else empty(element)


def negate(body: Expr) -> Expr:
    """``⊖body`` with ``⊖⊖e = e`` and ``⊖∅ = ∅``."""
    match body:
        case Empty():
            return body
        case Negate(inner):
            return inner
        case _:
            return Negate(body)


def for_(var: Var, source: Expr, body: Expr) -> Expr:
    """``for var in source union body``; ``∅`` on either side absorbs."""
    if isinstance(source, Empty) or isinstance(body, Empty):
        return empty(element_type(body))
    return For(var, source, body)


def where(test: Term, body: Expr) -> Expr:
    """``for _ in [test] union body``; ``_`` is never used and may be bound many times."""
    return for_(Var("_", UNIT), Guard(test), body)


def product(factors: Sequence[tuple[str, Expr]]) -> Expr:
    """``⟨f: e × …⟩``; ``∅`` absorbs, and singletons of terms are one singleton of a record."""
    if any(isinstance(factor, Empty) for _, factor in factors):
        return empty(element_type(Product(tuple(factors))))
    if all(isinstance(factor, Sing) for _, factor in factors):
        return Sing(Tuple(tuple((name, f.element) for name, f in factors if isinstance(f, Sing))))
    return Product(tuple(factors))


def flatten(body: Expr) -> Expr:
    """``flatten(body)``; ``∅`` absorbs."""
    if isinstance(body, Empty):
        return empty(element_type(Flatten(body)))
    return Flatten(body)


def elements(term: Term) -> Expr:
    """The bag that ``term`` denotes, as an expression."""
    return Flatten(Sing(term))


def let(var: BagVar, bound: Expr, body: Expr) -> Expr:
    """``let var := bound in body``, without the binding where ``body`` does not use it."""
    return Let(var, bound, body) if var.name in free_vars(body) else body


def countwise(operator: str, *args: Expr) -> Expr:
    """``operator(args)``; of ``∅`` alone it is ``∅``, since f(0, …, 0) = 0."""
    node = CountWise(operator, args)
    if all(isinstance(arg, Empty) for arg in args):
        return empty(element_type(node))
    if operator == "restrict" and isinstance(args[-1], Empty):
        return empty(element_type(node))
    return node


def first(limit: int, source: Expr, greatest: bool = False) -> Expr:
    """``first(limit, source)``; of ``∅``, and where nothing is taken, ``∅``."""
    if isinstance(source, Empty) or not limit:
        return empty(element_type(source))
    return First(limit, source, greatest)


def fold(name: str, aggregate: str, source: Expr, body: Expr, at: Span | None = None) -> Expr:
    """``fold name := aggregate(source) in body``; ``∅`` absorbs."""
    if isinstance(body, Empty):
        return body
    return Fold(Var(name, fold_type(aggregate, source), at), aggregate, source, body)


def lookup(dictionary: Dictionary, label: Term) -> Expr:
    """``dictionary(label)``; nothing is found in ``[]``."""
    if isinstance(dictionary, DictEmpty):
        return empty(dictionary.element)
    return Lookup(dictionary, label)


def dict_union(element: Type, parts: Iterable[Dictionary]) -> Dictionary:
    """``parts`` joined: flat, without ``[]``, each definition once."""
    flat: list[Dictionary] = []
    for part in parts:
        for inner in part.parts if isinstance(part, DictUnion) else (part,):
            if not isinstance(inner, DictEmpty) and inner not in flat:
                flat.append(inner)
    if len(flat) == 1:
        return flat[0]
    return DictUnion(tuple(flat)) if flat else DictEmpty(element)


def nonempty(expr: Expr, names: Names) -> Expr:
    """``{⟨⟩}`` where ``expr`` has an element, else ``∅``: support counts cannot cancel."""
    var = Var(names.fresh("s"), element_type(CountWise("exists", (expr,))))
    return countwise("exists", for_(var, countwise("exists", expr), Sing(Tuple(()))))


def is_empty(expr: Expr, names: Names) -> Expr:
    """``e = ∅`` as a guard: ``fold n := count(exists(e)) in [n == 0]``."""
    return _none(countwise("exists", expr), names)


def equal(left: Expr, right: Expr, names: Names) -> Expr:
    """``e₁ = e₂`` as a guard: no element whose multiplicities differ."""
    return _none(countwise("differ", left, right), names)


def included(left: Expr, right: Expr, names: Names) -> Expr:
    """``e₁ ⊆ e₂`` as a guard: no element of greater multiplicity on the left."""
    return _none(countwise("exceed", left, right), names)


def _none(violations: Expr, names: Names) -> Expr:
    if isinstance(violations, Empty):
        return Guard(TRUE)
    name = names.fresh("n")
    return fold(name, "count", violations, Guard(call("==", Var(name, INT), const(0))))


def ungroup(group: Group, names: Names) -> Expr:
    """What ``group`` abbreviates, with the key compared field by field.

    Law: ``evaluate(group) = evaluate(ungroup(group))``.
    """
    copy = replace(group.var, name=names.fresh(group.var.name))
    key_var, body = group.key_var, group.body
    if any(key_var.name == var.name for node in walk(group.source) for var in binders(node)):
        # The source is repeated below the key, which it must not bind again.
        key_var = replace(key_var, name=names.fresh(key_var.name))
        body = substitute(body, {group.key_var.name: key_var})
    keys = countwise("exists", for_(group.var, group.source, Sing(group.key)))
    same = equal_terms(substitute(group.key, {group.var.name: copy}), key_var)
    rows = for_(copy, group.source, where(same, Sing(copy)))
    return for_(key_var, keys, let(group.rows, rows, body))


def equal_terms(left: Term, right: Term) -> Term:
    """Equality of two terms of one TBase, as a condition on scalars."""
    tests = [call("==", a, b) for a, b in zip(leaves(left), leaves(right), strict=True)]
    return conjunction(tests)


def leaves(term: Term) -> list[Term]:
    """The scalar (and label and bag) components of a term, left to right."""
    match term, term_type(term):
        case Tuple(items), _:
            return [leaf for _, item in items for leaf in leaves(item)]
        case _, Record(fields):
            return [leaf for name, _ in fields for leaf in leaves(Field(term, name))]
        case _:
            return [term]


def conjunction(tests: Sequence[Term]) -> Term:
    """``t₁ and … and tₙ``; true of none."""
    if not tests:
        return TRUE
    if len(tests) > FEW:
        return balanced("and", tests)
    result = tests[0]
    for test in tests[1:]:
        result = call("and", result, test)
    return result


def balanced(function: str, terms: Sequence[Term]) -> Term:
    """``terms``, one or more, joined by an associative function: a long list must not become a deep term."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return call(function, balanced(function, terms[:half]), balanced(function, terms[half:]))


def call(function: str, *args: Term) -> Call:
    """``function(args)``."""
    return Call(function, args)


def const(value: bool | int | str) -> Const:
    """A literal of one of the types Python writes plainly."""
    types: dict[type, Scalar] = {bool: BOOL, int: INT, str: STR}
    return Const(value, types[type(value)])
