"""Cardinalities as numbers or as symbols: ``12``, ``|M|``, ``|M|·|ΔM|``, ``max(|M|, |ΔM|)``.

Cost is arithmetic with +, · and sup on cardinalities. With numbers it estimates; with symbols it shows the
formula the papers print. A symbolic cardinality is a set of polynomials whose greatest counts; where there would be
more than ``MOST`` of them, which nobody reads and which double with every level, one that is at least each is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
Cardinality: TypeAlias = "int | Symbolic"
#: So many polynomials are told apart.
MOST = 32
Join: TypeAlias = Callable[[Polynomial, Polynomial], list[tuple[Monomial, int]]]


@dataclass(frozen=True, slots=True)
class Symbolic:
    """The greatest of some polynomials over relation sizes; each size is at least 1."""

    choices: frozenset[Polynomial]

    @classmethod
    def size_of(cls, name: str) -> Symbolic:
        """``|name|``."""
        return cls(frozenset({(((name,), 1),)}))

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number for the given sizes."""
        return max(
            sum(times * prod(sizes[name] for name in names) for names, times in choice)
            for choice in self.choices
        )

    def __str__(self) -> str:
        texts = sorted(" + ".join(map(_show, choice)) for choice in self.choices)
        return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"


def _show(term: tuple[Monomial, int]) -> str:
    names, times = term
    parts = [f"|{name}|" for name in names]
    return "·".join(parts if times == 1 and parts else [str(times), *parts])


def plus(left: Cardinality, right: Cardinality) -> Cardinality:
    """``left + right``."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _combine(left, right, lambda a, b: [*a, *b])


def times(left: Cardinality, right: Cardinality) -> Cardinality:
    """``left · right``.

    >>> print(times(2, plus(Symbolic.size_of("M"), 1)))
    2 + 2·|M|
    """
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return _combine(left, right, lambda a, b: [((*x, *y), m * n) for x, m in a for y, n in b])


def greater(left: Cardinality, right: Cardinality) -> Cardinality:
    """``sup(left, right)``."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    choices = _choices(left) | _choices(right)
    return _symbolic(
        frozenset(c for c in choices if not any(c != other and _covers(other, c) for other in choices))
    )


def _choices(value: Cardinality) -> frozenset[Polynomial]:
    return frozenset({(((), value),)}) if isinstance(value, int) else value.choices


def _combine(left: Cardinality, right: Cardinality, join: Join) -> Cardinality:
    pairs = product(_choices(left), _choices(right))
    return _symbolic(frozenset(_collect(join(a, b)) for a, b in pairs))


def _symbolic(choices: frozenset[Polynomial]) -> Symbolic:
    """The greatest of ``choices``; of too many, the polynomial that is at least each of them."""
    if len(choices) <= MOST:
        return Symbolic(choices)
    most: dict[Monomial, int] = {}
    for names, count in (term for choice in choices for term in choice):
        most[names] = max(most.get(names, 0), count)
    return Symbolic(frozenset({tuple(sorted(most.items()))}))


def _collect(terms: list[tuple[Monomial, int]]) -> Polynomial:
    totals: dict[Monomial, int] = {}
    for names, count in terms:
        key = tuple(sorted(names))
        totals[key] = totals.get(key, 0) + count
    return tuple(sorted(totals.items()))


def _covers(big: Polynomial, small: Polynomial) -> bool:
    """Whether ``big ≥ small`` term by term: a size is at least 1, so fewer factors are never more."""
    have = dict(big)
    return all(have.get(names, 0) >= count for names, count in small) or (
        len(small) == 1 and small[0][0] == () and small[0][1] <= sum(have.values())
    )
