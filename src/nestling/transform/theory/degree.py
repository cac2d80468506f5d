"""The degree of a query: how many deltas until the input is no longer read.

Law (3): when all relations change together, ``degree(delta(e)) = degree(e) − 1`` for an input-dependent
``e`` of finite degree; for one relation of several, ``≤``. A query of degree *k* is maintained by *k*
rounds of deltas. Nodes that are not polynomial in their input (count-wise operators, folds, and inner
bags that were not shredded) have no finite degree: ``TOP``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

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
)

#: The degree of what is not polynomial. Arithmetic on it does what the rules need: TOP + 1 = TOP.
TOP = math.inf

Degrees = Mapping[str, float]


def degree(expr: Expr, variables: Degrees | None = None) -> float:
    """The degree of ``expr``; ``variables`` gives that of its free let-variables.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> degree(parse("for x in R union for y in R where x == y union sng(x)", {"R": parse_type("Bag(int)")}))
    2
    """
    return _degree(expr, variables or {})


def _degree(expr: Expr, phi: Degrees) -> float:  # noqa: C901 - one arm per node
    match expr:
        case Relation():
            return 1
        case BagVar(name):
            return phi.get(name, 0)
        case InputChange() | Empty() | Sing() | Guard():
            return 0
        case Let(var, bound, body):
            return _degree(body, {**phi, var.name: _degree(bound, phi)})
        case For(_, source, body):
            return _degree(source, phi) + _degree(body, phi)
        case Product(factors):
            return sum(_degree(factor, phi) for _, factor in factors)
        case Union(terms):
            return max(_degree(term, phi) for term in terms)
        case Negate(body) | Flatten(body):
            return _degree(body, phi)
        case SingBag(_, body):
            return TOP if _degree(body, phi) else 0
        case CountWise(_, args):
            return TOP if any(_degree(arg, phi) for arg in args) else 0
        case First(_, source):
            return TOP if _degree(source, phi) else 0
        case Fold(_, _, source, body):
            return TOP if _degree(source, phi) else _degree(body, phi)
        case Group(_, source, _, _, rows, body):
            return TOP if _degree(source, phi) else _degree(body, {**phi, rows.name: 0})
        case Lookup(dictionary, _):
            return _of_dictionary(dictionary)
        case _:
            assert_never(expr)


def _of_dictionary(dictionary: Dictionary) -> float:
    match dictionary:
        case DictLit(_, _, body):
            return _degree(body, {})
        case DictInput(_, _, _, order):
            return 0 if order else 1
        case DictUnion(parts):
            return max(_of_dictionary(part) for part in parts)
        case DictEmpty():
            return 0
        case _:
            assert_never(dictionary)
