"""From the parts of a shredded view to flat queries.

An element is a tree of terms over scalar variables: a row of a relation is a tuple of fresh variables, ``for``
substitutes the tree for its variable, ``⊎`` makes summands. A lookup of a label that the query itself made
inlines that definition; one of a label from an input reads its dictionary. Which of the two it is, is known
here, for every summand has its labels from one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations
from math import prod
from typing import assert_never

from nestling.calculus.aggregates import aggregate_of
from nestling.calculus.build import call, conjunction, const, leaves
from nestling.calculus.partial import is_total
from nestling.calculus.show import brief
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
from nestling.calculus.traverse import Names, walk
from nestling.calculus.types import ELEMENT, INT, LABEL, Bag, Record, Type, dictionary_name
from nestling.calculus.typing import element_type, term_type
from nestling.program.flat import (
    ORDERED,
    Atom,
    Factor,
    Lift,
    Monomial,
    Pointwise,
    Query,
    Shape,
    Test,
    Unnest,
    of_first,
)
from nestling.program.signs import SIGNED
from nestling.program.traverse import is_safe, substitute_term
from nestling.transform.lower.closing import added_up, closed, unified
from nestling.transform.lower.conditions import summands
from nestling.transform.lower.keyed import measured, place_of, place_pattern, powers_of
from nestling.transform.shred import Shredded, dictionaries


class CannotLower(Exception):
    """A construct that has no flat form; the view is evaluated by the reference instead."""

    code = "NO FLAT FORM"


@dataclass(frozen=True)
class Summand:
    """One way to get an element: the tree of its value, a sign, and the factors that must hold."""

    tree: Term
    sign: int
    factors: tuple[Factor, ...]


@dataclass(frozen=True)
class FlatView:
    """A view as flat queries: ``rows`` and, per shape, the ``definitions`` of its labels.

    A definition's keys start with its ``params``, the columns of its environment; then come those of its elements.
    """

    rows: Query
    definitions: Mapping[Shape, Definition]
    element: Type
    #: Whether rows may be asked for by their first column.
    is_asked: bool = True

    @property
    def queries(self) -> tuple[Query, ...]:
        """All of them, in the order in which they are compiled."""
        return (*(definition.query for definition in self.definitions.values()), self.rows)


@dataclass(frozen=True)
class Definition:
    """What the labels of one shape stand for."""

    params: tuple[Var, ...]
    query: Query


def lower(shredded: Shredded, exact: bool = True) -> FlatView:
    """The flat queries of a view, shredded through and through.

    ``exact``: floats are summed as ints; otherwise as floats, with what is not finite counted apart.
    """
    parts = [shredded.flat, *(d for _, d in dictionaries(shredded.context))]
    literals = {n.site: n for part in parts for n in walk(part) if isinstance(n, DictLit)}
    lowering = _Lowering(Names.of(*parts), literals, exact)
    rows = lowering.query((), (), shredded.flat, {})
    definitions: dict[Shape, Definition] = {}
    pending = _shapes(rows)
    while pending:
        shape = pending.pop()
        if shape not in definitions:
            definitions[shape] = lowering.definition(shape)
            pending += _shapes(definitions[shape].query)
    return FlatView(rows, definitions, shredded.element)


def _shapes(query: Query) -> list[Shape]:
    """The shapes of the labels that ``query`` makes."""
    keys = [key for monomial in query.monomials for key in monomial.keys]
    return [shape_of(key) for key in keys if isinstance(key, InL)]


def shape_of(label: InL) -> Shape:
    """The shape of a label that a query makes."""
    inner = (leaf for arg in label.args for leaf in leaves(arg))
    return label.site, tuple(
        shape_of(leaf) if isinstance(leaf, InL) else None for leaf in inner if term_type(leaf) == LABEL
    )


Env = Mapping[str, Term]


class _Lowering:
    def __init__(self, names: Names, literals: Mapping[int, DictLit], exact: bool) -> None:
        self.names, self.literals, self.exact = names, literals, exact
        #: Whether what is lowered is put in order, and so must not be counted less than never.
        self.apart = False
        #: Which dictionary a label variable was read with: a relation's or a dictionary's path.
        self.origin: dict[str, str] = {}

    def definition(self, shape: Shape) -> Definition:
        """``[⟨ι, x̄⟩ ↦ e]`` as a query keyed by the columns of x̄, then by those of e."""
        literal, trees = self.literals[shape[0]], self.environment(shape)
        params = _vars([node for tree in trees.values() for node in walk(tree)])
        return Definition(params, self.query(params, params, literal.body, trees))

    def environment(self, shape: Shape) -> dict[str, Term]:
        """A tree of variables for every parameter of a site; labels of a query are spelled out."""
        site, inner = shape
        shapes = iter(inner)
        params = self.literals[site].params
        return {p.name: self.shaped(self.columns(p.type, p.name, None), shapes) for p in params}

    def shaped(self, tree: Term, shapes: Iterator[Shape | None]) -> Term:
        if isinstance(tree, Tuple):
            return Tuple(tuple((name, self.shaped(item, shapes)) for name, item in tree.fields))
        shape = next(shapes) if term_type(tree) == LABEL else None
        return InL(shape[0], tuple(self.environment(shape).values())) if shape else tree

    def query(self, params: tuple[Var, ...], keys: tuple[Term, ...], body: Expr, env: Env) -> Query:
        """``Sum`` over ``keys`` and the columns of ``body``'s elements."""
        columns = self.key_columns(element_type(body))
        monomials = [
            Monomial((*keys, *leaves(summand.tree)), (const(summand.sign),), summand.factors)
            for summand in self.of(body, env)
        ]
        fixed = frozenset(param.name for param in params)
        return Query((*params, *columns), unified(monomials, fixed))

    def key_columns(self, type_: Type) -> tuple[Var, ...]:
        tree = self.columns(type_, "c", None)
        return tuple(leaf for leaf in leaves(tree) if isinstance(leaf, Var))

    def columns(self, type_: Type, prefix: str, path: str | None) -> Term:
        """A tree of fresh variables in the shape of ``type_``."""
        match type_:
            case Record(fields):
                parts = (
                    (n, self.columns(t, f"{prefix}_{n}", f"{path}.{n}" if path else None)) for n, t in fields
                )
                return Tuple(tuple(parts))
        var = Var(self.names.fresh(prefix), type_)
        if type_ == LABEL and path is not None:
            self.origin[var.name] = path
        return var

    def of(self, expr: Expr, env: Env) -> list[Summand]:  # noqa: C901 - one arm per node
        match expr:
            case Relation(name, type_):
                return self.read(name, (), type_.element)
            case Empty():
                return []
            case Sing(element):
                return [Summand(substitute_term(element, env), 1, ())]
            case Guard(test):
                parts = summands(substitute_term(test, env), apart=self.apart)
                return [Summand(Tuple(()), sign, tuple(map(Test, tests))) for sign, tests in parts]
            case For(var, source, body):
                return [
                    _joined(outer, inner, inner.tree)
                    for outer in self.of(source, env)
                    for inner in self.of(body, {**env, var.name: outer.tree})
                ]
            case Product(factors):
                return self.product([(name, self.of(factor, env)) for name, factor in factors])
            case Union(terms):
                return [summand for term in terms for summand in self.of(term, env)]
            case Negate(body):
                return [Summand(s.tree, -s.sign, s.factors) for s in self.of(body, env)]
            case Flatten(body):
                return [self.unnested(summand) for summand in self.of(body, env)]
            case CountWise():
                return [self.countwise(expr, env)]
            case First():
                return [self.first(expr, env)]
            case Fold():
                return self.fold(expr, env)
            case Lookup(dictionary, label):
                return self.lookup(dictionary, substitute_term(label, env))
            case SingBag() | InputChange() | Let() | Group() | BagVar():
                raise CannotLower(f"an inner bag is kept as one value: {brief(expr, 80)}")
            case _:
                assert_never(expr)

    def read(self, table: str, bound: tuple[Term, ...], element: Type) -> list[Summand]:
        path = f"{table}.{ELEMENT}" if element == LABEL else table
        tree = self.columns(element, "x", path)
        return [Summand(tree, 1, (Atom(table, (*bound, *leaves(tree))),))]

    def product(self, parts: list[tuple[str, list[Summand]]]) -> list[Summand]:
        found = []
        for chosen in combinations(*(summands_ for _, summands_ in parts)):
            tree = Tuple(tuple((name, s.tree) for (name, _), s in zip(parts, chosen, strict=True)))
            sign = prod(summand.sign for summand in chosen)
            factors = tuple(factor for summand in chosen for factor in summand.factors)
            found.append(Summand(tree, sign, factors))
        return found

    def unnested(self, summand: Summand) -> Summand:
        type_ = term_type(summand.tree)
        if not isinstance(type_, Bag):
            raise CannotLower(f"what is flattened is no bag: {brief(summand.tree, 80)}")
        pattern = self.columns(type_.element, "u", None)
        return Summand(pattern, summand.sign, (*summand.factors, Unnest(summand.tree, pattern)))

    def countwise(self, expr: CountWise, env: Env) -> Summand:
        """``f(e, …)``: one map whose measures are the arguments' counts."""
        tree = self.columns(element_type(expr), "w", None)
        if any(isinstance(term_type(leaf), Bag) for leaf in leaves(tree)):
            raise CannotLower(f"nested values are compared by content: {brief(expr, 80)}")
        outer = _outer(env)
        monomials = []
        for position, arg in enumerate(expr.args):
            for summand in self.inside(arg, env, apart=self.apart and expr.operator in SIGNED):
                weights = tuple(const(summand.sign if i == position else 0) for i in range(len(expr.args)))
                monomials.append(Monomial(tuple(leaves(summand.tree)), weights, summand.factors))
        query, args = closed(monomials, outer, len(expr.args), _vars(leaves(tree)), self.names)
        if expr.operator == "exists" and not is_safe(query) and not leaves(tree):
            # A bag of nothing but how often: it is there where its count is not zero.
            lifts, count = added_up(Lift(self.counted(), "count", query, args), monomials, outer, self.names)
            return Summand(tree, 1, (*lifts, Test(call("!=", count, const(0)))))
        return Summand(tree, 1, (Pointwise(expr.operator, query, (*args, *leaves(tree))),))

    def counted(self) -> Var:
        return Var(self.names.fresh("n"), INT)

    def inside(self, expr: Expr, env: Env, *, apart: bool) -> list[Summand]:
        """``expr`` of a query of its own; ``apart``: as summands none of which takes off what another adds."""
        before, self.apart = self.apart, apart
        try:
            return self.of(expr, env)
        finally:
            self.apart = before

    def first(self, expr: First, env: Env) -> Summand:
        """``first(k, e)``: a bag read off the elements in order, unnested."""
        tree = self.columns(element_type(expr), "w", None)
        columns = _vars(leaves(tree))
        if any(isinstance(column.type, Bag) for column in columns) or any(c.type == LABEL for c in columns):
            raise CannotLower("nested values compared by content")
        monomials = [
            Monomial((place_of(leaves(s.tree)),), (const(s.sign),), s.factors)
            for s in self.inside(expr.source, env, apart=True)
        ]
        pattern = place_pattern(columns, self.names)
        query, args = closed(monomials, _outer(env), 1, (Var("at", term_type(pattern)),), self.names)
        taken = Var(self.names.fresh("first"), Bag(term_type(pattern), opaque=True))
        lift = Lift(taken, of_first(expr.limit, expr.greatest), query, args)
        return Summand(tree, 1, (lift, Unnest(taken, pattern)))

    def fold(self, expr: Fold, env: Env) -> list[Summand]:
        """``fold x := a(e) in b``: the measures of ``e`` by what it shares with its surroundings."""
        element = element_type(expr.source)
        aggregate = aggregate_of(expr.aggregate, element, self.exact).name
        powers = powers_of(aggregate, element)
        monomials = [
            measured(aggregate, powers, s.tree, s.sign, s.factors)
            for s in self.inside(expr.source, env, apart=aggregate in ORDERED)
        ]
        extra = (Var("v", element),) if aggregate in ORDERED else ()
        query, args = closed(monomials, _outer(env), len(powers), extra, self.names)
        var = Var(self.names.fresh(expr.var.name), expr.var.type)
        value: Term = var
        lifts = [Lift(var, aggregate, query, args)]
        if aggregate not in ORDERED and not is_safe(query):
            lifts, value = added_up(lifts[0], monomials, _outer(env), self.names)
        return [
            Summand(inner.tree, inner.sign, (*lifts, *inner.factors))
            for inner in self.of(expr.body, {**env, expr.var.name: value})
        ]

    def lookup(self, dictionary: Dictionary, label: Term) -> list[Summand]:
        match dictionary:
            case DictLit(site, params, body):
                if isinstance(label, InL) and label.site == site:
                    return self.of(body, {p.name: arg for p, arg in zip(params, label.args, strict=True)})
                return []
            case DictInput(relation, path, element):
                name = dictionary_name(relation, path)
                if isinstance(label, Var) and self.origin.get(label.name, name) == name:
                    return self.read(name, (label,), element)
                return []
            case DictUnion(parts):
                return [summand for part in parts for summand in self.lookup(part, label)]
            case DictEmpty():
                return []
            case _:
                assert_never(dictionary)


def _joined(outer: Summand, inner: Summand, tree: Term) -> Summand:
    guards = [factor.test for factor in outer.factors if isinstance(factor, Test)]
    guarded = (_guarded(factor, guards) for factor in inner.factors)
    return Summand(tree, outer.sign * inner.sign, (*outer.factors, *guarded))


def _guarded(factor: Factor, guards: list[Term]) -> Factor:
    """A test that may be undefined, asked only where the tests before it hold."""
    if guards and isinstance(factor, Test) and not is_total(factor.test):
        return Test(conjunction([*guards, factor.test]))
    return factor


def _outer(env: Env) -> dict[str, Var]:
    return {leaf.name: leaf for tree in env.values() for leaf in _vars(_all_leaves(tree))}


def _all_leaves(tree: Term) -> list[Term]:
    return [node for node in walk(tree) if isinstance(node, Var)]


def _vars(terms: list[Term]) -> tuple[Var, ...]:
    return tuple(term for term in terms if isinstance(term, Var))
