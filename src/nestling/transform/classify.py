"""What each construct of a query costs to maintain, and whether the query is efficiently incrementalizable.

Law: a query all of whose constructs are LIN, BIL or SHR has, shredded, parts of finite degree only, so
laws (3) and (4) hold for each: its changes cost less than recomputation. That is the theorem's fragment, and
only there is "efficiently incrementalizable" asserted. CNT, LIFT-EQ and ORD are efficient given the indexes
they name; the rest is reported with the construct that stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, assert_never

from nestling.calculus.show import brief
from nestling.calculus.terms import (
    BagVar,
    Call,
    CountWise,
    DictInput,
    Empty,
    Expr,
    Field,
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
    Term,
    Union,
    Var,
)
from nestling.calculus.traverse import children, free_vars, is_term, relations, scopes, walk
from nestling.calculus.types import Bag, bag_levels, is_base
from nestling.calculus.typing import element_type, term_type
from nestling.errors import Span


class Class(Enum):
    """The classes, each with its cost per update and what is to be said of it."""

    LIN = ("O(|Δ|)", "linear in its input")
    BIL = ("O(|Δ| · slice)", "a join: a change meets the rows that match it")
    SHR = ("as its body, per affected label", "an inner bag, shredded: elements change, not bags")
    OPQ = ("O(|inner bag|)", "an inner bag kept as one value: every change rebuilds it")
    CNT = ("O(|δ argument|) probes", "counts are looked up by key; a flip costs the partner slice")
    LIFT_EQ = ("affected keys × their partners", "an aggregate correlated by equality")
    LIFT_X = ("rescan of the guarded expression", "an aggregate that every row depends on")
    INEQ = ("O(|Δ| · range)", "a join by inequality: a range of an ordered index")
    ORD = ("O(log n)", "min or max: an ordered index of counts")
    CAN = ("every parent row of a changed bag", "nested values compared by content")

    @property
    def code(self) -> str:
        return self.name.replace("_", "-")

    @property
    def cost(self) -> str:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]


THEOREM = frozenset({Class.LIN, Class.BIL, Class.SHR})
INDEXED = THEOREM | {Class.CNT, Class.LIFT_EQ, Class.ORD}


class Verdict(Enum):
    """What may be said of a whole query."""

    EFFICIENT = "efficiently incrementalizable"
    INDEXED = "efficient under stated index assumptions"
    NOT = "not efficiently incrementalizable"


@dataclass(frozen=True, slots=True)
class Construct:
    """One construct of a query and its class."""

    class_: Class
    term: Expr
    at: Span | None = None

    @property
    def text(self) -> str:
        """The construct in a line."""
        return brief(self.term, 60)

    def show(self) -> str:
        return f"{self.class_.code:8} {self.text}\n         {self.class_.cost}: {self.class_.reason}"


@dataclass(frozen=True, slots=True)
class Classification:
    """The constructs of a query that read the input, and the verdict on all of them."""

    constructs: tuple[Construct, ...]

    @property
    def verdict(self) -> Verdict:
        classes = {construct.class_ for construct in self.constructs}
        if classes <= THEOREM:
            return Verdict.EFFICIENT
        return Verdict.INDEXED if classes <= INDEXED else Verdict.NOT

    @property
    def obstacles(self) -> tuple[Construct, ...]:
        """The constructs that stand in the way."""
        return tuple(construct for construct in self.constructs if construct.class_ not in INDEXED)

    @property
    def beyond_theorem(self) -> tuple[Construct, ...]:
        """The constructs that the theorem says nothing of."""
        return tuple(construct for construct in self.constructs if construct.class_ not in THEOREM)

    def show(self) -> str:
        """The verdict and, below it, every construct."""
        return "\n".join((self.verdict.value, *(construct.show() for construct in self.constructs)))


def classify(expr: Expr) -> Classification:
    """The classes of the constructs of ``expr``, a normal form whose types carry their flags."""
    return Classification(tuple(_constructs(expr, Outer({}), None)))


@dataclass(frozen=True)
class Known:
    """What is known of the terms of a query, wherever they stand: by identity, since a query is long and goes deep."""

    _inputs: dict[int, bool] = field(default_factory=dict)
    _bags: dict[int, frozenset[str]] = field(default_factory=dict)

    def reads_input(self, node: Any) -> bool:
        """Whether a relation is read in ``node``."""
        if id(node) not in self._inputs:
            own = isinstance(node, Relation | DictInput) and bool(relations(node))
            self._inputs[id(node)] = own or any(map(self.reads_input, children(node)))
        return self._inputs[id(node)]

    def bags(self, node: Any) -> frozenset[str]:
        """The variables of which ``node`` reads a bag: one that they are, or one in their fields."""
        if id(node) not in self._bags:
            own = isinstance(node, Var | Field) and isinstance(term_type(node), Bag)
            inner = [self.bags(child) for child in children(node)]
            self._bags[id(node)] = frozenset(free_vars(node) if own else ()).union(*inner)
        return self._bags[id(node)]


@dataclass(frozen=True)
class Outer:
    """The loop variables in scope that range over the input."""

    vars: Mapping[str, Var]
    known: Known = field(default_factory=Known)

    def __bool__(self) -> bool:
        return bool(self.vars)

    def keys(self) -> Set[str]:
        return self.vars.keys()

    def having(self, var: Var) -> Outer:
        return Outer({**self.vars, var.name: var}, self.known)


def _constructs(expr: Expr, outer: Outer, around: Span | None) -> Iterator[Construct]:
    """The constructs of ``expr``; one without a place of its own stands where the one ``around`` it does."""
    at = _place(expr) or around
    if _reads(expr, outer):
        for class_ in _classes(expr, outer):
            yield Construct(class_, expr, at)
    for child, names in scopes(expr):
        if not is_term(child):
            yield from _constructs(child, _inside(expr, names, outer), at)


def _place(expr: Expr) -> Span | None:
    """Where the construct stands in the text that the query was read from, if a front end said so."""
    return expr.var.at if isinstance(expr, For | Fold) else None


def _inside(expr: Expr, names: frozenset[str], outer: Outer) -> Outer:
    match expr:
        case For(var, source, _) if var.name in names and _reads(source, outer):
            return outer.having(var)
    return outer


def _reads(expr: Expr, outer: Outer) -> bool:
    """Whether ``expr`` changes with the input: it reads a relation, or an inner bag of an input's row."""
    return (
        outer.known.reads_input(expr)
        or not outer.keys().isdisjoint(outer.known.bags(expr))
        or (_compares_shredded(expr) and not outer.keys().isdisjoint(free_vars(expr)))
    )


