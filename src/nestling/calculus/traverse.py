"""Recursion over terms, written once.

``map_children`` is the only function that lists all shapes; everything else is a few lines over it. What
did not change is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import is_
from typing import Any, TypeAlias, assert_never

from nestling.calculus.once import once
from nestling.calculus.terms import (
    BagVar,
    Call,
    Const,
    CountWise,
    DictEmpty,
    DictInput,
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
    Node,
    Product,
    Relation,
    Sing,
    SingBag,
    Tuple,
    Union,
    Var,
    facts_of,
)

Rule: TypeAlias = Callable[[Any], Any]


def map_children(node: Node, f: Callable[[Any], Any]) -> Any:  # noqa: C901 - one arm per node
    """``node`` with ``f`` applied to its direct children; binders are not children.

    Where ``f`` gives back every child, it is the node itself. What occurs most often stands first.
    """
    match node:
        case Var() | Const():
            return node
        case Call(function, args):
            return node if (new := _each(args, f)) is args else Call(function, new)
        case Field(record, name):
            return node if (new := f(record)) is record else Field(new, name)
        case Tuple(items):
            return node if (new := _each_named(items, f)) is items else Tuple(new)
        case For(var, source, body):
            first, second = f(source), f(body)
            return node if first is source and second is body else For(var, first, second)
        case Fold(var, aggregate, source, body):
            first, second = f(source), f(body)
            return node if first is source and second is body else Fold(var, aggregate, first, second)
        case Sing(element):
            return node if (new := f(element)) is element else Sing(new)
        case Guard(test):
            return node if (new := f(test)) is test else Guard(new)
        case Product(factors):
            return node if (new := _each_named(factors, f)) is factors else Product(new)
        case Union(terms):
            return node if (new := _each(terms, f)) is terms else Union(new)
        case Relation() | InputChange() | BagVar() | Empty() | DictInput() | DictEmpty():
            return node
        case InL(site, args):
            return node if (new := _each(args, f)) is args else InL(site, new)
        case Let(var, bound, body):
            first, second = f(bound), f(body)
            return node if first is bound and second is body else Let(var, first, second)
        case SingBag(site, body, opaque):
            return node if (new := f(body)) is body else SingBag(site, new, opaque)
        case Negate(body):
            return node if (new := f(body)) is body else Negate(new)
        case Flatten(body):
            return node if (new := f(body)) is body else Flatten(new)
        case CountWise(operator, args):
            return node if (new := _each(args, f)) is args else CountWise(operator, new)
        case First(limit, source, greatest):
            return node if (new := f(source)) is source else First(limit, new, greatest)
        case Group(var, source, key, key_var, rows, body):
            first, second, third = f(source), f(key), f(body)
            is_same = first is source and second is key and third is body
            return node if is_same else Group(var, first, second, key_var, rows, third)
        case Lookup(dictionary, label):
            first, second = f(dictionary), f(label)
            return node if first is dictionary and second is label else Lookup(first, second)
        case DictLit(site, params, body):
            return node if (new := f(body)) is body else DictLit(site, params, new)
        case DictUnion(parts):
            return node if (new := _each(parts, f)) is parts else DictUnion(new)
        case _:
            assert_never(node)


def _each(nodes: tuple[Any, ...], f: Callable[[Any], Any]) -> tuple[Any, ...]:
    """``f`` of each; the same tuple where that gives back all of them."""
    new = tuple(map(f, nodes))
    return nodes if all(map(is_, new, nodes)) else new


def _each_named(items: tuple[tuple[str, Any], ...], f: Callable[[Any], Any]) -> tuple[tuple[str, Any], ...]:
    new = tuple([pair if (made := f(pair[1])) is pair[1] else (pair[0], made) for pair in items])
    return items if all(map(is_, new, items)) else new


def children(node: Node) -> list[Any]:
    """The direct children of ``node``."""
    if isinstance(node, Call):
        return list(node.args)
    if isinstance(node, Var | Const):
        return []
    if isinstance(node, Field):
        return [node.record]
    found: list[Any] = []

    def visit(child: Any) -> Any:
        found.append(child)
        return child

    map_children(node, visit)
    return found


def is_term(node: Any) -> bool:
    """Whether ``node`` denotes an element rather than a bag or a dictionary."""
    return isinstance(node, Var | Field | Tuple | Const | Call | InL)


def walk(node: Any) -> Iterator[Any]:
    """``node`` and everything below it, parents first."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(reversed(children(here)))


def rewrite(node: Any, rules: Sequence[Rule]) -> Any:
    """``node`` with ``rules`` applied from the leaves up until none fires."""
    if not isinstance(node, Call):
        return _rewritten(node, rules)
    facts = facts_of(node)
    if rules not in facts:
        new = _rewritten(node, rules)
        # What a call is itself is not held by it: that would be a cycle.
        facts[rules] = None if new is node else new
        if new is not node and isinstance(new, Call):
            facts_of(new)[rules] = None
    return node if facts[rules] is None else facts[rules]


def _rewritten(node: Any, rules: Sequence[Rule]) -> Any:
    node = map_children(node, lambda child: rewrite(child, rules))
    for rule in rules:
        if (new := rule(node)) is not None:
            return rewrite(new, rules)
    return node


