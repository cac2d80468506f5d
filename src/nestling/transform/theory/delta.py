"""The change of a query, derived from the query.

Law (1): ``e[R ⊎ ΔR for R in U] = e ⊎ delta(e, U)`` for every set ``U`` of relations changed together.
Law (2): the post-state rule, ``e[R'] ⊖ e[R] = ⊖ delta(e, U)[R', ⊖ΔR]``: the same program evaluated on
the new state with negated changes gives the negated change. It is what makes lazy maintenance sound.

A delta is a query like any other, so it has deltas of its own: ``order`` names the changes of each round
apart. Dictionaries of a changed relation change with it (``ΔR.items``): deep updates need no other rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from nestling.calculus.build import (
    countwise,
    dict_union,
    empty,
    first,
    flatten,
    fold,
    for_,
    let,
    lookup,
    negate,
    nonempty,
    product,
    ungroup,
    union,
)
from nestling.calculus.terms import (
    BagVar,
    CountWise,
    DictEmpty,
    DictInput,
    Dictionary,
    DictLit,
    DictUnion,
    Empty,
    Expr,
    First,
    Flatten,
    Fold,
    For,
    Group,
    Guard,
    InputChange,
    Let,
    Lookup,
    Negate,
    Product,
    Relation,
    Sing,
    SingBag,
    Union,
    Var,
)
from nestling.calculus.traverse import Names
from nestling.calculus.types import UNIT
from nestling.calculus.typing import dictionary_element, element_type


def delta(expr: Expr, relations: frozenset[str], order: int = 1) -> Expr:
    """The change of ``expr`` when every relation R of ``relations`` grows by its ``ΔR``.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> R = parse("for x in R where x < 3 union sng(x)", {"R": parse_type("Bag(int)")})
    >>> print(show(delta(R, frozenset("R"))))
    for x in ΔR where x < 3 union sng(x)
    """
    return _Delta(relations, order, Names.of(expr)).of(expr, {})


class _Delta:
    """One derivation: what changes, under which order, and the names taken so far."""

    def __init__(self, relations: frozenset[str], order: int, names: Names) -> None:
        self.relations, self.order, self.names = relations, order, names

    def of(self, expr: Expr, changed: Mapping[str, BagVar]) -> Expr:  # noqa: C901 - one arm per node
        """``δ(expr)``; ``changed`` maps let-variables to the variables that hold their change."""
        match expr:
            case Relation(name, type_):
                return InputChange(name, type_, self.order) if name in self.relations else Empty(type_)
            case BagVar(name, type_):
                return changed.get(name, Empty(type_))
            case InputChange() | Empty() | Sing() | Guard():
                return empty(element_type(expr))
            case Let():
                return self.of_let(expr, changed)
            case SingBag():
                return self.of_singleton(expr, changed)
            case For():
                return self.of_for(expr, changed)
            case Product():
                return self.of_product(expr, changed)
            case Union(terms):
                return union(element_type(expr), *(self.of(term, changed) for term in terms))
            case Negate(body):
                return negate(self.of(body, changed))
            case Flatten(body):
                return flatten(self.of(body, changed))
            case CountWise():
                return self.of_countwise(expr, changed)
            case First():
                return self.of_first(expr, changed)
            case Fold():
                return self.of_fold(expr, changed)
            case Group():
                return self.of(ungroup(expr, self.names), changed)
            case Lookup(dictionary, label):
                return lookup(self.of_dictionary(dictionary), label)
            case _:
                assert_never(expr)

    def of_let(self, expr: Let, changed: Mapping[str, BagVar]) -> Expr:
        """``δ(let X := e in b) = let ΔX := δe, X := e in δ(b)``, all at once.

        ΔX comes first: ``δe`` repeats the binders of ``e``, one of which may be called X.
        """
        var, e, b = expr.var, expr.bound, expr.body
        de = self.of(e, changed)
        if isinstance(de, Empty):
            return let(var, e, self.of(b, changed))
        dvar = BagVar(self.names.fresh(f"Δ{var.name}"), var.type)
        db = self.of(b, {**changed, var.name: dvar})
        return let(dvar, de, let(var, e, db))

    def of_for(self, expr: For, changed: Mapping[str, BagVar]) -> Expr:
        """``δ(for x in e union b)`` — the product rule, with its second-order term."""
        var, e, b = expr.var, expr.source, expr.body
        de, db = self.of(e, changed), self.of(b, changed)
        return union(element_type(expr), for_(var, de, b), for_(var, e, db), for_(var, de, db))

    def of_product(self, expr: Product, changed: Mapping[str, BagVar]) -> Expr:
        """``δ(e₁ × …)``: one summand for every choice of old or change per factor, but all old."""
        summands: list[list[tuple[str, Expr]]] = [[]]
        for name, e in expr.factors:
            de = self.of(e, changed)
            choices = (e,) if isinstance(de, Empty) else (de, e)
            summands = [[*chosen, (name, choice)] for chosen in summands for choice in choices]
        # The last summand chose the old factor everywhere: that is the product itself.
        return union(element_type(expr), *(product(factors) for factors in summands[:-1]))

    def of_singleton(self, expr: SingBag, changed: Mapping[str, BagVar]) -> Expr:
        """``δ(sng_ι(e)) = sng_ι(e ⊎ δe) ⊎ ⊖sng_ι(e)`` — a replacement: right, and as dear as recomputing.

        Shredding removes every such node whose body changes.
        """
        e = expr.body
        de = self.of(e, changed)
        if isinstance(de, Empty):
            return empty(element_type(expr))
        new = SingBag(expr.site, union(element_type(e), e, de), expr.opaque)
        return union(element_type(expr), new, negate(expr))

    def of_countwise(self, expr: CountWise, changed: Mapping[str, BagVar]) -> Expr:
        """``δf(ē) = supp(δē) ⋈ (f(ē ⊎ δē) ⊖ f(ē))`` — only where an argument changed."""
        changes = [self.of(e, changed) for e in expr.args]
        touched = [de for de in changes if not isinstance(de, Empty)]
        if not touched:
            return empty(element_type(expr))
        new = countwise(
            expr.operator,
            *(union(element_type(e), e, de) for e, de in zip(expr.args, changes, strict=True)),
        )
        return countwise("restrict", *touched, union(element_type(expr), new, negate(expr)))

    def of_first(self, expr: First, changed: Mapping[str, BagVar]) -> Expr:
        """``δ first(k, e)``: where ``e`` changed, new minus old."""
        e = expr.source
        de = self.of(e, changed)
        if isinstance(de, Empty):
            return empty(element_type(expr))
        new = first(expr.limit, union(element_type(e), e, de), expr.greatest)
        old_and_new = union(element_type(expr), new, negate(expr))
        return for_(Var("_", UNIT), nonempty(de, self.names), old_and_new)

    def of_fold(self, expr: Fold, changed: Mapping[str, BagVar]) -> Expr:
        """``δ(fold x := a(e) in b)``: where ``e`` changed, new minus old; everywhere, ``δb`` at the new x."""
        name, e, b = expr.var.name, expr.source, expr.body
        de, db = self.of(e, changed), self.of(b, changed)
        if isinstance(de, Empty):
            return fold(name, expr.aggregate, e, db)
        new = union(element_type(e), e, de)
        old_and_new = union(element_type(b), fold(name, expr.aggregate, new, b), negate(expr))
        moved = for_(Var("_", UNIT), nonempty(de, self.names), old_and_new)
        return union(element_type(b), moved, fold(name, expr.aggregate, new, db))

    def of_dictionary(self, dictionary: Dictionary) -> Dictionary:
        """``δ[l ↦ e] = [l ↦ δe]``, ``δ(d ∪ d') = δd ∪ δd'``; the body of a definition has no outer lets."""
        element = dictionary_element(dictionary)
        match dictionary:
            case DictLit(site, params, body):
                change = self.of(body, {})
                return DictEmpty(element) if isinstance(change, Empty) else DictLit(site, params, change)
            case DictInput(relation, path, _, 0) if relation in self.relations:
                return DictInput(relation, path, element, self.order)
            case DictInput() | DictEmpty():
                return DictEmpty(element)
            case DictUnion(parts):
                return dict_union(element, [self.of_dictionary(part) for part in parts])
            case _:
                assert_never(dictionary)
