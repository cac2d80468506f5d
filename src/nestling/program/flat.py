"""The flat form K: sums of products over stored rows.

::

    query    ::= Sum_keys (monomial + …)
    monomial ::= keys ← weights · factor · …
    factor   ::= R(t, …) | [t] | pattern ∈ t | x := aggregate(query)[t, …, < t] | f(query)[t, …]

A monomial stands for all assignments of its variables that satisfy its factors. Each adds the weights, times the
multiplicities of the rows it used, to the measures stored under its keys. Variables are scalars: records are
flattened into columns, inner bags are labels. A nested aggregate (``Lift``) and a count-wise operator
(``Pointwise``) read a closed query of their own at the arguments they are given, as an atom reads a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nestling.calculus.terms import Term, Var
from nestling.calculus.valued import VALUED

Factor: TypeAlias = "Atom | Test | Unnest | Lift | Pointwise"

#: The shape of a label of a query: its site, and for every label in its environment that label's own shape, or
#: ``None`` where it is a label of an input. A definition is lowered once per shape that occurs, so that what it
#: looks up is known.
Shape: TypeAlias = "tuple[int, tuple[Shape | None, ...]]"

#: Aggregates that need the values themselves, in order: their query has the value as its last key.
ORDERED = ("min", "max", "count_distinct", *VALUED)


def of_first(limit: int, greatest: bool) -> str:
    """The name of the aggregate whose value is the bag of the first, or last, ``limit`` values."""
    return f"{'last' if greatest else 'first'}_{limit}"


def first_of(aggregate: str) -> tuple[int, bool] | None:
    """The limit of such an aggregate, and whether it takes the greatest; ``None`` of any other."""
    name, _, limit = aggregate.partition("_")
    return (int(limit), name == "last") if name in ("first", "last") else None


def is_ordered(aggregate: str) -> bool:
    """Whether ``aggregate`` needs the values themselves."""
    return aggregate in ORDERED or first_of(aggregate) is not None


@dataclass(frozen=True, slots=True)
class Bound:
    """``k operator term`` — of the last key of a query; ``operator`` is one of ``<``, ``<=``, ``>``, ``>=``."""

    operator: str
    term: Term


@dataclass(frozen=True, slots=True)
class Atom:
    """``R(t, …)`` — a row of a table or an input dictionary; contributes its multiplicity."""

    name: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """``[t]`` — one where ``t`` is true, else zero."""

    test: Term


@dataclass(frozen=True, slots=True)
class Unnest:
    """``pattern ∈ t`` — an element of the opaque bag ``t``; contributes its multiplicity."""

    bag: Term
    pattern: Term


@dataclass(frozen=True, slots=True)
class Lift:
    """``x := aggregate(query)[t, …]`` — the aggregate of one group; a group without rows has one too.

    With ``bounds``, ``[t, …, < u]``: of the entries of the group whose last key is within them.
    """

    var: Var
    aggregate: str
    query: Query
    args: tuple[Term, ...]
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointwise:
    """``f(query)[t, …]`` — contributes f of the measures at one key."""

    operator: str
    query: Query
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Monomial:
    """``keys ← weights · factors``."""

    keys: tuple[Term, ...]
    weights: tuple[Term, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """``Sum_keys (monomial + …)``; ``keys`` name the columns, ``width`` counts the measures."""

    keys: tuple[Var, ...]
    monomials: tuple[Monomial, ...]
    width: int = 1
