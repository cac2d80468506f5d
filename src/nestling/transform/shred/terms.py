"""Shredding of queries: ``e`` to a flat part ``e^F`` and a context ``e^Γ``.

Law (6): ``evaluate(nest(shred(e)), shredded db) = evaluate(e, nested db)`` for all consistent flags. With
the flags of ``infer_flags`` no singleton of the result depends on the input: every part has a delta that
costs what its change is worth.

A shredded ``sng_ι(e)`` becomes the label ``inL_ι(ε)`` and the definition ``[⟨ι, ε⟩ ↦ e^F]``. The environment
ε is what ``e^F`` uses of its free variables and no more: a smaller environment is shared by more rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from nestling.calculus.build import elements, fold, for_, lookup, negate, product, union
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictLit,
    Empty,
    Expr,
    Field,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InL,
    InputChange,
    Let,
    Lookup,
    Negate,
    Product,
    Relation,
    Sing,
    SingBag,
    Term,
    Tuple,
    Union,
    Var,
)
from nestling.calculus.traverse import Names, map_children, scopes, walk
from nestling.calculus.types import UNIT, Bag, Record, Type, flat_type
from nestling.calculus.typing import element_type, term_type
from nestling.transform.shred.context import (
    NONE,
    BagContext,
    Context,
    RecordContext,
    dictionaries,
    empty_context,
    input_context,
    join,
)
from nestling.transform.shred.nest import has_labels, nest


@dataclass(frozen=True, slots=True)
class Shredded:
    """``e^F``, ``e^Γ`` and the element type of ``e``."""

    flat: Expr
    context: Context
    element: Type


Scope: TypeAlias = Mapping[str, tuple[Var, Context]]


def shred(expr: Expr) -> Shredded:
    """The flat part and the dictionaries of ``expr``, a normal form whose types carry their flags.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> catalog = {"R": parse_type("Bag(int)")}
    >>> shredded = shred(parse("for x in R union sng_1(for y in R where x < y union sng(y))", catalog))
    >>> print(show(shredded.flat))
    for x in R union sng(inL_1(x))
    >>> print(show(shredded.context.dictionary))
    [⟨1, x1: int⟩ ↦ for y in R where x1 < y union sng(y)]
    """
    flat, context = _Shred(expr).of(expr, {})
    return Shredded(flat, context, element_type(expr))


def unshred(shredded: Shredded) -> Expr:
    """The nested result of a shredded query, as a query over the shredded database."""
    parts = [dictionary for _, dictionary in dictionaries(shredded.context)]
    return nest(shredded.flat, shredded.context, shredded.element, Names.of(shredded.flat, *parts))


class _Shred:
    def __init__(self, expr: Expr) -> None:
        self.names = Names.of(expr)
        # Labels of contents have sites of their own, after those of the query.
        self.next_site = 1 + max((n.site for n in walk(expr) if isinstance(n, SingBag)), default=0)

    def of(self, expr: Expr, scope: Scope) -> tuple[Expr, Context]:  # noqa: C901 - one arm per node
        match expr:
            case Relation(name, type_):
                return Relation(name, _flat_bag(type_)), input_context(name, type_.element)
            case InputChange(name, type_, order):
                return InputChange(name, _flat_bag(type_), order), input_context(name, type_.element)
            case Empty(type_):
                return Empty(_flat_bag(type_)), empty_context(type_.element)
            case Sing(element):
                return Sing(self.flat_term(element, scope)), self.term_context(element, scope)
            case Guard(test):
                return Guard(self.flat_term(test, scope)), empty_context(UNIT)
            case SingBag():
                return self.of_singleton(expr, scope)
            case For(var, source, body):
                outer, context = self.of(source, scope)
                flat_var = Var(var.name, flat_type(var.type))
                inner, result = self.of(body, {**scope, var.name: (flat_var, context)})
                return for_(flat_var, outer, inner), result
            case Fold(var, aggregate, source, body):
                outer, _ = self.of(source, scope)
                inner, result = self.of(body, {**scope, var.name: (var, NONE)})
                return fold(var.name, aggregate, outer, inner), result
            case Product(factors):
                parts = [(name, *self.of(factor, scope)) for name, factor in factors]
                contexts = RecordContext(tuple((name, context) for name, _, context in parts))
                return product([(name, flat) for name, flat, _ in parts]), contexts
            case Union(terms):
                return self.of_union(expr, [self.of(term, scope) for term in terms])
            case Negate(body):
                flat, context = self.of(body, scope)
                return negate(flat), context
            case Flatten(body):
                return self.of_flatten(body, scope)
            case CountWise(operator, args):
                return self.compared(
                    lambda nested: CountWise(operator, nested), args, element_type(expr), scope
                )
            case First(limit, source, greatest):
                return self.compared(
                    lambda nested: First(limit, nested[0], greatest), (source,), element_type(expr), scope
                )
            case Let() | Group() | BagVar() | Lookup():
                raise TypeError(f"shred reads normal forms of nested queries, not {expr}")
            case _:
                assert_never(expr)

    def of_singleton(self, expr: SingBag, scope: Scope) -> tuple[Expr, Context]:
        """``sng_ι(e)^F = sng(inL_ι(ε))`` and ``sng_ι(e)^Γ = ⟨[⟨ι, ε⟩ ↦ e^F], e^Γ⟩``."""
        body, context = self.of(expr.body, scope)
        if expr.opaque:
            return SingBag(expr.site, body, opaque=True), BagContext(None, context)
        captured = environment(body)
        params = {term: Var(self.names.fresh(_name(term)), term_type(term)) for term in captured}
        definition = DictLit(expr.site, tuple(params.values()), replace_terms(body, params))
        return Sing(InL(expr.site, tuple(captured))), BagContext(definition, context)

    def of_union(self, expr: Union, parts: list[tuple[Expr, Context]]) -> tuple[Expr, Context]:
        context = parts[0][1]
        for _, other in parts[1:]:
            context = join(context, other)
        return union(flat_type(element_type(expr)), *(flat for flat, _ in parts)), context

    def of_flatten(self, body: Expr, scope: Scope) -> tuple[Expr, Context]:
        """``flatten(e)^F = for l in e^F union e^Γ(l)`` where the level is shredded."""
        flat, context = self.of(body, scope)
        if not isinstance(context, BagContext):
            raise TypeError(f"flatten of {body} has no bag context")
        if context.dictionary is None:
            return (Flatten(flat) if not isinstance(flat, Empty) else _inner_empty(flat)), context.element
        if isinstance(flat, Sing):
            # One label, known by name: looked up without a loop.
            return lookup(context.dictionary, flat.element), context.element
        label = Var(self.names.fresh("l"), element_type(flat))
        return for_(label, flat, lookup(context.dictionary, label)), context.element

    def compared(
        self, make: Callable[[tuple[Expr, ...]], Expr], args: tuple[Expr, ...], element: Type, scope: Scope
    ) -> tuple[Expr, Context]:
        """Contents are compared, so arguments are nested first and the result is labelled by content."""
        nested = []
        for arg in args:
            flat, context = self.of(arg, scope)
            nested.append(nest(flat, context, element, self.names))
        result = make(tuple(nested))
        var = Var(self.names.fresh("v"), element_type(result))
        labelled, context = self.labelled(var, element)
        if not has_labels(context):
            return result, context
        return for_(var, result, labelled), context

    def labelled(self, term: Term, type_: Type) -> tuple[Expr, Context]:
        """``term``, wholly opaque, in the flat form that ``type_`` asks for; inner bags label themselves."""
        match type_:
            case Record(fields):
                parts = [(name, *self.labelled(Field(term, name), field)) for name, field in fields]
                contexts = RecordContext(tuple((name, context) for name, _, context in parts))
                return product([(name, flat) for name, flat, _ in parts]), contexts
            case Bag(element, opaque):
                var = Var(self.names.fresh("c"), _opaque_element(term))
                site = self.site()
                inner, context = self.labelled(var, element)
                if opaque:
                    body = for_(var, elements(term), inner)
                    return SingBag(site, body, opaque=True), BagContext(None, context)
                bag = Var(self.names.fresh("b"), term_type(term))
                rows = DictLit(site, (bag,), for_(var, elements(bag), inner))
                return Sing(InL(site, (term,))), BagContext(rows, context)
        return Sing(term), NONE

    def site(self) -> int:
        self.next_site += 1
        return self.next_site - 1

    def flat_term(self, term: Term, scope: Scope) -> Any:
        """``t^F``: the same term over the flat variables."""
        if isinstance(term, Var):
            return scope[term.name][0] if term.name in scope else Var(term.name, flat_type(term.type))
        return map_children(term, lambda child: self.flat_term(child, scope))

    def term_context(self, term: Term, scope: Scope) -> Context:
        """``t^Γ``: the projection of its variable's context."""
        match term:
            case Var(name, type_):
                return scope[name][1] if name in scope else empty_context(type_)
            case Field(record, name):
                outer = self.term_context(record, scope)
                return outer[name] if isinstance(outer, RecordContext) else NONE
            case Tuple(items):
                return RecordContext(tuple((name, self.term_context(item, scope)) for name, item in items))
            case Call() if isinstance(term_type(term), Bag):
                return BagContext(None, NONE)
            case Const() | Call() | InL():
                return NONE
            case _:
                assert_never(term)