def _compares_shredded(expr: Expr) -> bool:
    """Whether ``expr`` looks into shredded bags: counts compare whole elements."""
    return isinstance(expr, CountWise | First) and any(
        not level.opaque for _, level in bag_levels(element_type(expr))
    )


def _changes_in_place(body: Expr, outer: Outer) -> bool:
    """Whether an inner bag changes while its row stays: it reads a relation, or a shredded bag of the row."""
    return outer.known.reads_input(body) or any(
        element_type(node.body) != Bag(element_type(node), opaque=True)
        and not outer.keys().isdisjoint(free_vars(node))
        for node in walk(body)
        if isinstance(node, Flatten)
    )


def _classes(expr: Expr, outer: Outer) -> list[Class]:
    match expr:
        case Union() | Negate() | Flatten():
            return [Class.LIN]
        case For(_, source, body):
            return [_of_for(expr, outer)] if _reads(source, outer) else []
        case Product(factors):
            changing = [factor for _, factor in factors if _reads(factor, outer)]
            return [Class.BIL if len(changing) > 1 else Class.LIN]
        case SingBag(_, body, opaque):
            return [Class.OPQ if opaque else Class.SHR] if _changes_in_place(body, outer) else []
        case CountWise():
            return [Class.CNT if is_base(element_type(expr)) else Class.CAN]
        case First():
            return [Class.ORD if is_base(element_type(expr)) else Class.CAN]
        case Fold(_, aggregate, source, _) if _reads(source, outer):
            ordered = [Class.ORD] if aggregate in ("min", "max") else []
            return [*ordered, _of_fold(expr, outer)]
        case (
            Fold()
            | Relation()
            | InputChange()
            | BagVar()
            | Let()
            | Empty()
            | Sing()
            | Guard()
            | Group()
            | Lookup()
        ):
            return []
        case _:
            assert_never(expr)


