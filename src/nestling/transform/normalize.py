"""The normal form that shredding and lowering read.

Law (18): ``evaluate(normalize(e)) = evaluate(e)``. Afterwards binders are unique, there are no ``let`` and
no ``group``, ``∅`` is propagated, and every ``sng_ι`` has a site of its own, numbered from 1 in reading
order. Lets must go before shredding: ``for y in S union let X := sng(y) in sng_1(X)`` has a body without
free for-variables, so all its labels would be one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, assert_never

from nestling.calculus.build import (
    countwise,
    dict_union,
    first,
    flatten,
    fold,
    for_,
    lookup,
    negate,
    product,
    ungroup,
    union,
)
from nestling.calculus.narrow import columns_read, with_columns
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
)
from nestling.calculus.traverse import Names, free_vars, map_children, number_sites, walk
from nestling.calculus.typing import dictionary_element, element_type


def normalize(expr: Expr) -> Expr:
    """``expr`` with unique binders, lets inlined, groups expanded, ∅ propagated and sites numbered.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.show import show
    >>> print(show(normalize(parse("let X := R in for x in X union X", {"R": parse_type("Bag(int)")}))))
    for x in R union R
    """
    normal = _Normalize(Names(frozenset(free_vars(expr)))).of(expr, {})
    return _number_sites(normal)


#: What stands for variables.
Env: TypeAlias = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class _Bound:
    """A bag with a name, in the ``env`` of its ``let``; called, it is a copy in its normal form."""

    of: Callable[[Expr, Env], Any]
    bag: Expr
    env: Env

    def __call__(self) -> Any:
        return self.of(self.bag, self.env)


class _Normalize:
    """One run: the names given out so far. ``env`` maps variables to what stands for them."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, node: Any, env: Env) -> Any:
        match node:
            case Var(name) | BagVar(name):
                if name not in env:
                    return node
                found = env[name]()
                return node if found == node else found
            case Let(var, bound, body):
                # Normalised anew at every use, so that no two uses share a binder.
                return self.of(body, {**env, var.name: _Bound(self.of, bound, env)})
            case For(var, source, body):
                if (few := self.narrowed(var, source, body, env)) is not None:
                    return few
                new = self.renamed(var)
                loop = for_(new, self.of(source, env), self.of(body, {**env, var.name: lambda: new}))
                return kept(node, loop)
            case Fold(var, aggregate, source, body):
                new = self.renamed(var)
                inner = self.of(body, {**env, var.name: lambda: new})
                return kept(node, fold(new.name, aggregate, self.of(source, env), inner, new.at))
            case Group():
                return self.of(ungroup(node, Names.of(node)), env)
            case DictLit(site, params, body):
                own = {param.name: self.renamed(param) for param in params}
                inner = self.of(body, {name: partial(_identity, var) for name, var in own.items()})
                return DictLit(site, tuple(own.values()), inner)
            case _:
                return kept(node, rebuilt(map_children(node, lambda child: self.of(child, env))))

    def narrowed(self, var: Var, source: Expr, body: Expr, env: Env) -> Expr | None:
        """A loop over rows that are written out, or have a name: they have the columns that the loop reads."""
        bound = env.get(source.name) if isinstance(source, BagVar) else None
        rows, outside = (bound.bag, bound.env) if isinstance(bound, _Bound) else (source, env)
        if not isinstance(rows, For | Union) or (read := columns_read(var, body)) is None:
            return None
        if (few := with_columns(rows, read)) is None:
            return None
        new = self.renamed(replace(var, type=element_type(few)))
        return for_(new, self.of(few, outside), self.of(body, {**env, var.name: lambda: new}))

    def renamed(self, var: Var) -> Var:
        name = var.name if var.name == "_" else self.names.fresh(var.name)
        return var if name == var.name else replace(var, name=name)


def kept(old: Node, new: Any) -> Any:
    """``old`` where ``new`` is made of the same: what was found out about it need not be found out again."""
    if old is new or type(old) is not type(new):
        return new
    for name in old.__match_args__:
        before, after = getattr(old, name), getattr(new, name)
        if before is not after and not _is_same(before, after):
            return new
    return old


def _is_same(part: Any, other: Any) -> bool:
    """Whether a part of a node is the same as another: a name, a binder, or nodes that are."""
    if isinstance(part, tuple):
        pairs = zip(part, other, strict=True) if len(part) == len(other) else [(True, False)]
        return all(a is b or _is_same(a, b) for a, b in pairs)
    return isinstance(part, Var | BagVar | str | int) and bool(part == other)


def _identity(value: Any) -> Any:
    return value


def rebuilt(node: Node) -> Any:  # noqa: C901 - one arm per node
    """``node`` through its smart constructor."""
    match node:
        case Union(terms):
            return union(element_type(node), *terms)
        case Negate(body):
            return negate(body)
        case Flatten(body):
            return flatten(body)
        case Product(factors):
            return product(factors)
        case CountWise(operator, args):
            return countwise(operator, *args)
        case First(limit, source, greatest):
            return first(limit, source, greatest)
        case For(var, source, body):
            return for_(var, source, body)
        case Fold(var, aggregate, source, body):
            return fold(var.name, aggregate, source, body, var.at)
        case Lookup(dictionary, label):
            return lookup(dictionary, label)
        case DictUnion(parts):
            return dict_union(dictionary_element(node), parts)
        case (
            Var()
            | Const()
            | Field()
            | Tuple()
            | Call()
            | InL()
            | Relation()
            | InputChange()
            | BagVar()
            | Empty()
        ):
            return node
        case Let() | Sing() | SingBag() | Guard() | Group() | DictLit() | DictInput() | DictEmpty():
            return node
        case _:
            assert_never(node)


def _number_sites(expr: Expr) -> Expr:
    if any(isinstance(node, InL | DictLit) for node in walk(expr)):
        # Already shredded: its sites are the names of its labels.
        return expr
    return number_sites(expr)
