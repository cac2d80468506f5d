"""Handles to maps: what identifies a map, and which of its keys and measures a query reads.

Law (9): maps of one identity are one map; each query reads its measures and its keys where its handle says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nestling.calculus.terms import Term
from nestling.program.flat import Monomial
from nestling.program.statements import Order

#: What tells a map from every other: its body, its order, whether it is nested, and how many keys it has, which a
#: body of nothing does not say.
Identity: TypeAlias = tuple[tuple[Monomial, ...], Order, bool, int]
Weights: TypeAlias = tuple[Term, ...]


@dataclass(frozen=True)
class MapHandle:
    """A map as one query reads it: its ``measures`` among the map's ``weights``, and its keys in this ``order``."""

    name: str
    weights: tuple[Weights, ...]
    measures: tuple[int, ...] = ()
    order: tuple[int, ...] = ()

    def at(self, wanted: tuple[Weights, ...], order: tuple[int, ...]) -> MapHandle:
        places = tuple(self.weights.index(measure) for measure in wanted)
        return MapHandle(self.name, self.weights, places, order)

    def arranged(self, args: tuple[Term, ...]) -> tuple[Term, ...]:
        """``args`` in the order of the map's keys; those of a group of an ordered map lack the last."""
        return tuple(args[i] for i in self.order if i < len(args))
