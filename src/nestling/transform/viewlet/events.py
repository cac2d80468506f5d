"""Deltas of monomials: what one event adds.

A row of table R that comes ``times`` times changes a product of atoms by the sum, over the non-empty subsets of
the atoms on R, of the product with those atoms replaced by the row; all else is read as it was.

Law (1), flat: the change of a query is the sum of what these monomials mean on the state before the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from nestling.calculus.build import call
from nestling.calculus.terms import Term, Var
from nestling.program.flat import Atom, Factor, Monomial, Test
from nestling.program.statements import TableDecl
from nestling.transform.lower.unify import unify
from nestling.transform.viewlet.references import adds_nothing

T = TypeVar("T")


def subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The non-empty subsets of ``items``, smallest first."""
    for size in range(1, len(items) + 1):
        yield from combinations(items, size)


def row_deltas(
    monomial: Monomial, table: TableDecl, times: Var, tables: Mapping[str, TableDecl]
) -> Iterator[Monomial]:
    """What a row of ``table`` adds to ``monomial``."""
    atoms = [f for f in monomial.factors if isinstance(f, Atom) and f.name == table.name]
    row = table.columns
    for chosen in subsets(atoms):
        if adds_nothing(monomial, chosen, tables):
            continue
        delta = replaced(monomial, chosen, [(atom.args, row) for atom in chosen], [times] * len(chosen))
        if delta is not None:
            yield delta


def replaced(
    monomial: Monomial,
    gone: Sequence[Factor],
    matches: Sequence[tuple[tuple[Term, ...], tuple[Var, ...]]],
    times: Sequence[Term],
    computed: frozenset[str] = frozenset(),
) -> Monomial | None:
    """``monomial`` without ``gone``, where each pair of ``matches`` is equal, its weights multiplied by ``times``.

    ``computed`` variables are bound by what takes the place of ``gone``: they are tested, not solved for.
    """
    rest = tuple(f for f in monomial.factors if not any(f is g for g in gone))
    tests = tuple(
        Test(call("==", arg, value))
        for args, values in matches
        for arg, value in zip(args, values, strict=True)
    )
    weights = monomial.weights
    for factor in times:
        weights = tuple(call("*", factor, weight) for weight in weights)
    fixed = computed | frozenset(value.name for _, values in matches for value in values)
    return unify(Monomial(monomial.keys, weights, (*rest, *tests)), fixed)