def binders(node: Node) -> tuple[Var | BagVar, ...]:
    """The variables ``node`` binds in some of its children."""
    match node:
        case Let(var):
            return (var,)
        case For(var) | Fold(var):
            return (var,)
        case Group(var, _, _, key_var, rows):
            return (var, key_var, rows)
        case DictLit(_, params):
            return params
        case Var() | Const() | Field() | Tuple() | Call() | InL():
            return ()
        case (
            Relation()
            | InputChange()
            | BagVar()
            | Empty()
            | Sing()
            | SingBag()
            | Guard()
            | Product()
            | Union()
        ):
            return ()
        case (
            Negate() | Flatten() | CountWise() | First() | Lookup() | DictInput() | DictUnion() | DictEmpty()
        ):
            return ()
        case _:
            assert_never(node)


def scopes(node: Node) -> list[tuple[Any, frozenset[str]]]:
    """The direct children, each with the names that ``node`` binds in it."""
    match node:
        case Let(var, bound, body):
            return [(bound, frozenset()), (body, frozenset({var.name}))]
        case For(var, source, body) | Fold(var, _, source, body):
            return [(source, frozenset()), (body, frozenset({var.name}))]
        case Group(var, source, key, key_var, rows, body):
            inner = frozenset({key_var.name, rows.name})
            return [(source, frozenset()), (key, frozenset({var.name})), (body, inner)]
        case DictLit(_, params, body):
            return [(body, frozenset(param.name for param in params))]
        case Var() | Const() | Field() | Tuple() | Call() | InL():
            return _unbound(node)
        case (
            Relation()
            | InputChange()
            | BagVar()
            | Empty()
            | Sing()
            | SingBag()
            | Guard()
            | Product()
            | Union()
        ):
            return _unbound(node)
        case (
            Negate() | Flatten() | CountWise() | First() | Lookup() | DictInput() | DictUnion() | DictEmpty()
        ):
            return _unbound(node)
        case _:
            assert_never(node)


def _unbound(node: Node) -> list[tuple[Any, frozenset[str]]]:
    return [(child, frozenset()) for child in children(node)]


@once
def free_vars(node: Any) -> Mapping[str, Var | BagVar]:
    """The variables that occur in ``node`` and are bound outside it, in order of appearance."""
    if isinstance(node, Var | BagVar):
        return {node.name: node}
    if isinstance(node, Field):
        return free_vars(node.record)
    if isinstance(node, Call):
        found: dict[str, Var | BagVar] = {}
        for arg in node.args:
            if not isinstance(arg, Const):
                found.update(free_vars(arg))
        return found
    return {
        name: var
        for child, bound in scopes(node)
        for name, var in free_vars(child).items()
        if name not in bound
    }


def relations(node: Any) -> frozenset[str]:
    """The names of the inputs ``node`` reads, directly or in a dictionary; changes do not count."""
    names = set()
    for here in walk(node):
        match here:
            case Relation(name) | DictInput(name, _, _, 0):
                names.add(name)
    return frozenset(names)


def substitute(node: Any, replacements: dict[str, Any]) -> Any:
    """``node`` with free variables replaced.

    Capture cannot happen while binders are unique: ``normalize`` renames them apart first.
    """
    if isinstance(node, Var | BagVar):
        return replacements.get(node.name, node)
    if isinstance(node, Call) and replacements.keys().isdisjoint(free_vars(node)):
        return node
    return map_children(node, lambda child: substitute(child, replacements))


class Names:
    """A supply of names that are not yet taken."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        #: The number from which on to look: names are never given back.
        self._next: dict[str, int] = {}

    @classmethod
    def of(cls, *nodes: Any) -> Names:
        """Names apart from every variable that occurs or is bound in ``nodes``."""
        taken = set()
        for node in nodes:
            for here in walk(node):
                if isinstance(here, Var | BagVar):
                    taken.add(here.name)
                taken.update(var.name for var in binders(here))
        return cls(frozenset(taken))

    def fresh(self, like: str) -> str:
        """``like`` itself, or the first of ``like1``, ``like2``, … that is free."""
        number = self._next.get(like, 0)
        name = f"{like}{number}" if number else like
        while name in self._taken:
            number += 1
            name = f"{like}{number}"
        self._taken.add(name)
        self._next[like] = number
        return name


def number_sites(expr: Expr) -> Expr:
    """``expr`` with its inner bags numbered from 1 in reading order."""
    numbers = count(1)

    def visit(node: Any) -> Any:
        if isinstance(node, SingBag):
            site = next(numbers)
            return SingBag(site, visit(node.body), node.opaque)
        return map_children(node, visit)

    numbered: Expr = visit(expr)
    return numbered


def size(node: Any) -> int:
    """The number of nodes."""
    return sum(1 for _ in walk(node))


@once
def height(term: Any) -> int:
    """How many calls stand inside one another in a term."""
    inner = [height(child) for child in children(term)]
    return isinstance(term, Call) + max(inner, default=0)


def is_input_dependent(expr: Expr) -> bool:
    """Whether ``expr`` reads an input. Free let-variables are not looked through: inline lets first."""
    return bool(relations(expr))