def _of_for(expr: For, outer: Outer) -> Class:
    """A loop inside a loop over the input is a join; what relates the two decides how dear it is."""
    if not outer or not outer.known.reads_input(expr.source):
        return Class.LIN
    tests = [test for test in _conditions(expr.body) if _relates(test, {expr.var.name}, outer.keys())]
    if tests and not any(_binds(test, {expr.var.name}, outer.keys()) for test in tests):
        return Class.INEQ
    return Class.BIL


def _of_fold(expr: Fold, outer: Outer) -> Class:
    """Which rows a change of the aggregate reaches: those of its keys, or all."""
    if not outer:
        return Class.LIFT_X if _rows_below(expr.body, expr.var.name, outer) else Class.LIFT_EQ
    return Class.LIFT_EQ if _correlated(expr.source, outer) else Class.LIFT_X


def _rows_below(body: Expr, name: str, outer: Outer) -> bool:
    """Whether rows of the input are gone through where ``name`` is known: each may change with it."""
    match body:
        case Fold(_, _, source, rest):
            uses = name in free_vars(source) and _reads(source, outer)
            return uses or _rows_below(rest, name, outer)
        case For(_, Guard(), rest):
            return _rows_below(rest, name, outer)
    return _reads(body, outer)


def _correlated(source: Expr, outer: Outer) -> bool:
    """Whether ``source`` is bound to its outer row: by an equality, or as an inner bag of the row."""
    if any(
        isinstance(node, Flatten) and not outer.keys().isdisjoint(free_vars(node)) for node in walk(source)
    ):
        return True
    inner = {node.var.name for node in walk(source) if isinstance(node, For)} - {"_"}
    tests = [test for node in walk(source) if isinstance(node, Guard) for test in _conjuncts(node.test)]
    return any(_binds(test, inner, outer.keys()) for test in tests)


def _conditions(body: Expr) -> list[Term]:
    """The conjuncts that every element of ``body`` satisfies."""
    match body:
        case For(_, Guard(test), rest):
            return [*_conjuncts(test), *_conditions(rest)]
        case For(_, _, rest):
            return _conditions(rest)
    return []


def _conjuncts(test: Term) -> list[Term]:
    match test:
        case Call("and", (left, right)):
            return [*_conjuncts(left), *_conjuncts(right)]
    return [test]


def _relates(test: Term, inner: Set[str], outer: Set[str]) -> bool:
    names = free_vars(test).keys()
    return not names.isdisjoint(inner) and not names.isdisjoint(outer)


def _binds(test: Term, inner: Set[str], outer: Set[str]) -> bool:
    """Whether ``test`` holds only where inner equals outer: each disjunct has such an equality."""
    match test:
        case Call("or", (left, right)):
            return _binds(left, inner, outer) and _binds(right, inner, outer)
        case Call("and", (left, right)):
            return _binds(left, inner, outer) or _binds(right, inner, outer)
        case Call("==" | "=", (left, right)):
            sides = [free_vars(left).keys(), free_vars(right).keys()]
            return any(a <= inner and a and b <= outer and b for a, b in (sides, sides[::-1]))
    return False
