"""Recursion over terms, written once.

``map_children`` is the only function that lists all shapes; everything else is a few lines over it. What
did not change is the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
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
    """``node`` with ``f`` applied to its direct children; binders are not children."""
    match node:
        case Var() | Const():
            return node
        case Call(function, args):
            return _same(node, Call(function, tuple(map(f, args))))
        case Field(record, name):
            return _same(node, Field(f(record), name))
        case Tuple(items):
            return _same(node, Tuple(tuple((name, f(term)) for name, term in items)))
        case Relation() | InputChange() | BagVar() | Empty() | DictInput() | DictEmpty():
            return node
        case InL(site, args):
            return _same(node, InL(site, tuple(map(f, args))))
        case Let(var, bound, body):
            return _same(node, Let(var, f(bound), f(body)))
        case Sing(element):
            return _same(node, Sing(f(element)))
        case SingBag(site, body, opaque):
            return _same(node, SingBag(site, f(body), opaque))
        case Guard(test):
            return _same(node, Guard(f(test)))
        case For(var, source, body):
            return _same(node, For(var, f(source), f(body)))
        case Product(factors):
            return _same(node, Product(tuple((name, f(factor)) for name, factor in factors)))
        case Union(terms):
            return _same(node, Union(tuple(map(f, terms))))
        case Negate(body):
            return _same(node, Negate(f(body)))
        case Flatten(body):
            return _same(node, Flatten(f(body)))
        case CountWise(operator, args):
            return _same(node, CountWise(operator, tuple(map(f, args))))
        case First(limit, source, greatest):
            return _same(node, First(limit, f(source), greatest))
        case Fold(var, aggregate, source, body):
            return _same(node, Fold(var, aggregate, f(source), f(body)))
        case Group(var, source, key, key_var, rows, body):
            return _same(node, Group(var, f(source), f(key), key_var, rows, f(body)))
        case Lookup(dictionary, label):
            return _same(node, Lookup(f(dictionary), f(label)))
        case DictLit(site, params, body):
            return _same(node, DictLit(site, params, f(body)))
        case DictUnion(parts):
            return _same(node, DictUnion(tuple(map(f, parts))))
        case _:
            assert_never(node)


def _same(old: Any, new: Any) -> Any:
    """``old`` when nothing changed; identity of the children decides, so this costs O(children)."""
    for name in old.__match_args__:
        a, b = getattr(old, name), getattr(new, name)
        if a is not b and not (isinstance(a, tuple) and _all_same(a, b)):
            return new
    return old


def _all_same(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    if len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        if a is not b and not (isinstance(a, tuple) and _all_same(a, b)):
            return False
    return True


def children(node: Node) -> list[Any]:
    """The direct children of ``node``."""
    if isinstance(node, Call):
        return list(node.args)
    if isinstance(node, Var | Const):
        return []
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
