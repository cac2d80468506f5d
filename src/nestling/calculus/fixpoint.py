"""Recursion: a bag that is defined by a query over itself, and what such a query may be.

A fixpoint is no node. Its name is that of a relation, in its own query and in the terms that read it, and its meaning
is the least bag that the equation allows::

    T = distinct(e(T))      of sets, as UNION has them
    T = e(T)                of bags, as UNION ALL has them: how often a row is there counts its derivations

``least`` finds it from below, by naive iteration. There is a least one if ``e`` is monotone in T, and the bags are
those of SQL, where each round reads the rows of the last one, if ``e`` is linear in T: both are what ``power`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nestling.calculus.evaluate import evaluate
from nestling.calculus.terms import (
    Call,
    CountWise,
    Expr,
    Flatten,
    Fold,
    For,
    Guard,
    Lookup,
    Product,
    Relation,
    Sing,
    Union,
)
from nestling.calculus.traverse import children, relations, walk
from nestling.calculus.types import Bag, Record
from nestling.calculus.typing import term_type
from nestling.values.bag import EMPTY, ZBag

#: What a term does with a relation: it does not read it; each row adds its own share; rows add, and together more;
#: rows may take something away.
FREE, LINEAR, MONOTONE, OTHER = range(4)
_MONOTONE = ("distinct", "exists", "clip", "min", "max")


@dataclass(frozen=True)
class Fixpoint:
    """``name``, a relation of ``record``, is the least bag that ``query`` over it yields; a set if ``distinct``.

    ``reads_views``: the views that it was written over; ``query`` is over tables alone.
    """

    name: str
    record: Record
    query: Expr
    distinct: bool
    reads_views: frozenset[str] = frozenset()

    @property
    def reads(self) -> frozenset[str]:
        """The tables that it reads, and other fixpoints."""
        return relations(self.query) - {self.name}

    @property
    def relation(self) -> Relation:
        """It, as terms read it."""
        return Relation(self.name, Bag(self.record))


class Endless(Exception):
    """A fixpoint that is not reached."""


def least(
    fixpoint: Fixpoint,
    tables: Mapping[str, Any],
    rounds: int = 10_000,
    answer: Callable[[Expr, Mapping[str, Any]], ZBag] = evaluate,
) -> ZBag:
    """The rows of ``fixpoint`` over ``tables``, from below; ``Endless`` where so many ``rounds`` do not do.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> from nestling.calculus.types import INT, record
    >>> pair = record(a=INT, b=INT)
    >>> step = "for x in T union for y in E where x.b == y.a union sng⟨a: x.a, b: y.b⟩"
    >>> query = parse(f"E ⊎ {step}", {"E": Bag(pair), "T": Bag(pair)})
    >>> least(Fixpoint("T", pair, query, True), {"E": ZBag.of((1, 2), (2, 1))})
    {(1, 2): 1, (2, 1): 1, (1, 1): 1, (2, 2): 1}
    """
    found = EMPTY
    for _ in range(rounds):
        new = answer(fixpoint.query, {**tables, fixpoint.name: found})
        if fixpoint.distinct:
            new = ZBag((row, 1) for row in new)
        if new == found:
            return found
        found = new
    raise Endless(fixpoint.name)


def power(expr: Any, name: str) -> int:
    """What ``expr``, in normal form, does with ``name``: one of ``FREE``, ``LINEAR``, ``MONOTONE``, ``OTHER``.

    >>> from nestling.calculus.parse import parse, parse_type
    >>> R = {"R": parse_type("Bag(int)")}
    >>> [power(parse(text, R), "R") for text in ("sng(1)", "R ⊎ sng(1)", "exists(R)", "R ⊎ ⊖sng(1)", "⊖R")]
    [0, 1, 2, 1, 3]
    """
    match expr:
        case Relation(other):
            return LINEAR if other == name else FREE
        case Union() | Flatten() | Guard() | Sing():
            return max((power(part, name) for part in children(expr)), default=FREE)
        case For(_, source, body):
            return _together([power(source, name), power(body, name)])
        case Product(factors):
            return _together([power(factor, name) for _, factor in factors])
        case Fold(_, _, source, body):
            return OTHER if power(source, name) else power(body, name)
        case CountWise(operator, args) if operator in _MONOTONE:
            return MONOTONE if (found := max(power(arg, name) for arg in args)) == LINEAR else found
    return OTHER if name in relations(expr) else FREE


def _together(parts: list[int]) -> int:
    """Of a product: linear in a relation that one factor reads so."""
    read = [part for part in parts if part]
    return read[0] if len(read) == 1 else max([MONOTONE, *read]) if read else FREE


def adds_rows_alone(query: Expr) -> bool:
    """Whether an element more in an inner bag of any row takes nothing away: nothing asks what a bag holds."""
    known = (Relation, Union, Flatten, Guard, Sing, For, Product)
    return all(
        isinstance(node, known)
        or (isinstance(node, CountWise) and node.operator in _MONOTONE)
        or (_is_term(node) and not _asks_a_bag(node))
        for node in walk(query)
    )


def _is_term(node: Any) -> bool:
    return type(node).__name__ in ("Var", "Field", "Tuple", "Const", "Call", "Empty")


def _asks_a_bag(node: Any) -> bool:
    return isinstance(node, Call) and any(isinstance(term_type(arg), Bag) for arg in node.args)


def makes_no_values(query: Expr) -> bool:
    """Whether the values in the rows of ``query`` are all in what it reads or in its text: then there is an end."""
    return not any(isinstance(node, Call | Lookup) for node in _outside_of_guards(query))


def _outside_of_guards(node: Any) -> Any:
    yield node
    if not isinstance(node, Guard):
        for child in children(node):
            yield from _outside_of_guards(child)