def environment(body: Expr) -> list[Term]:
    """The least projections of free variables that ``body`` uses, in order of appearance.

    ``x.a`` is not captured where ``x`` itself is.
    """
    used: list[Term] = []
    _projections(body, frozenset(), used)
    return [term for term in used if not any(other in _prefixes(term) for other in used)]


def _projections(node: Any, bound: frozenset[str], used: list[Term]) -> None:
    match node:
        case Var() | Field() if (root := _root(node)) is not None:
            if root.name not in bound and node not in used:
                used.append(node)
            return
    for child, names in scopes(node):
        _projections(child, bound | names, used)


def _root(term: Term) -> Var | None:
    while isinstance(term, Field):
        term = term.record
    return term if isinstance(term, Var) else None


def _prefixes(term: Term) -> list[Term]:
    found: list[Term] = []
    while isinstance(term, Field):
        term = term.record
        found.append(term)
    return found


def _name(term: Term) -> str:
    return f"{_name(term.record)}_{term.name}" if isinstance(term, Field) else getattr(term, "name", "p")


def replace_terms(node: Any, replacements: Mapping[Term, Var]) -> Any:
    """``node`` with whole terms replaced, outermost first. Binders are unique, so nothing is captured."""
    if isinstance(node, Var | Field) and node in replacements:
        return replacements[node]
    return map_children(node, lambda child: replace_terms(child, replacements))


def _flat_bag(type_: Bag) -> Bag:
    return Bag(flat_type(type_.element))


def _opaque_element(term: Term) -> Type:
    type_ = term_type(term)
    if not isinstance(type_, Bag):
        raise TypeError(f"{term} is not a bag")
    return type_.element


def _inner_empty(flat: Empty) -> Expr:
    element = flat.type.element
    return Empty(Bag(element.element)) if isinstance(element, Bag) else flat
