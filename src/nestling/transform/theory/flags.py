"""How deep to shred: which bag levels become labels.

Law (6): shredding by any consistent flags means the same; ``infer_flags`` finds the least: a level is
shredded iff its contents can change while the row that holds it stays. That is the inner bags a query
computes from its input or from such bags, and those of an input that deep updates address; whatever flows
together with such a level through ``⊎``, ``for`` or a count-wise operator has its form. Everything else stays
opaque: one value in its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
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
from nestling.calculus.traverse import is_input_dependent
from nestling.calculus.types import Bag, Dict, LabelType, Path, Record, Scalar, Type

#: An inner bag of a relation that deep updates may address.
DeepPath: TypeAlias = tuple[str, Path]


@dataclass(eq=False)
class Level:
    """One bag level, or several found to be one (union-find)."""

    shredded: bool = False
    parent: Level | None = None

    def find(self) -> Level:
        return self if self.parent is None else self.parent.find()

    def merge(self, other: Level) -> None:
        one, two = self.find(), other.find()
        if one is not two:
            two.parent = one
            one.shredded |= two.shredded


@dataclass(frozen=True)
class Levels:
    """The bag levels of an element type, in its shape."""

    level: Level | None = None
    fields: Mapping[str, Levels] | None = None
    element: Levels | None = None


Build: TypeAlias = Callable[[], Any]


def infer_flags(expr: Expr, deep: frozenset[DeepPath] = frozenset()) -> Expr:
    """``expr``, normalised, with every bag level marked shredded or opaque: the least that is sound."""
    flags = _Flags(deep)
    _, build = flags.of(expr, {})
    flags.solve()
    flagged: Expr = build()
    return flagged


class _Flags:
    """Constraints are collected on the way down; the term is rebuilt once they are all known."""

    def __init__(self, deep: frozenset[DeepPath]) -> None:
        self.deep = deep
        self.inputs: dict[str, Levels] = {}
        self.built: Level | None = None
        self.reads: list[tuple[Level, Level]] = []

    def of(self, expr: Expr, env: Mapping[str, Levels]) -> tuple[Levels, Build]:  # noqa: C901 - one arm per node
        match expr:
            case Relation(name, type_):
                levels = self.input(name, type_)
                return levels, lambda: Relation(name, Bag(marked(type_.element, levels)))
            case InputChange(name, type_, order):
                levels = self.input(name, type_)
                return levels, lambda: InputChange(name, Bag(marked(type_.element, levels)), order)
            case Empty(type_):
                levels = fresh(type_.element)
                return levels, lambda: Empty(Bag(marked(type_.element, levels)))
            case Sing(element):
                levels, build = self.of_term(element, env)
                return levels, lambda: Sing(build())
            case Guard(test):
                _, build = self.of_term(test, env)
                return Levels(fields={}), lambda: Guard(build())
            case SingBag():
                return self.of_singleton(expr, env)
            case For(var, source, body):
                outer, first = self.of(source, env)
                inner, second = self.of(body, {**env, var.name: outer})
                return inner, lambda: For(replace(var, type=marked(var.type, outer)), first(), second())
            case Fold(var, aggregate, source, body):
                _, first = self.of(source, env)
                inner, second = self.of(body, {**env, var.name: Levels()})
                return inner, lambda: Fold(var, aggregate, first(), second())
            case Product(factors):
                parts = {name: self.of(factor, env) for name, factor in factors}
                levels = Levels(fields={name: inner for name, (inner, _) in parts.items()})
                return levels, lambda: Product(tuple((name, build()) for name, (_, build) in parts.items()))
            case Union(terms):
                levels, builds = self.alike(terms, env)
                return levels, lambda: Union(tuple(build() for build in builds))
            case CountWise(operator, args):
                levels, builds = self.alike(args, env)
                self.read_all(levels)  # contents are compared
                return levels, lambda: CountWise(operator, tuple(build() for build in builds))
            case First(limit, source, greatest):
                levels, build = self.of(source, env)
                self.read_all(levels)  # contents are compared
                return levels, lambda: First(limit, build(), greatest)
            case Negate(body):
                levels, build = self.of(body, env)
                return levels, lambda: Negate(build())
            case Flatten(body):
                levels, build = self.of(body, env)
                self.read(levels)
                return levels.element or Levels(), lambda: Flatten(build())
            case Let() | Group() | BagVar() | Lookup():
                raise TypeError(f"infer_flags reads normal forms of nested queries, not {expr}")
            case _:
                assert_never(expr)

    def of_singleton(self, expr: SingBag, env: Mapping[str, Levels]) -> tuple[Levels, Build]:
        level = Level(shredded=is_input_dependent(expr.body))
        outer, self.built = self.built, level
        inner, build = self.of(expr.body, env)
        self.built = outer
        # The flag is read when the term is built, after all constraints are known.
        return Levels(level, element=inner), lambda: SingBag(expr.site, build(), not level.find().shredded)

    def read(self, levels: Levels) -> None:
        if levels.level is not None and self.built is not None:
            self.reads.append((levels.level, self.built))

    def read_all(self, levels: Levels) -> None:
        self.read(levels)
        for inner in (levels.element,) if levels.element else (levels.fields or {}).values():
            self.read_all(inner)

    def solve(self) -> None:
        """Shred every bag that is built by reading a shredded one: its contents change with what it reads."""
        while late := [built for read, built in self.reads if read.find().shredded > built.find().shredded]:
            for built in late:
                built.find().shredded = True

    def of_term(self, term: Term, env: Mapping[str, Levels]) -> tuple[Levels, Build]:
        match term:
            case Var(name, type_):
                levels = env[name] if name in env else fresh(type_)
                return levels, lambda: Var(name, marked(type_, levels))
            case Field(record, name):
                outer, build = self.of_term(record, env)
                return (outer.fields or {}).get(name, Levels()), lambda: Field(build(), name)
            case Tuple(items):
                parts = {name: self.of_term(item, env) for name, item in items}
                levels = Levels(fields={name: inner for name, (inner, _) in parts.items()})
                return levels, lambda: Tuple(tuple((name, build()) for name, (_, build) in parts.items()))
            case Call(function, args):
                builds = [self.of_term(arg, env)[1] for arg in args]
                return Levels(), lambda: Call(function, tuple(build() for build in builds))
            case Const() | InL():
                return Levels(), lambda: term
            case _:
                assert_never(term)

    def alike(self, terms: tuple[Expr, ...], env: Mapping[str, Levels]) -> tuple[Levels, list[Build]]:
        """Several expressions of one type: their levels are the same levels."""
        visited = [self.of(term, env) for term in terms]
        for levels, _ in visited[1:]:
            unify(visited[0][0], levels)
        return visited[0][0], [build for _, build in visited]

    def input(self, name: str, type_: Bag) -> Levels:
        if name not in self.inputs:
            self.inputs[name] = fresh(type_.element)
            self.demand(name, self.inputs[name], ())
        return self.inputs[name]

    def demand(self, name: str, levels: Levels, path: Path) -> None:
        """Shred what deep updates address; paths as ``types.bag_levels`` has them."""
        if levels.level is not None and levels.element is not None:
            here = path or ("*",)
            levels.level.shredded |= (name, here) in self.deep
            inner = (*here, "*") if levels.element.level is not None else here
            self.demand(name, levels.element, inner)
        for field, inner_levels in (levels.fields or {}).items():
            self.demand(name, inner_levels, (*path, field))


def fresh(type_: Type) -> Levels:
    """Levels of their own for every bag in ``type_``."""
    match type_:
        case Record(fields):
            return Levels(fields={name: fresh(field) for name, field in fields})
        case Bag(element):
            return Levels(Level(), element=fresh(element))
        case Scalar() | LabelType() | Dict():
            return Levels()
        case _:
            assert_never(type_)


def unify(left: Levels, right: Levels) -> None:
    """Make the levels of two equal types the same levels."""
    if left.level is not None and right.level is not None:
        left.level.merge(right.level)
    if left.element is not None and right.element is not None:
        unify(left.element, right.element)
    for name, inner in (left.fields or {}).items():
        unify(inner, (right.fields or {})[name])


def marked(type_: Type, levels: Levels) -> Type:
    """``type_`` with the flags that ``levels`` were found to have."""
    match type_:
        case Record(fields):
            inner = levels.fields or {}
            return Record(tuple((name, marked(field, inner[name])) for name, field in fields))
        case Bag(element):
            opaque = levels.level is not None and not levels.level.find().shredded
            return Bag(marked(element, levels.element or Levels()), opaque)
        case Scalar() | LabelType() | Dict():
            return type_
        case _:
            assert_never(type_)
