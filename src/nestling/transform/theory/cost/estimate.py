"""The cost of a query, from the sizes of its inputs.

Law (4): for an incremental update (``size(ΔR) ≺ size(R)``) and a query of finite degree,
``cost(delta(e)) ≺ cost(e)`` and ``tcost`` is smaller too, in mode ``"sup"``. The theorem needs ``⊎`` to cost
the greater of its terms: a delta has up to three summands where its query has one. So ``"sup"`` classifies
and ``"sum"`` estimates for planning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never

from nestling.calculus.build import ungroup
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    DictInput,
    Dictionary,
    DictLit,
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
from nestling.calculus.traverse import Names
from nestling.calculus.types import Bag, Record, dictionary_name
from nestling.calculus.typing import dictionary_element, term_type
from nestling.transform.theory.cost.cardinality import Cardinality, greater, plus, times
from nestling.transform.theory.cost.domain import ONE, BagCost, Cost, RecordCost, bottom, sup
from nestling.values.update import change_name

Mode: TypeAlias = Literal["sup", "sum"]
Sizes: TypeAlias = Mapping[str, Cost]
Assignment: TypeAlias = Mapping[str, Cost]


def cost(expr: Expr, sizes: Sizes, mode: Mode = "sup") -> Cost:
    """``C[[expr]]``: how many elements it yields, and a bound on the cost of each.

    ``sizes`` holds the cost of every relation, change and dictionary by name; see ``domain.size`` and
    ``domain.symbolic_size``.
    """
    return _Estimate(sizes, mode).of(expr, {})


class _Estimate:
    def __init__(self, sizes: Sizes, mode: Mode) -> None:
        self.sizes, self.mode = sizes, mode

    def of(self, expr: Expr, env: Assignment) -> BagCost:  # noqa: C901 - one arm per node
        match expr:
            case Relation(name, type_):
                return self.stored(name, type_)
            case InputChange(name, type_, order):
                return self.stored(change_name(name, order), type_)
            case BagVar(name, type_):
                return _many(env[name])
            case Empty(type_):
                return _many(bottom(type_))
            case Guard():
                return BagCost(1, RecordCost(()))
            case Sing(element):
                return BagCost(1, self.of_term(element, env))
            case SingBag(_, body):
                return BagCost(1, self.of(body, env))
            case Let(var, bound, body):
                return self.of(body, {**env, var.name: self.of(bound, env)})
            case For(var, source, body):
                outer = self.of(source, env)
                inner = self.of(body, {**env, var.name: outer.each})
                return BagCost(times(outer.count, inner.count), inner.each)
            case Product(factors):
                return self.of_product([self.of(factor, env) for _, factor in factors])
            case Union(terms):
                return self.joined([self.of(term, env) for term in terms])
            case Negate(body):
                return self.of(body, env)
            case Flatten(body):
                outer = self.of(body, env)
                inner = _many(outer.each)
                return BagCost(times(outer.count, inner.count), inner.each)
            case CountWise(_, args):
                return self.joined([self.of(arg, env) for arg in args])
            case First(_, source):
                return self.of(source, env)
            case Fold(var, _, source, body):
                # The source is read once to make one scalar; what is yielded is the body's.
                read, made = self.of(source, env), self.of(body, {**env, var.name: ONE})
                return BagCost(self.more(read.count, made.count), made.each)
            case Group():
                return self.of(ungroup(expr, Names.of(expr)), env)
            case Lookup(dictionary, _):
                return self.of_dictionary(dictionary)
            case _:
                assert_never(expr)

    def stored(self, name: str, type_: Bag) -> BagCost:
        return _many(self.sizes[name] if name in self.sizes else bottom(type_))

    def of_product(self, factors: list[BagCost]) -> BagCost:
        count = factors[0].count if factors else 1
        for factor in factors[1:]:
            count = times(count, factor.count)
        return BagCost(count, RecordCost(tuple(factor.each for factor in factors)))

    def joined(self, parts: list[BagCost]) -> BagCost:
        total = parts[0]
        for part in parts[1:]:
            total = BagCost(self.more(total.count, part.count), sup(total.each, part.each))
        return total

    def more(self, left: Cardinality, right: Cardinality) -> Cardinality:
        return greater(left, right) if self.mode == "sup" else plus(left, right)

    def of_term(self, term: Term, env: Assignment) -> Cost:
        match term:
            case Var(name, type_):
                return env.get(name, bottom(type_))
            case Field(record, name):
                return self.of_field(record, name, env)
            case Tuple(items):
                return RecordCost(tuple(self.of_term(item, env) for _, item in items))
            case Const() | Call() | InL():
                return ONE
            case _:
                assert_never(term)

    def of_field(self, record: Term, name: str, env: Assignment) -> Cost:
        outer, type_ = self.of_term(record, env), term_type(record)
        index = type_.index(name) if isinstance(type_, Record) else None
        return outer.fields[index] if isinstance(outer, RecordCost) and index is not None else ONE

    def of_dictionary(self, dictionary: Dictionary) -> BagCost:
        """The cost of one definition, whichever label is looked up."""
        match dictionary:
            case DictLit(_, params, body):
                return self.of(body, {param.name: bottom(param.type) for param in params})
            case DictInput(relation, path, element, order):
                name = dictionary_name(relation, path)
                return self.stored(change_name(name, order) if order else name, Bag(element))
            case DictUnion(parts):
                return self.joined([self.of_dictionary(part) for part in parts])
            case DictEmpty():
                return BagCost(1, bottom(dictionary_element(dictionary)))
            case _:
                assert_never(dictionary)


def _many(cost: Cost) -> BagCost:
    return cost if isinstance(cost, BagCost) else BagCost(1, cost)
